"""Entries: what an append writes for a message: its row, its index rows, its dictionary rows."""

from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple
from uuid import UUID

from pydantic_core import from_json, to_json

from ccc_django.attributes import KeyPair
from ccc_django.canonical import digest
from ccc_django.messages import Message
from ccc_django.payload_index import PayloadIndex
from ccc_django.sensitivity import leaves_out


class Entry(NamedTuple):
    """A message on its way into the log."""

    message_id: UUID
    message_type: str
    version: int
    topic: str
    payload: str
    metadata: str
    correlation_id: UUID
    causation_id: UUID
    created_at: datetime
    key_pairs: tuple[KeyPair, ...]
    pair_ids: tuple[str, ...]
    declared_pairs: tuple[KeyPair, ...] = ()

    @classmethod
    def of(cls, message: Message) -> "Entry":
        """What is written for a message."""
        envelope, pairs = message.envelope, message.key_pairs
        return cls(
            envelope.id,
            envelope.type,
            envelope.version,
            envelope.topic,
            message.payload_json,
            to_json(envelope.metadata).decode() if envelope.metadata else "{}",
            envelope.correlation_id,
            envelope.causation_id,
            envelope.created_at,
            pairs,
            tuple([pair.hex for pair in pairs]),
        )

    def indexed(self, indexes: Iterable[PayloadIndex]) -> "Entry":
        """The same with the pairs that these indexes add to a message's own."""
        payload = from_json(self.payload)
        shown = [index for index in indexes if not leaves_out(index, self.message_type)]
        added = dict.fromkeys(pair for index in shown for pair in index.pairs(payload))
        more = tuple([pair for pair in added if pair not in self.key_pairs])
        own = self.pair_ids[: len(self.key_pairs)]
        return self._replace(declared_pairs=more, pair_ids=(*own, *(pair.hex for pair in more)))

    @property
    def shape(self) -> "Shape":
        """The type with the attributes that the message carries."""
        return shape_of(self.message_type, frozenset([pair.name for pair in self.key_pairs]))


class Shape(NamedTuple):
    """A message type with the names of the attributes it carried, as JSON; its id has 63 bits."""

    id: int
    message_type: str
    names: str


@lru_cache(maxsize=4096)
def shape_of(message_type: str, names: frozenset[str]) -> Shape:
    """The shape of a message; computed, never looked up."""
    ordered = sorted(names)
    return Shape(digest(message_type, *ordered).int >> 65, message_type, to_json(ordered).decode())


def parameters(entries: list[Entry]) -> dict[str, Any]:
    """Entries as the arrays that the append statements take."""
    columns = list(zip(*entries, strict=True))
    pairs = {
        id: pair
        for entry in entries
        for id, pair in zip(entry.pair_ids, entry.key_pairs + entry.declared_pairs, strict=True)
    }
    shapes = [entry.shape for entry in entries]
    known = {shape for entry, shape in zip(entries, shapes, strict=True) if entry.pair_ids}
    index = [
        (pair, shape.id, number)
        for number, (entry, shape) in enumerate(zip(entries, shapes, strict=True), start=1)
        for pair in entry.pair_ids
    ]
    return {
        "count": len(entries),
        "ids": list(columns[0]),
        "message_types": list(columns[1]),
        "versions": list(columns[2]),
        "topics": list(columns[3]),
        "payloads": list(columns[4]),
        "metadata": list(columns[5]),
        "correlation_ids": list(columns[6]),
        "causation_ids": list(columns[7]),
        "created_at": list(columns[8]),
        "shapes": [shape.id for shape in shapes],
        "entry_pairs": [pair for pair, _, _ in index],
        "entry_shapes": [shape for _, shape, _ in index],
        "entry_numbers": [number for _, _, number in index],
        "pair_ids": list(pairs),
        "pair_names": [pair.name for pair in pairs.values()],
        "pair_values": [pair.value for pair in pairs.values()],
        "shape_ids": [shape.id for shape in known],
        "shape_types": [shape.message_type for shape in known],
        "shape_names": [shape.names for shape in known],
    }
