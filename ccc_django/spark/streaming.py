"""Streaming: the log as Spark follows it; how far it is, is a position, and never past the head."""

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from ccc_django.spark.database import Database
from ccc_django.spark.ranges import Range
from ccc_django.spark.source import RangeToRead, ranges_to_read, read_range
from ccc_django.spark.wanted import Part, number
from ccc_django.wanted import EVERYTHING

Offset = dict[str, int]


class LogStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows a part of the log: what is final is read once, and what commits late is waited for."""

    def __init__(self, part: Part, database: Database, options: Mapping[str, str]) -> None:
        self.part = part
        self.database = database
        self.most = number(options, "max_messages", 0)
        self.target = EVERYTHING

    def initialOffset(self) -> Offset:  # noqa: N802 - Spark's names, here and below
        """Before the first message that is asked for."""
        return {"position": self.part.after}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """So many messages at once, if the option says so."""
        return ReadMaxRows(self.most) if self.most else ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Nothing beyond the head of this moment."""
        self.target = self.database.head()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        """The head, or the n-th message from the start on; a head that stepped back changes nothing."""
        after, upto = start["position"], min(self.database.head(), self.target, self.part.upto)
        if isinstance(limit, ReadMaxRows) and upto - after > limit.max_rows:
            with self.database.connected() as connection:
                found = connection.rows("nth_position", after=after, upto=upto, count=limit.max_rows)
            upto = found[0][0] if found else upto
        return {"position": max(after, upto)}

    def reportLatestOffset(self) -> Offset:  # noqa: N802
        """The head, so that a query can tell how far it is behind."""
        return {"position": self.database.head()}

    def partitions(self, start: Offset, end: Offset) -> list[RangeToRead]:
        """Ranges between two positions."""
        return ranges_to_read(self.database, self.part, Range(start["position"], end["position"]))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The messages of a range."""
        return read_range(self.database, self.part, partition)

    def commit(self, end: dict[str, Any]) -> None:
        """Spark's checkpoint is all that is needed."""
