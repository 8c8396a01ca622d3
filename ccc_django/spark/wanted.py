"""Wanted: which part of the log a reader asks for, by options, and by filters that Spark hands down."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic_core import from_json, to_json
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    LessThan,
    LessThanOrEqual,
)

from ccc_django.spark.ranges import CONNECTIONS, Range
from ccc_django.spark.schema import EVERY_COLUMN
from ccc_django.wanted import EVERYTHING

EARLIEST, LATEST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
CONTENTS = frozenset({"position", "message_type", "payload", "attributes"})
TICK = timedelta(microseconds=1)
COMPARED = {EqualTo: "=", GreaterThan: ">", GreaterThanOrEqual: ">=", LessThan: "<", LessThanOrEqual: "<=", In: "in"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Positions beyond ``after`` and up to ``upto``, times between two; None is every type, or every topic.

    ``columns`` are handed on, in the log's own order; the database is asked for no others where that saves the most.
    """

    after: int = 0
    upto: int = EVERYTHING
    types: tuple[str, ...] | None = None
    topics: tuple[str, ...] | None = None
    since: datetime = EARLIEST
    until: datetime = LATEST
    columns: tuple[str, ...] = EVERY_COLUMN
    connections: int = CONNECTIONS
    is_final: bool = False

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "Part":
        """What options say, which are texts; or an error that names the one that cannot be understood."""
        topic, types = options.get("topic"), options.get("types")
        return cls(
            after=number(options, "after", 0),
            upto=number(options, "upto", EVERYTHING),
            types=_names(types) if types else None,
            topics=(topic,) if topic is not None else None,
            since=_time(options, "since", EARLIEST),
            until=_time(options, "until", LATEST),
            columns=_columns(options.get("columns")),
            connections=number(options, "connections", CONNECTIONS, least=1),
            is_final=options.get("is_final") == "true",
        )

    @property
    def range(self) -> Range:
        """Between which positions."""
        return Range(self.after, self.upto)

    def narrowed(self, filters: Iterable[Filter]) -> "tuple[Part, list[Filter]]":
        """What is left to read when these filters are obeyed, and the filters that cannot be."""
        part, left = self, []
        for each in filters:
            smaller = part._narrowed_by(each)
            part = smaller or part
            left += [] if smaller else [each]
        return part, left

    def _narrowed_by(self, filter: Filter) -> "Part | None":
        column = getattr(filter, "attribute", ("",))[0]
        if isinstance(filter, IsNotNull) and column in {"position", "message_type", "topic", "appended_at"}:
            return self
        sign, value = COMPARED.get(type(filter)), getattr(filter, "value", None)
        if sign is None or value is None:
            return None
        if column == "position" and sign != "in":
            return self._between(sign, value)
        if column == "appended_at" and sign != "in" and isinstance(value, datetime):
            return self._during(sign, value if value.tzinfo else value.astimezone(UTC))
        if column in {"message_type", "topic"} and sign in {"=", "in"}:
            return self._named("types" if column == "message_type" else "topics", [value] if sign == "=" else value)
        return None

    def _between(self, sign: str, position: int) -> "Part":
        after = {"=": position - 1, ">": position, ">=": position - 1}.get(sign, self.after)
        upto = {"=": position, "<": position - 1, "<=": position}.get(sign, self.upto)
        return replace(self, after=max(self.after, after), upto=min(self.upto, upto))

    def _during(self, sign: str, time: datetime) -> "Part":
        since = {"=": time, ">": time + TICK, ">=": time}.get(sign, self.since)
        until = {"=": time, "<": time - TICK, "<=": time}.get(sign, self.until)
        return replace(self, since=max(self.since, since), until=min(self.until, until))

    def _named(self, column: str, names: Iterable[Any]) -> "Part":
        before = getattr(self, column)
        found = dict.fromkeys(name for name in names if name is not None and (before is None or name in before))
        return replace(self, types=tuple(found)) if column == "types" else replace(self, topics=tuple(found))

    @property
    def statement(self) -> str:
        """The statement that reads it."""
        if self.types is not None:
            return "log_range_of_types"
        if self.topics is not None:
            return "log_range_of_topics"
        return "log_contents" if CONTENTS.issuperset(self.columns) else "log_range"

    def parameters(self, within: Range, *, is_sqlite: bool) -> dict[str, Any]:
        """What that statement is given for a range."""
        text = _as_sqlite_keeps_it if is_sqlite else datetime.isoformat
        given: dict[str, Any] = {"after": within.after, "upto": within.upto}
        given |= {"since": text(self.since), "until": text(self.until)}
        if self.types is not None:
            given["types"] = to_json(self.types).decode()
        if self.types is not None or self.topics is not None:
            given["topics"] = "" if self.topics is None else to_json(self.topics).decode()
        return given


def number(options: Mapping[str, str], name: str, default: int, *, least: int = 0) -> int:
    """An option that is a number."""
    text = options.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and least <= int(text) <= EVERYTHING):
        raise ValueError(f"{name}={text!r}: a number from {least} on.")
    return int(text)


def _time(options: Mapping[str, str], name: str, default: datetime) -> datetime:
    text = options.get(name)
    if text is None:
        return default
    with suppress(ValueError):
        time = datetime.fromisoformat(text)
        if time.tzinfo is not None:
            return time
    raise ValueError(f"{name}={text!r}: a time with its zone, such as 2026-01-31T12:00+00:00.")


def _names(text: str) -> tuple[str, ...]:
    """One type, or several as a JSON list."""
    found = from_json(text) if text.startswith("[") else [text]
    return tuple(dict.fromkeys(map(str, found)))


def _columns(text: str | None) -> tuple[str, ...]:
    """Names with commas between them."""
    if text is None:
        return EVERY_COLUMN
    named = [name.strip() for name in text.split(",")]
    if unknown := [name for name in named if name not in EVERY_COLUMN]:
        raise ValueError(f"columns={text!r}: there is no {unknown[0]!r}. There are: {', '.join(EVERY_COLUMN)}.")
    return tuple(name for name in EVERY_COLUMN if name in named)


def _as_sqlite_keeps_it(time: datetime) -> str:
    return time.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
