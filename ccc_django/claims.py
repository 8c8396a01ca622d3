"""Claims: an exclusive, temporary right to handle the next messages of one partition, or some of a shared group."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from ccc_django.guards import Guard
from ccc_django.messages import Message
from ccc_django.retry import Retry


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What a worker holds until its lease is over: messages in order, and the guard for decisions on them.

    The token is its fence: whoever lost the claim can no longer ack, release or renew. ``dead_letter`` is the id of the
    one that is delivered again, if it is one. ``again`` says that these messages were given up
    once, and come again because the partition was moved back. ``is_of_topics`` says that its group has subscribed.
    """

    group: str
    worker: str
    offset_id: int
    token: int
    partition_key: str
    partition_value: dict[str, Any]
    key_pair_ids: tuple[UUID, ...]
    messages: list[Message] = field(default_factory=list)
    guard: Guard | None = None
    attempt: int = 1
    replaying: bool = False
    next_position: int | None = None
    epoch: int = 1
    retry: Retry = field(default_factory=Retry)
    dead_letter: int | None = None
    again: bool = False
    is_of_topics: bool = False

    @property
    def position(self) -> int:
        """The last position of the batch: what an ack of all of it acks."""
        return (self.messages[-1].position or 0) if self.messages else 0

    def after(self, position: int) -> int | None:
        """The position of the first message behind this one, as far as the batch knows."""
        if position >= self.position:
            return self.next_position
        return next(message.position for message in self.messages if (message.position or 0) > position)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedClaim(Claim):
    """Some messages of a shared group, each of which can be acked and released by itself.

    ``places`` says for each position in which topic of the group it is, ``replayed`` which of them were dead letters.
    Several messages are in hand together only at their first attempt.
    """

    offset_id: int = 0
    partition_key: str = ""
    partition_value: dict[str, Any] = field(default_factory=dict)
    key_pair_ids: tuple[UUID, ...] = ()
    group_id: int
    places: dict[int, int]
    replayed: frozenset[int] = frozenset()

    def of(self, messages: Iterable[Message] | None) -> "SharedClaim":
        """The claim of some of its messages alone."""
        if messages is None:
            return self
        positions = {message.position or 0 for message in messages}
        if strangers := positions - {*self.places}:
            raise ValueError(f"Not in this claim: {', '.join(map(str, sorted(strangers)))}.")
        return self.with_positions(positions)

    def without(self, messages: Iterable[Message]) -> "SharedClaim":
        """The claim of the others."""
        return self.with_positions({*self.places} - {message.position or 0 for message in messages})

    def with_positions(self, positions: set[int]) -> "SharedClaim":
        """The claim of what is at these positions."""
        return replace(
            self,
            messages=[message for message in self.messages if message.position in positions],
            places={position: place for position, place in self.places.items() if position in positions},
            replayed=frozenset(position for position in self.replayed if position in positions),
        )
