"""Looking: where this process begins to look for open work; hints that save work and that nothing relies upon.

On PostgreSQL the entries of what is done stay in an index until VACUUM. A process that starts where it last found work
does not walk over them. Once a second it looks from the beginning, or less often where that takes long.
"""

import time
from dataclasses import dataclass

from ccc_django.conf import conf

FROM_THE_BEGINNING = 1.0  # seconds between looks without a floor
SHARE = 20  # a look without a floor may take this part of the time
ADVANCE = 0.05  # seconds until a group that has work is advanced again: what is new may concern what is in hand
ADVANCING = 9  # times as long as an advance took: a tenth of the time, while there is work that is open already


@dataclass(slots=True)
class Look:
    """What a process remembers of a group."""

    epoch: int = 0
    position: int = 0
    id: int = 0
    whole_at: float = 0.0
    rested_at: float = 0.0
    advance_at: float = 0.0
    due_at: float | None = None
    is_idle: bool = True
    is_active: bool = True
    names: list[str] | None = None  # attributes of the group's partitions, when it was last advanced

    @property
    def is_whole(self) -> bool:
        """Whether it is time to look from the beginning."""
        return time.monotonic() >= self.whole_at

    @property
    def is_rested(self) -> bool:
        """Whether an idle process may look from the beginning again: it does nothing else."""
        return time.monotonic() >= self.rested_at

    @property
    def floor(self) -> dict[str, int]:
        """Where to begin, in the epoch in which it was found."""
        return {"floor_epoch": self.epoch, "floor_position": self.position, "floor_id": self.id}

    @property
    def is_advance_due(self) -> bool:
        """Whether it is time to see what has been appended."""
        return time.monotonic() >= self.advance_at

    def advanced(self, seconds: float) -> None:
        """The log has just been looked at, for this long; a long log must not keep from what is open already."""
        self.advance_at = time.monotonic() + max(ADVANCE, ADVANCING * seconds)

    def looked(self, seconds: float) -> None:
        """A look from the beginning took this long."""
        now = time.monotonic()
        self.whole_at, self.rested_at = now + max(FROM_THE_BEGINNING, SHARE * seconds), now + seconds

    def due_in(self, seconds: float | None) -> None:
        """The next partition that is blocked will be ready in this time; None if there is none."""
        self.due_at = None if seconds is None else time.monotonic() + seconds

    def raise_to(self, epoch: int, position: int, id: int) -> None:
        """Work was found here, and none before."""
        self.epoch, self.position, self.id = epoch, position, id

    def lower_to(self, position: int | None, id: int = 0) -> None:
        """There is work here, which this process has made or given back."""
        if position is not None and (position, id) < (self.position, self.id):
            self.position, self.id = position, id


_looks: dict[tuple[str, str, str], Look] = {}
kinds: dict[tuple[str, str], str] = {}  # of groups, by database and name, as they were when somebody looked


def look_at(name: str, topic: str = "") -> Look:
    """What this process remembers of a group, or of one topic of it."""
    return _looks.setdefault((conf.database, name, topic), Look())


def lower(name: str, position: int) -> None:
    """There is work of a group here, whatever topic it is of."""
    for (database, group, _), look in [*_looks.items()]:
        if (database, group) == (conf.database, name):
            look.lower_to(position)


def forget() -> None:
    """Remember nothing."""
    _looks.clear()
    kinds.clear()
