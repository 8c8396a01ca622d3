"""Foreseeing: what a job would read and write, told without starting Spark and without changing anything."""

import os
from dataclasses import dataclass

from ccc_django.spark.archives import Archive
from ccc_django.spark.connecting import head, statistics
from ccc_django.spark.exporting import beginning


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """Positions that would be read, about how many messages they are, and files of an archive, with their bytes."""

    job: str
    after: int
    upto: int
    messages: int
    files: int = 0
    bytes: int = 0

    @property
    def sentence(self) -> str:
        """The same for people."""
        what = f"about {self.messages:,} messages from {self.after + 1:,} to {self.upto:,}"
        if not self.messages:
            what = "nothing: no message is new"
        files = f", and {self.files:,} files with {self.bytes:,} bytes" if self.files else ""
        return f"{self.job} would read {what}{files}."


def foreseen_export(to: str | os.PathLike[str], *, after: int | None = None, upto: int | None = None) -> Foreseen:
    """What an export would add."""
    return _of_log("export", beginning(Archive(to), after), upto)


def foreseen_verify(
    archive: str | os.PathLike[str], *, after: int | None = None, upto: int | None = None, job: str = "verify"
) -> Foreseen:
    """What a verification would compare."""
    found = Archive(archive)
    within = found.range_within(after, upto)
    files = found.files(within)
    size = sum(file.bytes for file in files)
    messages = min(sum(file.rows for file in files), within.upto - within.after)
    return Foreseen(job=job, after=within.after, upto=within.upto, messages=messages, files=len(files), bytes=size)


def foreseen_report(
    archive: str | os.PathLike[str] | None, *, after: int | None = None, upto: int | None = None
) -> Foreseen:
    """What a report would look at."""
    if archive is not None:
        return foreseen_verify(archive, after=after, upto=upto, job="report")
    return _of_log("report", after or 0, upto)


def _of_log(job: str, after: int, upto: int | None) -> Foreseen:
    """By what the server knows: nothing is counted."""
    final = head()
    end = max(final if upto is None else min(upto, final), after)
    known = statistics(after, end)
    if known.first is None or known.last is None or known.first > known.last:
        return Foreseen(job=job, after=after, upto=end, messages=0)
    width = known.last - known.first + 1
    return Foreseen(job=job, after=after, upto=end, messages=min(width, known.messages) if known.messages else width)
