"""Batches: some thousand messages of a topic at a time: which of them are old, and which of those go or stay."""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Value
from django.db.models.functions import Greatest, Now
from pydantic_core import to_json

from ccc_django import db, wording
from ccc_django.conf import conf
from ccc_django.groups.durations import ago
from ccc_django.models import Topic
from ccc_django.topics import losing
from ccc_django.topics.configuring import LONGEST
from ccc_django.topics.needing import Needs, needs_of

BATCH = 10_000  # messages a transaction
DENSE = 4  # positions for each message of a batch, up to which a range of them is looked at as a whole


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


def batch(topic: Topic, after: int, upto: int, first_young: int | None) -> Batch:
    """Delete what is old and may go of the next messages of a topic up to a position, in a transaction of its own."""
    is_alone = not db.in_transaction()
    with transaction.atomic(using=conf.database):
        current = _locked(topic)
        if current is None:
            return Batch(is_busy=True)
        db.rows("lock_pruning", lazy=is_alone)
        needs = needs_of(topic.name)  # a later statement than the locks: whoever has subscribed is seen
        if (part := Part.of(current, needs, after, upto)) is None:
            return Batch()
        places = losing.lose(needs.losing, part.parameters())
        count = part.delete()
        losing.drop(places, **part.between)
        done = part.batch(count, None if count == part.count else first_of(topic.name, part.after)[0])
        _remember(current, replace(done, first_young=first_young or done.first_young))
        return done


def _locked(topic: Topic) -> Topic | None:
    """The topic's row, unless somebody else prunes it, or is just coming to need what it has: nobody is waited for."""
    if db.is_sqlite():
        db.rows("lock_append")  # become the writer before looking
        return Topic.objects.filter(pk=topic.pk).first()
    return Topic.objects.select_for_update(skip_locked=True).filter(pk=topic.pk).first()


def foreseen(topic: Topic, after: int, upto: int) -> Batch:
    """The same, and nothing is changed."""
    with nullcontext() if db.is_sqlite() else transaction.atomic(using=conf.database):  # who only looks does not write
        db.rows("without_jit")
        part = Part.of(topic, needs_of(topic.name), after, upto)
        if part is None:
            return Batch()
        [(count, first_kept)] = db.rows("count_prunable", **part.parameters())
        return part.batch(count, first_kept)


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The next messages of a topic that everybody has done, behind one position and up to another."""

    topic: Topic
    needs: Needs
    retention: timedelta
    after: int
    last: int
    count: int

    @classmethod
    def of(cls, topic: Topic, needs: Needs, after: int, upto: int) -> "Part | None":
        """None if the topic keeps everything."""
        retention = needs.retention(topic)
        if retention is None:
            return None
        end = min(needs.upto, upto)
        [(first, last, count)] = db.rows("part_of_topic", topic=topic.name, after=after, upto=end, most=BATCH)
        start, last = (after, after) if first is None else (first - 1, last)
        return cls(topic=topic, needs=needs, retention=retention, after=start, last=last, count=count)

    @property
    def is_dense(self) -> bool:
        """Whether not many other messages lie between them."""
        return self.last - self.after <= DENSE * self.count

    @property
    def between(self) -> dict[str, int]:
        """Where they are."""
        return {"after": self.after, "upto": self.last}

    def parameters(self) -> dict[str, Any]:
        """What of it goes, and what stays."""
        listed: dict[str, Any] = {"kept_types": self.needs.kept_types, "kept_shapes": self.needs.kept_shapes()}
        if db.is_sqlite():
            listed = {name: to_json(values).decode() for name, values in listed.items()}
        ages = {"age": ago(self.retention), "partial_age": ago(self.topic.keep_partial or LONGEST)}
        return {"topic": self.topic.name, **self.between, **listed, **ages}

    def delete(self) -> int:
        """What is old and may go, with its entries; how many messages that is."""
        if not self.count:
            return 0
        listed = {} if db.is_sqlite() else {"listed": not self.is_dense}
        _, rows = db.in_one_trip(
            ("lock_discarded_letters", self.between), ("prune_messages", self.parameters() | listed)
        )
        count, positions = (len(rows), [at for (at,) in rows]) if db.is_sqlite() else rows[0]
        if count == self.last - self.after:  # nothing is left there, of any topic
            db.rows("prune_all_entries", **self.between)
        elif self.is_dense:
            db.rows("prune_entries", **self.between)
        elif count:
            db.rows("prune_entries_at", positions=to_json(positions).decode() if db.is_sqlite() else positions)
        return int(count)

    def batch(self, count: int, first_kept: int | None) -> Batch:
        """What was done, or would be; if not all of it goes, some of it may not be old."""
        any_old, first_young = count > 0, None
        if count < self.count:
            of = {"topic": self.topic.name, "age": ago(self.retention)}
            [(is_any, first_young)] = db.rows("old_of_topic", **of, **self.between)
            any_old = any_old or bool(is_any)
        has_more = any_old and self.count >= BATCH
        return Batch(
            retention=self.retention,
            count=count,
            last=self.last,
            first_young=first_young,
            first_kept=first_kept,
            has_more=has_more,
            held_by=() if has_more else self._held_by(),
        )

    def _held_by(self) -> tuple[str, ...]:
        """Groups that something old is kept for."""
        upto, position = self.needs.upto, first_of(self.topic.name, self.needs.upto)[0]
        if position is None or position > self.needs.head:
            return ()
        of = {"topic": self.topic.name, "age": ago(self.retention)}
        [(is_old, _)] = db.rows("old_of_topic", **of, after=position - 1, upto=position)
        names = {need.group for need in self.needs.holding if need.first == upto + 1}
        return tuple(sorted(names)) if is_old else ()


def first_of(topic: str, after: int) -> tuple[int | None, datetime | None]:
    """The first message of a topic behind a position, and when it was appended."""
    found = db.rows("first_of_topic", topic=topic, after=after)
    if not found:
        return None, None
    [(position, time)] = found
    return position, datetime.fromisoformat(time) if isinstance(time, str) else time


def _remember(topic: Topic, done: Batch) -> None:
    """How far it is: up to the first message that is not old yet."""
    reached = done.last if done.first_young is None else done.first_young - 1
    if reached <= topic.pruned_upto and not done.count:
        return
    changes: dict[str, Any] = {"pruned_upto": Greatest("pruned_upto", Value(reached))}
    if done.count:
        changes |= {"pruned": F("pruned") + done.count, "pruned_at": Now()}
        wording.pruned(topic=topic.name, count=done.count, position=done.last)
    Topic.objects.filter(pk=topic.pk).update(**changes)
