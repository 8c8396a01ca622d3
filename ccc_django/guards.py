"""Guards: "append these unless something relevant has happened since I looked"."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ccc_django.attributes import KeyPair
from ccc_django.canonical import canonical_text, stored_form
from ccc_django.conditions import Condition
from ccc_django.errors import EmptyGuard
from ccc_django.messages import Message

EVERYTHING = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """A promise: nothing matching these conditions was appended after this position, except what was seen."""

    conditions: tuple[Condition, ...]
    after: int
    seen: frozenset[int] = field(default=frozenset())

    def __post_init__(self) -> None:
        if not self.conditions:
            raise EmptyGuard("A guard without any condition would guard nothing.")

    def moved_past(self, stored: Iterable[Message]) -> "Guard":
        """The same guard, for which these stored messages are known."""
        positions = {message.position for message in stored if message.position is not None}
        return replace(self, seen=self.seen | positions)


@dataclass(frozen=True, slots=True)
class Wanted:
    """Conditions in the form that statements take: attribute values by type, and whole types."""

    types: list[str]
    names: list[str]
    pairs: list[str]
    whole_types: list[str]

    @classmethod
    def by(cls, conditions: Iterable[Condition]) -> "Wanted":
        """Digests are computed here, before any lock or transaction."""
        conditions = list(dict.fromkeys(conditions))
        named = [condition for condition in conditions if condition.name]
        pairs = [KeyPair(each.name, canonical_text(stored_form(each.value))).hex for each in named]
        whole = [condition.type for condition in conditions if not condition.name]
        return cls([each.type for each in named], [each.name for each in named], pairs, whole)

    def parameters(self, *, after: int, upto: int = EVERYTHING, most: int) -> dict[str, Any]:
        """What the statements that look for matches need."""
        return {
            "types": self.types,
            "names": self.names,
            "pairs": self.pairs,
            "whole_types": self.whole_types,
            "after": after,
            "upto": upto,
            "most": most,
        }
