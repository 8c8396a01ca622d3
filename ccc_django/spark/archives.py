"""Archives: a directory with the log as Parquet, and a manifest that says what belongs to it.

``manifest/AFTER-UPTO.json`` commits a segment of the log: the files of it, with their rows, positions and checksums.
A file that no segment names does not belong to the archive.
"""

import fcntl
import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from ccc_django.errors import ArchiveBroken, ArchiveBusy, NoArchive
from ccc_django.spark.ranges import Range
from ccc_django.spark.schema import arrow_schema
from ccc_django.spark.wanted import EARLIEST, LATEST, Part

FORMAT = 1
HALF = ".half"  # a manifest that is being written
BYTES_A_TASK = 64 << 20
ROWS_A_BATCH = 20_000
LOOKED_AT = ("position", "appended_at", "message_type", "topic")  # to find out whether a message is asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file of an archive, by its path inside of it."""

    path: str
    rows: int
    first: int
    last: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A part of the log that was archived at once."""

    after: int
    upto: int
    rows: int
    files: tuple[File, ...]
    made_at: datetime
    format: int = FORMAT

    @property
    def name(self) -> str:
        """The manifest's file, by which segments sort."""
        return f"{self.after:020}-{self.upto:020}.json"


class Archive:
    """A directory that is an archive, or becomes one."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        self.manifest = self.path / "manifest"
        self.messages = self.path / "messages"
        self.staging = self.path / "_staging"
        self.checkpoint = self.path / "_checkpoint"

    def segments(self) -> list[Segment]:
        """Everything that was committed, in the order of the log; an error if a part of it is missing."""
        found = [_read_segment(each) for each in sorted(self.manifest.glob("*.json"))]
        reached = found[0].after if found else 0
        for segment in found:
            if segment.after != reached:
                raise ArchiveBroken(
                    f"{self.path}: the manifest goes from {reached:,} to {segment.after:,}: a segment is missing."
                )
            reached = segment.upto
        return found

    def kept(self) -> list[Segment]:
        """The same of an archive that must be there."""
        if not self.manifest.is_dir():
            raise NoArchive(f"{self.path} is no archive: it has no manifest. Make one: manage.py ccc_spark export --to")
        return self.segments()

    def upto(self) -> int | None:
        """The last position that was committed."""
        segments = self.segments()
        return segments[-1].upto if segments else None

    def files(self, within: Range) -> list[File]:
        """Files that have something of a range."""
        files = (file for segment in self.kept() for file in segment.files)
        return [file for file in files if file.last > within.after and file.first <= within.upto]

    def range_within(self, after: int | None, upto: int | None) -> Range:
        """What it has of the positions between two, or all of it."""
        segments = self.kept()
        first, last = (segments[0].after, segments[-1].upto) if segments else (0, 0)
        begin = first if after is None else max(after, first)
        return Range(begin, max(begin, last if upto is None else min(upto, last)))

    def commit(self, segment: Segment) -> None:
        """Let a segment, whose files are in their places, be a part of the archive; whole or not at all."""
        self.manifest.mkdir(parents=True, exist_ok=True)
        said = to_json(asdict(segment))
        text = to_json({"sha256": hashlib.sha256(said).hexdigest(), "segment": from_json(said)}, indent=1)
        write_whole(self.manifest / segment.name, text)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else writes to the archive; the system lets go of the lock of whoever is killed."""
        self.path.mkdir(parents=True, exist_ok=True)
        with (self.path / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise ArchiveBusy(f"Somebody else is writing to {self.path}: wait, or stop that.") from None
            yield

    def strangers(self) -> list[Path]:
        """Parquet files that no segment names: somebody has put them there, or was killed while exporting."""
        known = {file.path for segment in self.segments() for file in segment.files}
        found = sorted(self.messages.rglob("*.parquet"))
        return [each for each in found if str(each.relative_to(self.path)) not in known]


def write_whole(path: Path, content: bytes) -> None:
    """Write a file that is there as a whole, or not at all, also when the machine stops."""
    half = path.with_name(f"{path.name}{HALF}")
    try:
        with half.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        half.replace(path)
    except BaseException:
        half.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Let the names in a folder survive a stop of the machine."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _read_segment(path: Path) -> Segment:
    try:
        said = from_json(path.read_bytes())
        segment = TypeAdapter(Segment).validate_python(said["segment"])
        is_whole = hashlib.sha256(to_json(asdict(segment))).hexdigest() == said["sha256"]
    except (ValueError, ValidationError, KeyError, TypeError) as problem:
        raise ArchiveBroken(f"{path} cannot be read: {problem}") from None
    if segment.format != FORMAT:
        raise ArchiveBroken(f"{path} has format {segment.format}; this version reads {FORMAT}.")
    inside = all(segment.after < file.first and file.last <= segment.upto for file in segment.files)
    counted = segment.rows == sum(file.rows for file in segment.files)
    if not (is_whole and inside and counted) or segment.name != path.name:
        raise ArchiveBroken(f"{path} is not as it was written.")
    return segment


def described(root: Path, path: Path) -> File:
    """What a manifest says of a file that is in its place: from its footer, and a checksum of all its bytes."""
    footer = pq.read_metadata(path)
    column = footer.schema.names.index("position")
    groups = [footer.row_group(number).column(column).statistics for number in range(footer.num_row_groups)]
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        os.fsync(file.fileno())
    return File(
        path=str(path.relative_to(root)),
        rows=footer.num_rows,
        first=min((group.min for group in groups), default=0),
        last=max((group.max for group in groups), default=0),
        bytes=path.stat().st_size,
        sha256=digest,
    )


def last_message(archive: Archive) -> tuple[int, str] | None:
    """Position and id of the last message that an archive has."""
    files = [file for segment in archive.segments() for file in segment.files]
    if not files:
        return None
    newest = max(files, key=lambda file: file.last)
    with readable(archive.path, newest), pq.ParquetFile(archive.path / newest.path) as parquet:
        for batch in parquet.iter_batches(ROWS_A_BATCH, columns=["position", "message_id"]):
            found = batch.filter(pc.equal(batch["position"], newest.last)).to_pylist()
            if found:
                return found[0]["position"], found[0]["message_id"]
    raise ArchiveBroken(f"{archive.path}: {newest.path} has no message at {newest.last:,}.")


@contextmanager
def readable(root: str | Path, file: File) -> Iterator[None]:
    """Whatever is wrong with a file is said with its name."""
    try:
        yield
    except (OSError, pa.ArrowInvalid) as problem:
        said = " ".join(str(problem).split())
        raise ArchiveBroken(f"{root}: {file.path} cannot be read: {said}. Ask: manage.py ccc_spark verify") from None


def shared_out(files: Iterable[File]) -> list[list[File]]:
    """Files for each of several tasks."""
    shares: list[list[File]] = []
    size = BYTES_A_TASK
    for file in files:
        if size + file.bytes > BYTES_A_TASK:
            shares.append([])
            size = 0
        shares[-1].append(file)
        size += file.bytes
    return shares


def read_file(root: str, file: File, part: Part) -> Iterator[pa.RecordBatch]:
    """The messages of a file that are asked for."""
    schema, is_whole = arrow_schema(part.columns), _has_all(file, part)
    looked_at = [] if is_whole else [name for name in LOOKED_AT if name not in part.columns]
    with readable(root, file), pq.ParquetFile(Path(root) / file.path) as parquet:
        for batch in parquet.iter_batches(ROWS_A_BATCH, columns=[*part.columns, *looked_at]):
            rows = batch if is_whole else batch.filter(_asked(batch, part))
            if rows.num_rows:
                columns = [rows[field.name].cast(field.type) for field in schema]
                yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _has_all(file: File, part: Part) -> bool:
    is_inside = file.first > part.after and file.last <= part.upto
    return is_inside and part.types is part.topics is None and (part.since, part.until) == (EARLIEST, LATEST)


def _asked(batch: pa.RecordBatch, part: Part) -> pa.Array:
    position, time = batch["position"], batch["appended_at"]
    masks = [pc.greater(position, part.after), pc.less_equal(position, part.upto)]
    masks += [pc.is_in(batch["message_type"], pa.array(part.types, pa.string()))] if part.types is not None else []
    masks += [pc.is_in(batch["topic"], pa.array(part.topics, pa.string()))] if part.topics is not None else []
    masks += [
        pc.greater_equal(time, pa.scalar(part.since, time.type)),
        pc.less_equal(time, pa.scalar(part.until, time.type)),
    ]
    return reduce(pc.and_, masks)


def location(path: Path) -> str:
    """A path as Spark reads it, which takes some characters for patterns."""
    return "file://" + re.sub(r"([\[\]{}*?\\])", r"\\\1", str(path))


def now() -> datetime:
    """The time of a manifest."""
    return datetime.now(UTC)
