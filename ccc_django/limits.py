"""Limits: how far behind groups may be, and what else is still healthy; None is no limit."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, NonNegativeFloat, NonNegativeInt, ValidationError

SETTING = "CCC_HEALTH"


class GroupLimits(BaseModel):
    """What one group may have; durations are seconds. ``stopped`` says whether a stopped group is unhealthy."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    lag: NonNegativeInt | None = None
    oldest_age: NonNegativeFloat | None = None
    failures: NonNegativeInt | None = None
    stopped: bool = False

    @property
    def needs_figures(self) -> bool:
        """Whether the partitions of a group have to be counted."""
        return any(limit is not None for limit in (self.lag, self.oldest_age, self.failures))


class HealthLimits(GroupLimits):
    """What every group may have, and what ``groups`` of their own may have instead.

    ``workers`` have to be there at least, at most ``gone`` may be gone, and nobody may hold the head back for longer
    than ``head_held`` seconds.
    """

    head_held: NonNegativeFloat | None = 60.0
    workers: NonNegativeInt = 0
    gone: NonNegativeInt | None = 0
    groups: dict[str, GroupLimits] = {}

    def of_group(self, name: str) -> GroupLimits:
        """What one group may have: its own limits, and where it has none, those of all."""
        own = self.groups[name].model_dump(exclude_unset=True) if name in self.groups else {}
        return GroupLimits(**{field: getattr(self, field) for field in GroupLimits.model_fields} | own)


def health_limits(given: Mapping[str, Any], **instead: Any) -> HealthLimits:
    """What a project has set, or a clear error; what is said instead counts for every group."""
    try:
        limits = HealthLimits.model_validate(given)
        own = {name: _without(group, instead) for name, group in limits.groups.items()}
        return HealthLimits.model_validate(limits.model_dump(exclude={"groups"}) | {"groups": own} | instead)
    except ValidationError as problem:
        said = "; ".join(f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in problem.errors())
        raise ValueError(f"{SETTING} cannot be understood: {said}.") from problem


def _without(group: GroupLimits, names: Mapping[str, Any]) -> dict[str, Any]:
    return {name: limit for name, limit in group.model_dump(exclude_unset=True).items() if name not in names}


def count(text: str) -> int:
    """A limit that somebody has typed."""
    return int(seconds(str(int(text))))


def seconds(text: str) -> float:
    """The same of a duration; inf is none."""
    if not (number := float(text)) >= 0:
        raise ValueError(text)
    return number
