"""Exporting: what has become final since the last time is added to an archive, once or as messages come."""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from ccc_django.errors import ArchiveBroken
from ccc_django.spark.archives import Archive, Segment, last_message
from ccc_django.spark.failures import told_in_a_line
from ccc_django.spark.reading import read_final, read_stream
from ccc_django.spark.segments import add_segment, clean

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """What an export has added to an archive; nothing if both positions are the same."""

    archive: str
    after: int
    upto: int
    rows: int
    files: int
    bytes: int
    segments: int


def export(
    session: "SparkSession",
    to: str | os.PathLike[str],
    *,
    after: int | None = None,
    upto: int | None = None,
) -> Exported:
    """Add to an archive what has become final since the last time, as one segment."""
    from ccc_django.spark.connecting import head  # noqa: PLC0415 - executors have no Django

    archive = Archive(to)
    with archive.locked(), told_in_a_line("The export"):
        begin = beginning(archive, after)
        final = head()  # once: a head may step back a little, and what is committed must be what was read
        end = final if upto is None else min(upto, final)
        clean(archive, begin)
        if end <= begin:
            return _exported(archive, begin, begin, [])
        segment = add_segment(archive, read_final(session, begin, end), begin, end)
        return _exported(archive, begin, end, [segment] if segment else [])


def follow(
    session: "SparkSession",
    to: str | os.PathLike[str],
    *,
    after: int | None = None,
    max_messages: int | None = None,
    every: str = "10 seconds",
    available_now: bool = False,
    stop: Callable[[], bool] = lambda: False,
    say: Callable[[Segment], None] = lambda _: None,
) -> Exported:
    """Add what becomes final to an archive, segment by segment, until it is told to stop."""
    archive = Archive(to)
    with archive.locked(), told_in_a_line("The export"):
        begin = beginning(archive, after)
        clean(archive, begin)
        with suppress(FileNotFoundError):  # the manifest alone says how far it is
            shutil.rmtree(archive.checkpoint)
        added: list[Segment] = []

        def add(batch: "DataFrame", _: int) -> None:
            """A batch that Spark runs again, because it has failed after its commit, is added once."""
            low = added[-1].upto if added else begin
            segment = add_segment(archive, batch.where(F.col("position") > low), low, None)
            if segment is not None:
                added.append(segment)
                say(segment)

        stream = read_stream(session, after=begin, max_messages=max_messages)
        writer = stream.writeStream.foreachBatch(add).option("checkpointLocation", f"file://{archive.checkpoint}")
        trigger: dict[str, Any] = {"availableNow": True} if available_now else {"processingTime": every}
        query = writer.trigger(**trigger).start()
        try:
            while not query.awaitTermination(1):
                if stop():
                    break
        finally:
            query.stop()
        reached = added[-1].upto if added else begin
        return _exported(archive, begin, reached, added)


def beginning(archive: Archive, after: int | None) -> int:
    """Where an export goes on: where the manifests end, of the same log; a new archive begins where it is told."""
    reached = archive.upto()
    if reached is None:
        return after or 0
    if after is not None and after != reached:
        raise ArchiveBroken(
            f"{archive.path} ends at {reached:,}: exports go on there. Leave --after out, or name another directory."
        )
    _refuse_another_log(archive, reached)
    return reached


def _refuse_another_log(archive: Archive, reached: int) -> None:
    """An archive goes on with the log that it was made of, and with no other."""
    from ccc_django import db  # noqa: PLC0415 - executors have no Django
    from ccc_django.models import StoredMessage  # noqa: PLC0415 - executors have no Django

    [(taken,)] = db.rows("last_position")
    last = last_message(archive)
    found = (
        StoredMessage.objects.filter(position=last[0]).values_list("message_id", flat=True).first() if last else None
    )
    if reached > taken or (last is not None and found is not None and str(found) != last[1]):
        raise ArchiveBroken(
            f"{archive.path} is an archive of another log: it ends at {reached:,}, where this one has another message "
            "or none. Name another directory."
        )


def _exported(archive: Archive, after: int, upto: int, segments: list[Segment]) -> Exported:
    files = [file for segment in segments for file in segment.files]
    return Exported(
        archive=str(archive.path),
        after=after,
        upto=upto,
        rows=sum(file.rows for file in files),
        files=len(files),
        bytes=sum(file.bytes for file in files),
        segments=len(segments),
    )
