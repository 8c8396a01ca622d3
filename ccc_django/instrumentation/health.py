"""Health: whether all is well, and if not, why."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.db import Error

from ccc_django.conf import conf
from ccc_django.errors import CCCError, UnknownGroup
from ccc_django.instrumentation import head, reasons, workers
from ccc_django.instrumentation.overview import GroupOverview, overview
from ccc_django.limits import HealthLimits, health_limits
from ccc_django.models import ConsumerGroup

UNUSABLE = "The database cannot be used, or is not migrated."


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """Whether all is well, the reasons if not, and what was looked at.

    ``groups`` are those that had to be counted. ``error`` is what the database said, which is not for strangers.
    """

    is_healthy: bool
    reasons: list[str]
    groups: list[GroupOverview]
    workers: list[workers.SeenWorker]
    head_holders: list[head.HeadHolder]
    error: str = ""

    @property
    def line(self) -> str:
        """All reasons in a line, for those who run the database."""
        return " ".join([*self.reasons, *([f"({self.error})"] if self.error else [])])


def check(
    limits: HealthLimits | None = None, *, names: Iterable[str] = (), host: str = "", figures: bool = False
) -> Health:
    """Whether groups, workers and the head are within their limits, those of CCC_HEALTH if no others are given.

    With ``names`` only these groups and their workers count, with ``host`` only the workers there, of which there has
    to be one. Without ``figures`` groups are counted only if a limit needs it.
    """
    wanted = health_limits(conf.health) if limits is None else limits
    try:
        return _on(host, wanted) if host else _everywhere(wanted, [*names], figures=figures)
    except CCCError as problem:
        return _health([str(problem)])
    except Error as problem:
        return _health([UNUSABLE], error=" ".join(str(problem).split()))


def _on(host: str, limits: HealthLimits) -> Health:
    there = [worker for worker in workers.seen() if worker.host == host]
    return _health([*reasons.of_number(there, max(limits.workers, 1), f" on {host}")], seen=there)


def _everywhere(limits: HealthLimits, names: list[str], *, figures: bool) -> Health:
    known, seen, holders = _known(names), workers.seen(names), head.holders()
    counted = [group.name for group in known if figures or limits.of_group(group.name).needs_figures]
    groups = overview(counted) if counted else []
    found = [reason for group in known for reason in reasons.of_status(group, limits.of_group(group.name))]
    found += [reason for group in groups for reason in reasons.of_figures(group, limits.of_group(group.name))]
    found += reasons.of_subscriptions(names)
    found += [*reasons.of_workers(seen, limits), *reasons.of_head(holders, limits)]
    return _health(found, groups=groups, seen=seen, holders=holders)


def _known(names: list[str]) -> list[ConsumerGroup]:
    known = [*(ConsumerGroup.objects.filter(name__in=names) if names else ConsumerGroup.objects.all())]
    if unknown := {*names} - {group.name for group in known}:
        raise UnknownGroup(min(unknown))
    return known


def _health(
    found: list[str],
    *,
    groups: Iterable[GroupOverview] = (),
    seen: Iterable[workers.SeenWorker] = (),
    holders: Iterable[head.HeadHolder] = (),
    error: str = "",
) -> Health:
    return Health(
        is_healthy=not found,
        reasons=found,
        groups=[*groups],
        workers=[*seen],
        head_holders=[*holders],
        error=error,
    )
