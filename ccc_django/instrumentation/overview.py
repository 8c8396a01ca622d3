"""Overview: how every group is doing, as commands, metrics and health look at it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from ccc_django import groups
from ccc_django.models import Worker


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupOverview:
    """A group at one moment.

    ``pending`` partitions have open work, ``in_flight`` ones are held by workers. ``failures`` are partitions that
    failed last and open dead letters. ``rate`` is messages a second, as the workers that are there say.
    """

    name: str
    kind: str
    status: str
    error_context: str
    lag: int
    pending: int
    in_flight: int
    failures: int
    dead_letters: int
    partitions: int
    oldest_age: timedelta | None
    rate: float


def overview(names: Iterable[str] = ()) -> list[GroupOverview]:
    """How groups are doing, some or all of them, by name."""
    rates = Worker.objects.rates()
    return [_of(status, rates.get(status.name, 0.0)) for status in groups.statuses(names)]


def _of(status: groups.Status, rate: float) -> GroupOverview:
    return GroupOverview(
        name=status.name,
        kind=status.kind,
        status=status.status,
        error_context=status.error_context,
        lag=status.lag,
        pending=status.pending,
        in_flight=status.claims,
        failures=status.failures + status.dead_letters,
        dead_letters=status.dead_letters,
        partitions=status.partitions,
        oldest_age=status.oldest_pending_age,
        rate=round(rate, 1),
    )
