"""Advance: the log between a group's watermark and the head becomes open work, batch by batch.

A message with all of the group's attributes finds or makes its partitions. A message with some of them wakes every
partition that shares its values. One worker at a time advances a group; the others go on claiming.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.db import transaction
from pydantic_core import from_json, to_json

from ccc_django import db, dead_letters
from ccc_django.attributes import KeyPair
from ccc_django.conf import conf
from ccc_django.groups import marking
from ccc_django.groups.looking import look_at
from ccc_django.models import ConsumerGroup, StoredMessage
from ccc_django.partitions import Partition, TooManyPartitions, partitions_of
from ccc_django.store.reading import head

BATCH = 2_000  # messages a transaction
SCANNED = 50_000  # positions that are looked at for a new type in one transaction

Carried = dict[str, dict[KeyPair, None]]


class Advanced(NamedTuple):
    """A group that this worker advances, and how far it is."""

    id: int
    watermark: int
    begins_at: int
    names: list[str]
    types: list[str]
    most_partitions: int
    catch_up_to: int
    catch_up_types: list[str]
    marking_upto: int
    marking_number: int
    marking_after: int

    @property
    def catches_up(self) -> bool:
        """Whether this part of the log has been advanced over before, and is looked at for new types alone."""
        return self.watermark < self.catch_up_to


@dataclass(slots=True)
class Batch:
    """What a batch of messages means to a group: partitions named in full, and sets of values that name some."""

    upto: int
    full: dict[Partition, marking.Span] = field(default_factory=dict)
    partial: dict[frozenset[str], marking.Span] = field(default_factory=dict)
    hexes: dict[KeyPair, str] = field(default_factory=dict)
    too_wide: list[int] = field(default_factory=list)


def advance(name: str, *, beyond: int = -1) -> bool:
    """Turn one batch of the log into open work, or go on with one that wakes many; False if there is nothing to do.

    There is nothing to do for whoever finds another worker at it, nor if nothing is final beyond a position.
    """
    final = head()
    if final <= beyond:
        return False
    with transaction.atomic(using=conf.database):
        group = _locked(name)
        if group is None or (group.watermark >= final and not group.marking_upto):
            return False
        batch = _next_batch(group, group.marking_upto or final)
        if not group.marking_upto:
            _mark_full(name, group, batch)
        marks = [marking.Mark(sorted(pairs), span.low or 0, span.high or 0) for pairs, span in batch.partial.items()]
        place = marking.mark_partial(group.id, sorted(marks), group.marking_number, group.marking_after)
        look_at(name).lower_to(min((mark.low for mark in marks), default=None))
        _go_on(group, batch.upto, place)
    return True


def _locked(name: str) -> Advanced | None:
    if db.is_sqlite():
        db.rows("lock_append")  # become the writer before looking
    rows = db.rows("lock_group", name=name)
    if not rows:
        return None
    id, watermark, begins_at, names, types, most, catch_up_to, catch_up_types, *place, _ = rows[0]
    listed = (from_json(names), from_json(types), most, catch_up_to, from_json(catch_up_types))
    return Advanced(id, watermark, begins_at, *listed, *place)


def _next_batch(group: Advanced, final: int) -> Batch:
    upto = min(final, group.catch_up_to, group.watermark + SCANNED) if group.catches_up else final
    types = group.catch_up_types if group.catches_up else []
    listed: dict[str, Any] = {"names": group.names, "types": types}
    if db.is_sqlite():
        listed = {name: to_json(values).decode() for name, values in listed.items()}
    every = not group.catches_up
    rows = db.rows("carried_values", after=group.watermark, upto=upto, most=BATCH, every=every, **listed)
    return _sorted_in(group, rows, upto)


def _sorted_in(group: Advanced, rows: list[db.Row], upto: int) -> Batch:
    messages: dict[int, tuple[str, Carried]] = {}
    hexes: dict[KeyPair, str] = {}
    for position, message_type, digest, name, value in rows:
        _, carried = messages.setdefault(position, (message_type, {}))
        if name is not None:
            pair = KeyPair(name, value)
            hexes[pair] = digest.hex() if isinstance(digest, bytes) else digest.hex
            carried.setdefault(name, {})[pair] = None
    batch = Batch(upto=max(messages) if len(messages) >= BATCH else upto, hexes=hexes)
    handled = {*group.types}
    for position, (message_type, carried) in messages.items():
        try:
            _sort_in(batch, group, position, carried, is_handled=message_type in handled)
        except TooManyPartitions:
            if message_type in handled:
                batch.too_wide.append(position)
    return batch


def _sort_in(batch: Batch, group: Advanced, position: int, carried: Carried, *, is_handled: bool) -> None:
    if len(carried) == len(group.names):
        for partition in partitions_of(carried, group.names, group.most_partitions):
            span = batch.full.setdefault(partition, marking.Span())
            if is_handled:
                span.add(position)
    elif carried and is_handled:
        for partition in partitions_of(carried, carried, group.most_partitions):
            pairs = frozenset(batch.hexes[pair] for pair in partition.pairs)
            batch.partial.setdefault(pairs, marking.Span()).add(position)


def _mark_full(name: str, group: Advanced, batch: Batch) -> None:
    """Partitions that were named in full, with what concerns the new ones and came before; and what is too wide."""
    found = [
        (partition, [batch.hexes[pair] for pair in partition.pairs], span) for partition, span in batch.full.items()
    ]
    added = marking.mark_full(group.id, found, group.begins_at - 1)
    lowest = marking.mark_what_came_before(added, group.names, group.types, batch.upto)
    lows = [span.low for span in batch.full.values() if span.low]
    look_at(name).lower_to(min([*lows, *lowest], default=None))
    for message in StoredMessage.objects.filter(position__in=batch.too_wide, position__gte=group.begins_at).messages():
        error = f"{TooManyPartitions.__name__}: it belongs to more than {group.most_partitions} partitions by its lists"
        dead_letters.put({"group_id": group.id}, message, error=error)


def _go_on(group: Advanced, upto: int, place: marking.Place | None) -> None:
    """The watermark passes a batch when everything is marked; until then the place is kept."""
    changes: dict[str, Any] = {"marking_upto": upto}
    if place is None:
        changes = {"watermark": upto, "marking_upto": 0}
    number, after = place or (0, 0)
    if place is None and group.catches_up and upto >= group.catch_up_to:
        changes |= {"catch_up_to": 0, "catch_up_types": []}
    ConsumerGroup.objects.filter(pk=group.id).update(marking_number=number, marking_after=after, **changes)
