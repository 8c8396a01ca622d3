"""Head: who holds it back, and since when."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from ccc_django import db


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadHolder:
    """An open transaction that has appended: nothing above ``bound`` is final before it ends.

    ``pid`` is its process in PostgreSQL; a prepared transaction has none, and its name instead of an application's.
    ``since`` is when it began, and is None where another role's may not be seen.
    """

    pid: int | None
    application: str
    since: datetime | None
    held_for: timedelta | None
    bound: int


def holders() -> list[HeadHolder]:
    """Who holds the head back, the lowest bound first; on SQLite nobody does."""
    return [_holder(*row) for row in db.rows("head_holders")]


def longest(found: list[HeadHolder]) -> HeadHolder | None:
    """Who has been open for the longest time, of those whose time is known."""
    known = [holder for holder in found if holder.held_for is not None]
    return max(known, key=lambda holder: holder.held_for or timedelta(), default=None)


def _holder(pid: int | None, application: str, since: datetime | None, seconds: float | None, bound: int) -> HeadHolder:
    held_for = None if seconds is None else timedelta(seconds=max(seconds, 0.0))
    return HeadHolder(pid=pid, application=application, since=since, held_for=held_for, bound=bound)
