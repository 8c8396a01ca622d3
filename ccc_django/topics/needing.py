"""Needing: who may still need messages of a topic, from which position on, and what is kept for partitions to come."""

from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from pydantic_core import from_json

from ccc_django import db
from ccc_django.conf import conf
from ccc_django.groups.durations import ago
from ccc_django.groups.marking import partial_shapes
from ccc_django.heads import checked_head
from ccc_django.models import Topic
from ccc_django.models.consumer_group import Kind


class Need(NamedTuple):
    """A group that gets a topic, or the whole log: then it has no place of its own in the topic.

    Everything before ``first`` is done. It ``holds`` if messages are kept for it until then.
    """

    place: int | None
    group: str
    kind: str
    types: list[str]
    names: list[str]
    watermark: int
    only_looks: bool
    holds: bool
    first: int

    @property
    def is_shared(self) -> bool:
        """Whether it has deliveries."""
        return self.kind == Kind.SHARED

    def partial_shapes(self) -> set[int]:
        """Shapes of messages that carry some of its attributes and not all: partitions to come need them."""
        is_composite = len(self.names) > 1
        return {shape for shape, _ in partial_shapes(self.names, self.types)} if is_composite else set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What groups need of a topic at one moment: nothing behind ``upto`` may go, and not everything before it.

    ``kept_types`` are those whose history somebody reads again from its beginning.
    """

    of: list[Need]
    head: int
    kept_types: list[str]

    @property
    def holding(self) -> list[Need]:
        """Those for whom messages are kept, the furthest behind first."""
        return [need for need in self.of if need.holds]

    @property
    def losing(self) -> list[Need]:
        """Those that have subscribed, and for whom nothing is kept any more."""
        return [need for need in self.of if need.place is not None and not need.holds]

    @property
    def upto(self) -> int:
        """Everything up to here is final, and done by all for whom it is kept."""
        return min([self.head, *(need.first - 1 for need in self.holding)])

    def kept_shapes(self) -> list[int]:
        """Shapes of messages that partitions to come need."""
        return sorted({shape for need in self.holding for shape in need.partial_shapes()})

    def retention(self, topic: Topic) -> timedelta | None:
        """How long messages are kept; a topic that nobody has subscribed to has its own."""
        subscribed = any(need.place is not None for need in self.of)
        return topic.retention if subscribed else topic.unsubscribed_retention


def needs_of(topic: str) -> Needs:
    """What groups need of a topic now: the head, and in a later statement where they stand."""
    grace = ago(conf.dead_grace)
    [highest], rows, evolved = db.in_one_trip(
        ("head", {}), ("needs_of_topic", {"topic": topic, "grace": grace}), ("evolved_types", {})
    )
    kept_types = sorted({each for (types,) in evolved for each in from_json(types)})
    return Needs(of=[_need(*row) for row in rows], head=checked_head(*highest), kept_types=kept_types)


def _need(place: int | None, group: str, kind: str, types: str, names: str, *rest: int) -> Need:
    watermark, only_looks, holds, first = rest
    listed = (from_json(types), from_json(names))
    return Need(place, group, kind, *listed, watermark, bool(only_looks), bool(holds), first)
