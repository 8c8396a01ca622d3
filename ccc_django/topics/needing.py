"""Needing: who may still need messages of a topic, from which position on, and what is kept for partitions to come."""

from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from pydantic_core import from_json

from ccc_django import db
from ccc_django.conf import conf
from ccc_django.groups.durations import seconds
from ccc_django.groups.marking import partial_shapes
from ccc_django.models import Topic
from ccc_django.models.consumer_group import Kind
from ccc_django.store.reading import checked_head


class Need(NamedTuple):
    """A group that gets a topic, or the whole log: then it has no place of its own in the topic.

    Everything before ``first`` is done. It ``holds`` if messages are kept for it until then.
    """

    place: int | None
    group: str
    kind: str
    types: list[str]
    names: list[str]
    evolved_types: list[str]
    only_looks: bool
    holds: bool
    first: int

    @property
    def is_shared(self) -> bool:
        """Whether it has deliveries."""
        return self.kind == Kind.SHARED


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What groups need of a topic at one moment: nothing behind ``upto`` may go, and not everything before it."""

    of: list[Need]
    head: int

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

    @property
    def kept_types(self) -> list[str]:
        """Types whose history is read again from its beginning."""
        return sorted({each for need in self.of for each in need.evolved_types})

    def kept_shapes(self) -> list[int]:
        """Shapes of messages that carry some attributes of a group and not all: partitions to come need them."""
        composite = [need for need in self.holding if len(need.names) > 1]
        return sorted({shape for need in composite for shape, _ in partial_shapes(need.names, need.types)})

    def retention(self, topic: Topic) -> timedelta | None:
        """How long messages are kept; a topic that nobody has subscribed to has its own."""
        subscribed = any(need.place is not None for need in self.of)
        return topic.retention if subscribed else topic.unsubscribed_retention


def needs_of(topic: str) -> Needs:
    """What groups need of a topic now: the head, and in a later statement where they stand."""
    grace = seconds(-conf.dead_grace.total_seconds() if db.is_sqlite() else conf.dead_grace.total_seconds())
    [highest], rows = db.in_one_trip(("head", {}), ("needs_of_topic", {"topic": topic, "grace": grace}))
    return Needs(of=[_need(*row) for row in rows], head=checked_head(*highest))


def _need(place: int | None, group: str, kind: str, types: str, names: str, evolved: str, *rest: int) -> Need:
    only_looks, holds, first = rest
    listed = (from_json(types), from_json(names), from_json(evolved))
    return Need(place, group, kind, *listed, bool(only_looks), bool(holds), first)
