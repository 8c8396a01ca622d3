"""Source: the log as a Spark data source, in batches: ``spark.read.format("ccc")``.

Planned on the driver, in a process of Spark's without Django; read by executors on their own connections.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
from pydantic_core import from_json
from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType

from ccc_django.errors import LogUnreachable
from ccc_django.spark import archives
from ccc_django.spark.database import Database
from ccc_django.spark.ranges import Range, Statistics, planned
from ccc_django.spark.schema import as_log, spark_schema
from ccc_django.spark.wanted import Part

NAME = "ccc"
PARTS = ("after", "upto", "types", "topic", "since", "until", "columns")
OPTIONS = (*PARTS, "connections", "max_messages", "is_final", "path")


class Log(DataSource):
    """The log of a database, or of an archive if a path is given.

    A session has a class of its own with the database in it: options show in plans, and passwords must not.
    """

    database: ClassVar[Database | None] = None
    obeys_filters: ClassVar[bool] = False

    def __init__(self, options: Any) -> None:
        super().__init__(options)
        if unknown := [name for name in options if name.lower() not in OPTIONS]:
            raise ValueError(f"There is no option {unknown[0]!r}. There are: {', '.join(OPTIONS)}.")
        self.part = Part.of(options)
        self.path: str | None = options.get("path")

    @classmethod
    def name(cls) -> str:
        """What follows format()."""
        return NAME

    def schema(self) -> StructType:
        """The same from everywhere; the columns that are asked for."""
        return spark_schema(self.part.columns)

    def reader(self, schema: StructType) -> "LogReader | ArchiveReader":  # noqa: ARG002 - Spark's signature
        """Who reads a part of it."""
        if self.path:
            return (FilteredArchiveReader if self.obeys_filters else ArchiveReader)(self.part, self.path)
        return (FilteredLogReader if self.obeys_filters else LogReader)(self.part, self.home)

    def streamReader(self, schema: StructType) -> Any:  # noqa: ARG002, N802 - Spark's signature
        """Who follows it."""
        from ccc_django.spark.streaming import LogStream  # noqa: PLC0415 - which is made of what is here

        if self.path:
            raise ValueError("An archive is read, not followed: session.read.format('ccc').load(…).")
        return LogStream(self.part, self.home, self.options)

    @property
    def home(self) -> Database:
        """Where the log is."""
        if self.database is None:
            raise LogUnreachable("This session does not know the log: begin with ccc_django.spark.session().")
        return self.database


@dataclass(frozen=True)
class RangeToRead(InputPartition):
    """What one task reads."""

    range: Range


class LogReader(DataSourceReader):
    """Reads a part of a database's log, never past its head."""

    def __init__(self, part: Part, database: Database) -> None:
        self.part = part
        self.database = database

    def partitions(self) -> list[RangeToRead]:
        """Ranges of positions up to the head of this moment."""
        upto = self.part.upto if self.part.is_final else min(self.part.upto, self.database.head())
        return ranges_to_read(self.database, self.part, Range(self.part.after, upto)) or [NOTHING]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of a range."""
        return read_range(self.database, self.part, partition)


class ArchiveReader(DataSourceReader):
    """Reads a part of an archive, by its manifest."""

    def __init__(self, part: Part, path: str) -> None:
        self.part = part
        self.path = path

    def partitions(self) -> list["FilesToRead"]:
        """Files that have something of it."""
        files = archives.Archive(self.path).files(self.part.range)
        return [FilesToRead(each) for each in archives.shared_out(files)] or [FilesToRead([])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Messages of some files."""
        assert isinstance(partition, FilesToRead)  # noqa: S101 - it comes from above
        for file in partition.files:
            yield from archives.read_file(self.path, file, self.part)


class ObeysFilters:
    """A reader that takes filters from Spark; Spark refuses one that could, where they are not handed down."""

    part: Part

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Obey what can be obeyed; Spark does the rest."""
        self.part, left = self.part.narrowed(filters)
        return left


class FilteredLogReader(ObeysFilters, LogReader):
    """Reads what filters leave of a database's log."""


class FilteredArchiveReader(ObeysFilters, ArchiveReader):
    """Reads what filters leave of an archive."""


@dataclass(frozen=True)
class FilesToRead(InputPartition):
    """What one task reads."""

    files: list[archives.File]


NOTHING = RangeToRead(Range(0, 0))


def ranges_to_read(database: Database, part: Part, asked: Range) -> list[RangeToRead]:
    """Ranges for as many tasks as may read at once."""
    with database.connected() as connection:
        [(first, last, messages, bounds)] = connection.rows("log_statistics", after=asked.after, upto=asked.upto)
    known = Statistics(first, last, messages, from_json(bounds) if bounds else ())
    return [RangeToRead(each) for each in planned(asked, known, part.connections)]


def read_range(database: Database, part: Part, partition: InputPartition) -> Iterator[pa.RecordBatch]:
    """The messages of a range, on a connection of its own."""
    assert isinstance(partition, RangeToRead)  # noqa: S101 - it comes from above
    if partition.range.after >= partition.range.upto:
        return
    with database.connected() as connection:
        shapes = {digest: from_json(names) for digest, names in connection.rows("shape_names")}
        wanted = part.parameters(partition.range, is_sqlite=database.vendor == "sqlite")
        yield from as_log(connection.batches(part.statement, **wanted), shapes, part.columns)
