"""Status: where a group stands, derived from its watermark and its open work."""

from dataclasses import dataclass
from datetime import timedelta

from ccc_django import db
from ccc_django.errors import UnknownGroup
from ccc_django.store.reading import head


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """A group at one moment.

    ``lag`` counts positions between the head of the log and ``low_watermark``, up to which everything is done.
    """

    name: str
    status: str
    error_context: str
    head: int
    watermark: int
    low_watermark: int
    lag: int
    partitions: int
    pending: int
    claims: int
    failures: int
    dead_letters: int
    oldest_pending_age: timedelta | None


def status(name: str) -> Status:
    """How far a group is, what it has in hand, and what has failed."""
    final = head()
    rows = db.rows("group_status", name=name)
    if not rows:
        raise UnknownGroup(name)
    state, reason, watermark, lowest, partitions, pending, claims, failures, letters, age = rows[0]
    low_watermark = watermark if lowest is None else min(lowest - 1, watermark)
    return Status(
        name=name,
        status=state,
        error_context=reason,
        head=final,
        watermark=watermark,
        low_watermark=low_watermark,
        lag=max(final - low_watermark, 0),
        partitions=partitions,
        pending=pending,
        claims=claims,
        failures=failures,
        dead_letters=letters,
        oldest_pending_age=None if age is None or final <= low_watermark else timedelta(seconds=max(age, 0.0)),
    )
