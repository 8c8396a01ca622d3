"""Searching: how a worker finds open work; whoever finds none advances the group. The same for both kinds of groups."""

import time
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from ccc_django import db
from ccc_django.claims import Claim
from ccc_django.conf import conf
from ccc_django.errors import UnknownGroup
from ccc_django.groups.looking import Look, kinds

FROM_THE_START = {"floor_epoch": 0, "floor_position": 0, "floor_id": 0}
Found = TypeVar("Found")


class OtherKind(Exception):
    """The group is of another kind than it was, or than was thought."""


@dataclass(slots=True)
class Search(Generic[Found]):
    """A search of one worker in one group; ``call`` is what every statement of it is given."""

    kind: ClassVar[str]
    looks_by: ClassVar[str]

    name: str
    call: dict[str, Any]
    look: Look

    def advance(self, beyond: int) -> bool:
        """Turn some of the log into open work; whether there was any."""
        raise NotImplementedError

    def take(self, where: dict[str, Any], ack: Claim | None) -> Found | None:
        """Claim what is there from a floor on, after an ack that travels with it."""
        raise NotImplementedError

    def found(self, ack: Claim | None) -> Found | None:
        """What is ready; or, if nothing is, what is new in the log and becomes ready."""
        look = self.look
        if look.is_idle or look.is_advance_due:
            started = time.monotonic()
            is_active, is_behind, watermark, is_open, *_ = self._state()
            has_advanced = is_active and is_behind and self.advance(watermark)
            look.advanced(time.monotonic() - started)
            if look.is_idle and ack is None and not has_advanced and not (is_active and is_open):
                return None
        found = self._looked(ack)
        while found is None and self._advanced():
            found = self._looked(None)
        look.is_idle = found is None
        return found

    def _state(self) -> tuple[Any, ...]:
        """Whether a group is active, whether the log has grown beyond its watermark, and whether anything waits."""
        look = self.look
        if not look.is_idle or not (look.is_whole or look.is_rested):  # the next claim looks from the beginning itself
            rows = self._rows(look.floor)
        else:
            started = time.monotonic()
            rows = self._rows(FROM_THE_START)
            look.looked(time.monotonic() - started)
        if not rows:
            raise UnknownGroup(self.name)
        *state, kind = rows[0]
        if kind != self.kind:
            kinds[conf.database, self.name] = kind
            raise OtherKind
        look.is_active = bool(state[0])
        look.due_in(state[-1] if look.is_active else None)  # nothing of a stopped group will be due
        return tuple(state)

    def _rows(self, floor: dict[str, int]) -> list[db.Row]:
        return db.rows(self.looks_by, name=self.name, **floor)

    def _advanced(self) -> bool:
        is_active, is_behind, watermark, *_ = self._state()
        return bool(is_active and is_behind and self.advance(watermark))

    def _looked(self, ack: Claim | None) -> Found | None:
        """From where this process found work before; from the beginning if nothing is there, or when it is time."""
        if not self.look.is_whole:
            if found := self.take({**self.look.floor, "look_for_late": False}, ack):
                return found
            ack = None
        started = time.monotonic()
        found = self.take({**FROM_THE_START, "look_for_late": True}, ack)
        self.look.looked(time.monotonic() - started)
        return found

    def raise_floor(self, *, epoch: int, position: int, id: int, is_late: bool) -> None:
        """Work was found here, and none before; or some whose time was over, and there may be others."""
        if is_late:
            self.look.whole_at = 0.0
        else:
            self.look.raise_to(epoch, position, id)
