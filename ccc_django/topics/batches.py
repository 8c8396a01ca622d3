"""Batches: some thousand messages of a topic at a time: which of them are old, and which of those go or stay."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Greatest, Now
from pydantic_core import to_json

from ccc_django import db, wording
from ccc_django.conf import conf
from ccc_django.groups.durations import seconds
from ccc_django.models import Topic
from ccc_django.topics import losing
from ccc_django.topics.needing import Needs, needs_of

BATCH = 5_000  # messages a transaction
DENSE = 8  # positions for each message of a batch, up to which a range of them is looked at as a whole
EVER = timedelta(days=36_500)


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What was done with the next messages of a topic, up to the last of them, or would be."""

    retention: timedelta | None = None
    count: int = 0
    last: int = 0
    first_young: int | None = None
    first_kept: int | None = None
    has_more: bool = False
    held_by: tuple[str, ...] = ()
    is_busy: bool = False


def batch(topic: Topic, after: int, first_young: int | None) -> Batch:
    """Delete what is old and may go of the next messages of a topic, in a transaction of its own."""
    is_alone = not db.in_transaction()
    with transaction.atomic(using=conf.database):
        free = db.rows("try_pruning", topic=topic.pk)
        if free and not free[0][0]:
            return Batch(is_busy=True)
        db.rows("lock_pruning", lazy=is_alone)
        current = Topic.objects.select_for_update().filter(pk=topic.pk).first()
        needs = needs_of(topic.name)  # a later statement than the lock: whoever has subscribed is seen
        if current is None or (retention := needs.retention(current)) is None:
            return Batch()
        found = _found(current, needs, after, retention)
        count = _delete(current, needs, found) if found.old else 0
        if found.old:
            _remember(current, count, found, first_young)
        return found.batch(count)


def foreseen(topic: Topic, after: int) -> Batch:
    """The same, and nothing is changed."""
    needs = needs_of(topic.name)
    if (retention := needs.retention(topic)) is None:
        return Batch()
    found = _found(topic, needs, after, retention)
    if not found.old:
        return found.batch(0, found.first_young)
    [(count, first_kept)] = db.rows("count_prunable", **found.parameters(topic, needs))
    return found.batch(count, first_kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The next messages of a topic, behind one position and up to another; some of them may be old."""

    retention: timedelta
    after: int
    last: int
    count: int
    old: int
    first_young: int | None
    held_by: tuple[str, ...]

    @property
    def is_dense(self) -> bool:
        """Whether not many other messages lie between them."""
        return self.last - self.after <= DENSE * self.count

    def batch(self, count: int, first_kept: int | None = None) -> Batch:
        """What was done, or would be."""
        has_more = self.old > 0 and self.count >= BATCH
        return Batch(
            retention=self.retention,
            count=count,
            last=self.last,
            first_young=self.first_young,
            first_kept=first_kept,
            has_more=has_more,
            held_by=() if has_more else self.held_by,
        )

    def parameters(self, topic: Topic, needs: Needs) -> dict[str, Any]:
        """What of it goes, and what stays."""
        listed: dict[str, Any] = {"kept_types": needs.kept_types, "kept_shapes": needs.kept_shapes()}
        if db.is_sqlite():
            listed = {name: to_json(values).decode() for name, values in listed.items()}
        ages = {"age": _age(self.retention), "partial_age": _age(topic.keep_partial or EVER)}
        return {"topic": topic.name, "after": self.after, "upto": self.last, **listed, **ages}


def _found(topic: Topic, needs: Needs, after: int, retention: timedelta) -> Found:
    of = {"topic": topic.name, "age": _age(retention)}
    [(first, last, count, old, first_young)] = db.rows("old_of_topic", **of, after=after, upto=needs.upto, most=BATCH)
    return Found(
        retention=retention,
        after=after if first is None else first - 1,
        last=after if last is None else last,
        count=count,
        old=old,
        first_young=first_young,
        held_by=_held_by(needs, of),
    )


def _held_by(needs: Needs, of: dict[str, Any]) -> tuple[str, ...]:
    """Groups that something old is kept for."""
    if needs.upto >= needs.head:
        return ()
    [(*_, old, _)] = db.rows("old_of_topic", **of, after=needs.upto, upto=needs.head, most=1)
    first = needs.upto + 1
    return tuple(sorted({need.group for need in needs.holding if need.first == first})) if old else ()


def _age(duration: timedelta) -> Any:
    """A length of time before now, as each database takes it."""
    length = duration.total_seconds()
    return seconds(-length if db.is_sqlite() else length)


def _delete(topic: Topic, needs: Needs, found: Found) -> int:
    """Messages with their entries; who has lost something is told later."""
    between = {"after": found.after, "upto": found.last}
    db.rows("lock_discarded_letters", **between)
    gone = _gone(found.parameters(topic, needs), is_listed=not found.is_dense)
    if found.is_dense:
        db.rows("prune_entries", **between)
    elif gone:
        listed: Any = sorted(position for each in gone for position in each.positions)
        db.rows("prune_entries_at", positions=to_json(listed).decode() if db.is_sqlite() else listed)
    losing.lose(needs.losing, [(each.type, each.first, each.last) for each in gone], **between)
    return sum(each.number for each in gone)


class Gone(NamedTuple):
    """Messages of one type that were deleted; where they were is listed if somebody needs it."""

    type: str
    number: int
    first: int
    last: int
    positions: list[int]


def _gone(parameters: dict[str, Any], *, is_listed: bool) -> list[Gone]:
    if not db.is_sqlite():
        rows = db.rows("prune_messages", **parameters, listed=is_listed)
        return [Gone(each, number, first, last, at or []) for each, number, first, last, at in rows]
    by_type: dict[str, list[int]] = {}
    for message_type, position in db.rows("prune_messages", **parameters):
        by_type.setdefault(message_type, []).append(position)
    return [Gone(each, len(at), min(at), max(at), at) for each, at in sorted(by_type.items())]


def _remember(topic: Topic, count: int, found: Found, first_young: int | None) -> None:
    """How far it is: up to the first message that is not old yet."""
    young = first_young or found.first_young
    changes: dict[str, Any] = {"pruned_upto": Greatest("pruned_upto", Value(young - 1 if young else found.last))}
    if count:
        changes |= {"pruned": F("pruned") + count, "pruned_at": Now()}
        wording.pruned(topic=topic.name, count=count, position=found.last)
    Topic.objects.filter(pk=topic.pk).update(**changes)
