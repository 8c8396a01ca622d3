"""Verifying: whether an archive is as it was written, and has what the database has, position by position."""

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from ccc_django.spark.archives import Archive, File, location
from ccc_django.spark.failures import told_in_a_line
from ccc_django.spark.ranges import Range
from ccc_django.spark.reading import read_final
from ccc_django.spark.schema import COLUMNS
from ccc_django.spark.texts import literal

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MISSING, TWICE, EXTRA, OTHER = "missing", "twice", "extra", "other"
TOLD = {
    MISSING: "is in the database, and not in the archive",
    TWICE: "is in the archive more than once",
    EXTRA: "is in the archive, and neither in the database nor pruned",
    OTHER: "is another message in the archive than in the database",
}
MOST_NAMED = 100
POSITIONS_A_BUCKET = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What was compared, how many messages only the archive has because they were pruned, and what is wrong."""

    archive: str
    after: int
    upto: int
    files: int
    rows: int
    bytes: int
    pruned: int
    problems: list[str] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether nothing is wrong."""
        return not self.problems


@dataclass(frozen=True, slots=True)
class Looked:
    """What an executor has found of a file: nothing wrong, or what; and whether its rows can be read."""

    file: File
    problem: str = ""
    is_readable: bool = True


@dataclass(frozen=True)
class Look:
    """What an executor does: read a file's bytes, and its rows if they are not those that were written."""

    root: str

    def __call__(self, file: File) -> Looked:
        """A file as it is now."""
        path = Path(self.root) / file.path
        try:
            with path.open("rb") as content:
                digest = hashlib.file_digest(content, "sha256").hexdigest()
        except FileNotFoundError:
            return Looked(file, f"{file.path} is missing", is_readable=False)
        except OSError as problem:
            return Looked(file, f"{file.path} cannot be read: {problem}", is_readable=False)
        if digest == file.sha256:
            return Looked(file)
        rows = _rows_of(path)
        said = f"{file.path} is not as it was written"
        if rows is None:
            return Looked(file, f"{said}, and cannot be read", is_readable=False)
        return Looked(file, said if rows == file.rows else f"{said}: it has {rows:,} rows, and had {file.rows:,}")


def verify(
    session: "SparkSession", archive: str | os.PathLike[str], *, after: int | None = None, upto: int | None = None
) -> Verified:
    """Compare an archive, or what it has between two positions, with its manifest and with the database."""
    found = Archive(archive)
    within = found.range_within(after, upto)
    files = found.files(within)
    is_part = after is not None or upto is not None
    with told_in_a_line("The verification"):
        looked = _looked(session, found, files)
        problems = [each.problem for each in looked if each.problem]
        problems += [f"{path.relative_to(found.path)} is in no manifest" for path in _strangers(found)]
        different, pruned = _compared(session, found, looked, within, is_part=is_part)
    return Verified(
        archive=str(found.path),
        after=within.after,
        upto=within.upto,
        files=len(files),
        rows=sum(file.rows for file in files),
        bytes=sum(file.bytes for file in files),
        pruned=pruned,
        problems=problems + different,
    )


def _rows_of(path: Path) -> int | None:
    try:
        with pq.ParquetFile(path) as file:
            return sum(int(batch.num_rows) for batch in file.iter_batches())
    except (OSError, ValueError, pa.ArrowException):
        return None


def _looked(session: "SparkSession", archive: Archive, files: list[File]) -> list[Looked]:
    if not files:
        return []
    context = session.sparkContext
    return (
        context.parallelize(files, min(len(files), 4 * context.defaultParallelism))
        .map(Look(str(archive.path)))
        .collect()
    )


def _strangers(archive: Archive) -> list[Path]:
    """Files that no manifest names, without those that an export which runs now has moved to their places."""
    coming = f"{archive.upto() or 0:020}-"
    return [path for path in archive.strangers() if not path.name.startswith(coming)]


def _compared(
    session: "SparkSession", archive: Archive, looked: list[Looked], within: Range, *, is_part: bool
) -> tuple[list[str], int]:
    """What differs from the database, the first positions by name, and how many messages were pruned since."""
    if within.after == within.upto:
        return [], 0
    paths = [location(archive.path / each.file.path) for each in looked if each.is_readable]
    archived = session.read.schema(COLUMNS).parquet(*paths) if paths else session.createDataFrame([], COLUMNS)
    if is_part:
        archived = archived.where(f"position > {within.after} AND position <= {within.upto}")
    ours, theirs = _digested(archived), _digested(read_final(session, *within))
    buckets = _different_buckets(ours, theirs)
    kinds = _kinds(ours.join(buckets, "bucket"), theirs.join(buckets, "bucket")).persist()
    kinds.count()  # the database is read before topics are asked: what is pruned meanwhile is not missing
    lost = [each.file for each in looked if not each.is_readable]
    found = kinds.where(f"NOT (kind = '{MISSING}' AND {_is_within(lost)})").withColumn(
        "is_pruned", F.expr(_is_pruned())
    )
    pruned = found.where(f"is_pruned AND kind = '{EXTRA}'").count()
    wrong = found.where(f"NOT (is_pruned AND kind = '{EXTRA}')").orderBy("position").limit(MOST_NAMED + 1).collect()
    kinds.unpersist()
    named = [f"position {row.position:,} {TOLD[row.kind]}" for row in wrong[:MOST_NAMED]]
    return named + (["and more positions differ"] if len(wrong) > MOST_NAMED else []), pruned


def _digested(log: "DataFrame") -> "DataFrame":
    """Of each message what is needed to compare it."""
    columns = [F.col(name) for name in COLUMNS.fieldNames()]
    bucket = F.floor(F.col("position") / POSITIONS_A_BUCKET).alias("bucket")
    return log.select("position", "topic", bucket, F.xxhash64(*columns).alias("digest"))


def _different_buckets(ours: "DataFrame", theirs: "DataFrame") -> "DataFrame":
    """Parts of the log that are not the same on both sides; the others need not be compared message by message."""

    def summed(side: "DataFrame", name: str) -> "DataFrame":
        total = F.struct(F.count("*"), F.sum(F.col("digest").cast("decimal(38,0)")))
        return side.groupBy("bucket").agg(total.alias(name))

    both = summed(ours, "ours").join(summed(theirs, "theirs"), "bucket", "full_outer")
    return F.broadcast(both.where("NOT ours <=> theirs").select("bucket"))


def _kinds(ours: "DataFrame", theirs: "DataFrame") -> "DataFrame":
    """Positions that are not the same, and in which way."""
    once = ours.groupBy("position").agg(
        F.count("*").alias("times"), F.min("digest").alias("ours"), F.first("topic").alias("topic")
    )
    both = once.join(theirs.select("position", F.col("digest").alias("theirs")), "position", "full_outer")
    kind = (
        F.when(F.col("times").isNull(), MISSING)
        .when(F.col("times") > 1, TWICE)
        .when(F.col("theirs").isNull(), EXTRA)
        .when(F.col("ours") != F.col("theirs"), OTHER)
    )
    return both.withColumn("kind", kind).where("kind IS NOT NULL")


def _is_within(files: list[File]) -> str:
    """Whether a position may be in files that cannot be read, which are named already."""
    ranges = ", ".join(f"named_struct('first', {file.first}L, 'last', {file.last}L)" for file in files)
    return f"exists(array({ranges}), file -> position BETWEEN file.first AND file.last)" if files else "false"


def _is_pruned() -> str:
    """Whether a message that the database does not have was pruned, as its topic says."""
    from ccc_django.models import Topic  # noqa: PLC0415 - executors have no Django

    pruned = Topic.objects.filter(pruned_upto__gt=0).values_list("name", "pruned_upto")
    upto = ", ".join(f"{literal(name)}, {position}L" for name, position in pruned)
    return f"coalesce(position <= try_element_at(map({upto}), topic), false)" if upto else "false"
