"""Wanted: what is looked for in the form that statements take, and what a guard on it must lock.

Both kinds of leaves become rows of one table. A row says: for this choice, messages of this type, this part may be met
by this pair. Parts of a strict choice must all be met; of a conditional one, those that a message carries.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ccc_django.attributes import KeyPair
from ccc_django.canonical import canonical_text, stored_form
from ccc_django.conditions import Condition
from ccc_django.payload_index import PayloadIndex

EVERYTHING = 2**63 - 1
ANY_TYPE = ""


class Row(NamedTuple):
    """One way to meet one part of one choice."""

    choice: int
    type: str
    part: int
    name: str
    pair: str
    needed: int  # how many parts a shape must be able to meet
    anywhere: bool  # a declared index: shapes do not tell who carries it


@dataclass(slots=True)
class Wanted:
    """Alternatives: attribute values by type, whole types, or everything."""

    rows: list[Row] = field(default_factory=list)
    whole_types: list[str] = field(default_factory=list)
    everything: bool = False
    locked_pairs: list[str] = field(default_factory=list)
    building: list["Uncovered"] = field(default_factory=list)

    @classmethod
    def by(cls, conditions: Iterable[Condition]) -> "Wanted":
        """Conditions, whose parts count for messages that carry them; digests are computed here, before any lock."""
        wanted, choices, parts = cls(), dict[str, int](), dict[tuple[str, str], int]()
        for condition in dict.fromkeys(conditions):
            if not condition.name:
                wanted.whole_types.append(condition.type)
                continue
            pair = KeyPair(condition.name, canonical_text(stored_form(condition.value))).hex
            choice = choices.setdefault(condition.type, len(choices))
            part = parts.setdefault((condition.type, condition.name), len(parts))
            wanted.rows.append(Row(choice, condition.type, part, condition.name, pair, 1, anywhere=False))
            wanted.locked_pairs.append(pair)
        return wanted

    @property
    def is_plain(self) -> bool:
        """Whether there are conditions alone, or what is the same: attributes by type, one of which is enough."""
        return all(row.needed == 1 and row.type and not row.anywhere for row in self.rows)

    @property
    def relies_on_indexes(self) -> bool:
        """Whether payload indexes are used, which may be dropped meanwhile."""
        return any(row.anywhere for row in self.rows)

    def add(self, other: "Wanted") -> None:
        """Let more alternatives be wanted."""
        first = 1 + max((row.choice for row in self.rows), default=-1)
        self.rows += [row._replace(choice=first + row.choice) for row in other.rows]
        self.whole_types += other.whole_types
        self.locked_pairs += other.locked_pairs
        self.everything = self.everything or other.everything

    def parameters(self, *, after: int, upto: int = EVERYTHING, most: int) -> dict[str, Any]:
        """What the statements that look for matches need."""
        columns = [list(column) for column in zip(*self.rows, strict=True)] or [[] for _ in Row._fields]
        names = ("choices", "types", "parts", "names", "pairs", "needed", "anywhere")
        return dict(zip(names, columns, strict=True)) | {
            "whole_types": self.whole_types,
            "everything": self.everything,
            "after": after,
            "upto": upto,
            "most": most,
        }


class Uncovered(NamedTuple):
    """The range of an index that is being built whose messages have no entries yet."""

    by: PayloadIndex
    after: int
    upto: int
