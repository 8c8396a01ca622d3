"""Reading: the log, or an archive of it, as a DataFrame, whole or in part, once or as it grows."""

import os
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from ccc_django.expressions import Types, type_names
from ccc_django.spark.starting import know_the_log

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read(  # noqa: PLR0913 - options, by name
    session: "SparkSession",
    archive: str | os.PathLike[str] | None = None,
    *,
    after: int = 0,
    upto: int | None = None,
    types: Types = (),
    topic: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    columns: Iterable[str] | None = None,
    connections: int | None = None,
) -> "DataFrame":
    """The messages that are final now, from the database or from an archive; the same ones, however often it is run."""
    times = {"since": since and since.isoformat(), "until": until and until.isoformat()}
    named = None if columns is None else ",".join(columns)
    options = _options(
        after=after, upto=upto, types=types, topic=topic, columns=named, connections=connections, **times
    )
    know_the_log(session)
    if archive is not None:
        return session.read.format("ccc").options(**options).load(str(Path(archive).absolute()))
    from ccc_django.spark.connecting import head  # noqa: PLC0415 - executors have no Django

    final = head()
    return _final(session, {**options, "upto": str(final if upto is None else min(upto, final))})


def read_final(session: "SparkSession", after: int, upto: int) -> "DataFrame":
    """The messages between two positions of which somebody knows that they are final."""
    know_the_log(session)
    return _final(session, {"after": str(after), "upto": str(upto)})


def _final(session: "SparkSession", options: dict[str, str]) -> "DataFrame":
    """Nobody asks for the head again: it may step back a little, and the rows would not be the same."""
    return session.read.format("ccc").options(**options, is_final="true").load()


def read_stream(
    session: "SparkSession",
    *,
    after: int = 0,
    types: Types = (),
    topic: str | None = None,
    columns: Iterable[str] | None = None,
    max_messages: int | None = None,
    connections: int | None = None,
) -> "DataFrame":
    """The messages as they become final, at most so many at once."""
    know_the_log(session)
    named = None if columns is None else ",".join(columns)
    options = _options(
        after=after, types=types, topic=topic, columns=named, connections=connections, max_messages=max_messages
    )
    return session.readStream.format("ccc").options(**options).load()


def _options(*, types: Types, **given: Any) -> dict[str, str]:
    names = type_names(types)
    listed = {"types": to_json(names).decode()} if names else {}
    return {name: str(value) for name, value in given.items() if value is not None} | listed
