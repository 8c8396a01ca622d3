"""Failures: what went wrong in Spark's processes, told in a line instead of two stack traces."""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

from ccc_django import errors
from ccc_django.errors import CCCError, SparkFailed

NO_ROOM = re.compile(r"No space left on device|Disk quota exceeded|File too large")
NOISE = re.compile(r"\s*(?:at |File |Traceback|JVM stacktrace|Caused by|Driver stacktrace|\.\.\. \d+ more)")


@contextmanager
def told_in_a_line(doing: str) -> Iterator[None]:
    """Whatever Spark raises becomes an error of ours that says what went wrong, and what to do."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - an extra
    from pyspark.errors import PySparkException  # noqa: PLC0415 - an extra

    try:
        yield
    except (PySparkException, Py4JError) as problem:
        raise understood(doing, str(problem)) from problem
    except OSError as problem:
        if problem.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            raise no_room(doing, str(problem)) from problem
        raise


def understood(doing: str, said: str) -> CCCError:
    """The error that a process of Spark's has met, by what it said."""
    if NO_ROOM.search(said):
        return no_room(doing, NO_ROOM.findall(said)[0])
    for kind, text in _raised(said):
        ours = getattr(errors, kind, None)
        if isinstance(ours, type) and issubclass(ours, CCCError):
            return ours(text) if ours.__init__ is CCCError.__init__ else SparkFailed(text)
    lines = [text for _, text in _raised(said) if text] or [line for line in said.splitlines() if line.strip()]
    return SparkFailed(f"{doing} has failed: {' '.join((lines or ['Spark ended'])[-1].split())}")


def no_room(doing: str, said: str) -> SparkFailed:
    """There is no room for what is written; what was complete before stays."""
    return SparkFailed(
        f"{doing} has failed, because there is no room: {said}. What was complete before stays; make room, or name "
        "another place for what Spark sets aside (--conf spark.local.dir=…), and run it again."
    )


def _raised(said: str) -> list[tuple[str, str]]:
    """Exceptions of Python that a text tells of, in their order: name and message."""
    lines = [line.strip() for line in said.splitlines() if not NOISE.match(line)]
    found = (re.match(r"^(?:\w+\.)*([A-Z]\w*[a-z]\w*): (.*)$", line) for line in lines)
    return [(match[1], match[2]) for match in found if match]
