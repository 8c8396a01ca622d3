"""Segments: messages are written aside by Spark, looked at, moved to their places, and committed by a manifest.

Until that last step nothing belongs to the archive, and the next export removes what is left of one that was killed.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ccc_django.errors import ArchiveBroken
from ccc_django.spark.archives import HALF, Archive, File, Segment, described, now, sync_folder
from ccc_django.spark.schema import day

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SETTINGS = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.compression.codec": "zstd",
    "spark.sql.maxConcurrentOutputFileWriters": "8",  # days of one task, which need not be sorted then
}


def clean(archive: Archive, begin: int) -> None:
    """Remove what an export that was killed has left, which begins where the manifests end.

    Any other file that no manifest names is somebody's, or its manifest is lost: nothing is deleted then.
    """
    shutil.rmtree(archive.staging, ignore_errors=True)
    for half in archive.manifest.glob(f"*{HALF}"):
        half.unlink()
    left = archive.strangers()
    for stranger in left:
        if not stranger.name.startswith(_name_from(begin)):
            raise ArchiveBroken(
                f"{stranger} is in no manifest. If the manifests were lost, bring them back; otherwise move it away."
            )
    for stranger in left:
        stranger.unlink()


def _name_from(after: int) -> str:
    return f"{after:020}-"


def add_segment(archive: Archive, log: "DataFrame", after: int, upto: int | None) -> Segment | None:
    """Write messages aside, move them to their place, and commit them; without ``upto`` they end with the last one."""
    shutil.rmtree(archive.staging, ignore_errors=True)
    try:
        files = _written(archive, log, after)
        reached = max((file.last for file in files), default=after) if upto is None else upto
        return None if reached == after else _committed(archive, files, after, reached)
    finally:
        shutil.rmtree(archive.staging, ignore_errors=True)


def _written(archive: Archive, log: "DataFrame", after: int) -> list[File]:
    """Messages in files that stand aside."""
    folder = archive.staging / f"{after:020}"
    with settings(log.sparkSession):
        log.withColumn("day", day()).write.partitionBy("day").parquet(f"file://{folder}")
    return _described_all(log.sparkSession, folder)


def _committed(archive: Archive, written: list[File], after: int, upto: int) -> Segment:
    """Files in their places, and then the manifest that makes them a part of the archive."""
    archive.manifest.mkdir(parents=True, exist_ok=True)
    found = _moved(archive, archive.staging / f"{after:020}", written, f"{_name_from(after)}{upto:020}")
    files = tuple(sorted(found, key=lambda file: file.first))
    for place in {archive.path, archive.messages, *((archive.path / file.path).parent for file in files)}:
        if place.is_dir():
            sync_folder(place)
    segment = Segment(after=after, upto=upto, rows=sum(file.rows for file in files), files=files, made_at=now())
    archive.commit(segment)
    return segment


@contextmanager
def settings(session: "SparkSession") -> Iterator[None]:
    """How Parquet is written; the session is given back as it was."""
    before = {name: session.conf.get(name, None) for name in SETTINGS}
    for name, value in SETTINGS.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, old in before.items():
            session.conf.unset(name) if old is None else session.conf.set(name, old)


def _described_all(session: "SparkSession", folder: Path) -> list[File]:
    """Rows, positions and checksums of the files that were written, found out by executors."""
    paths = [str(path) for path in sorted(folder.rglob("*.parquet"))]
    if not paths:
        return []
    root = str(folder)
    context = session.sparkContext
    found = context.parallelize(paths, min(len(paths), context.defaultParallelism)).map(Described(root)).collect()
    return [file for file in found if file.rows]


@dataclass(frozen=True)
class Described:
    """What an executor does: look at one file."""

    root: str

    def __call__(self, path: str) -> File:
        """What a manifest says of it."""
        return described(Path(self.root), Path(path))


def _moved(archive: Archive, folder: Path, files: list[File], name: str) -> Iterator[File]:
    """Files in their places; several of a day have numbers."""
    for number, file in enumerate(files):
        day = Path(file.path).parent.name
        place = archive.messages / day / f"{name}-{number:04}.parquet"
        place.parent.mkdir(parents=True, exist_ok=True)
        (folder / file.path).replace(place)
        yield File(
            path=str(place.relative_to(archive.path)),
            rows=file.rows,
            first=file.first,
            last=file.last,
            bytes=file.bytes,
            sha256=file.sha256,
        )
