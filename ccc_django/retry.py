"""Retry: how often a partition is tried again, after which pauses, and what becomes of it then."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

DEAD_LETTER = "dead_letter"  # put the message aside, and go on with the next
STOP_PARTITION = "stop_partition"  # let the partition wait for somebody; the others go on
STOP_GROUP = "stop_group"  # let the whole group wait for somebody

POLICIES = (DEAD_LETTER, STOP_PARTITION, STOP_GROUP)
DOUBLINGS = 30
JITTER = 0.25  # of a pause, so that partitions that failed together are not tried again together


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """After each failed attempt a pause, twice as long as the one before; after the last attempt a policy decides.

    ``max_attempts=None`` tries for ever. With ``max_attempts=1`` a batch is one message, so that the one that fails is
    known.
    """

    max_attempts: int | None = 10
    first_pause: timedelta = timedelta(seconds=1)
    longest_pause: timedelta = timedelta(minutes=5)
    then: str = DEAD_LETTER

    def __post_init__(self) -> None:
        if self.then not in POLICIES:
            raise ValueError(f"then={self.then!r}: choose one of {', '.join(POLICIES)}.")
        if self.max_attempts is not None and self.max_attempts < 1:
            raise ValueError(f"max_attempts={self.max_attempts}: there is one attempt at least, or None for no limit.")
        if self.first_pause < timedelta(0) or self.longest_pause < self.first_pause:
            raise ValueError("first_pause is not negative, and longest_pause is not shorter than it.")

    def is_last(self, attempt: int) -> bool:
        """Whether no other attempt follows this one."""
        return self.max_attempts is not None and attempt >= self.max_attempts

    def is_used_up(self, attempt: int) -> bool:
        """Whether this attempt is one too many: those before it ended without a word."""
        return self.max_attempts is not None and attempt > self.max_attempts

    def pause(self, attempt: int) -> float:
        """Seconds until the next attempt."""
        longest = self.longest_pause.total_seconds()
        doubled = self.first_pause.total_seconds() * 2.0 ** min(attempt - 1, DOUBLINGS)
        seconds: float = min(doubled, longest) * random.uniform(1 - JITTER, 1)  # noqa: S311 - jitter
        return seconds

    def as_json(self) -> dict[str, Any]:
        """What a group remembers of it."""
        return {
            "max_attempts": self.max_attempts,
            "first_pause": self.first_pause.total_seconds(),
            "longest_pause": self.longest_pause.total_seconds(),
            "then": self.then,
        }

    @classmethod
    def of_json(cls, stored: Mapping[str, Any]) -> "Retry":
        """What a group has remembered."""
        pauses = {name: timedelta(seconds=stored[name]) for name in ("first_pause", "longest_pause") if name in stored}
        known = {name: stored[name] for name in ("max_attempts", "then") if name in stored}
        return cls(**{**known, **pauses})  # what newer code has added is nothing to us
