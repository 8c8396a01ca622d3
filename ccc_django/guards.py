"""Guards: "append these unless something relevant has happened since I looked"."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from ccc_django.conditions import Condition
from ccc_django.errors import EmptyGuard
from ccc_django.filters import Filter
from ccc_django.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """A promise: nothing that matches was appended after this position, except what was seen.

    It carries conditions, of which only those count that a message carries, or a filter, which is strict.
    """

    conditions: tuple[Condition, ...] = ()
    filter: Filter | None = None
    after: int
    seen: frozenset[int] = field(default=frozenset())

    def __post_init__(self) -> None:
        if bool(self.conditions) == (self.filter is not None):
            raise EmptyGuard("A guard has conditions or a filter: without any it would guard nothing.")

    def moved_past(self, stored: Iterable[Message]) -> "Guard":
        """The same guard, for which these stored messages are known."""
        positions = {message.position for message in stored if message.position is not None}
        return replace(self, seen=self.seen | positions)
