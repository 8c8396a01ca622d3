"""Advance: the log between a group's watermark and the head becomes open work, batch by batch.

A message with all of the group's attributes finds or makes its partitions. A message with some of them wakes every
partition that shares its values. One worker at a time advances a group; the others go on claiming.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from pydantic_core import from_json, to_json

from ccc_django import db
from ccc_django.attributes import KeyPair
from ccc_django.conf import conf
from ccc_django.models import ConsumerGroup
from ccc_django.partitions import Partition, partitions_of
from ccc_django.store.reading import head

BATCH = 2_000  # messages a transaction
MOST_MARKED = 10_000  # offsets a statement
MOST_PARTITIONS = 100  # of one message, by its lists


@dataclass(slots=True)
class Span:
    """The lowest and the highest position of handled messages, if there are any."""

    low: int | None = None
    high: int | None = None

    def add(self, position: int) -> None:
        """Let a position be in it; they come in order."""
        self.low, self.high = self.low or position, position


@dataclass(slots=True)
class Batch:
    """What a batch of messages means to a group: partitions named in full, and sets of values that name some."""

    upto: int
    full: dict[Partition, Span] = field(default_factory=dict)
    partial: dict[frozenset[str], Span] = field(default_factory=dict)
    hexes: dict[KeyPair, str] = field(default_factory=dict)


def advance(group: ConsumerGroup) -> bool:
    """Turn one batch of the log into open work; False if there is none, or another worker is at it."""
    final = head()
    with transaction.atomic(using=conf.database):
        if db.is_sqlite():
            db.rows("lock_append")  # become the writer before looking
        locked = db.rows("lock_group", group=group.pk)
        if not locked or locked[0][0] >= final:
            return False
        watermark, start, names, types = locked[0][0], locked[0][1], from_json(locked[0][2]), from_json(locked[0][3])
        rows = _carried(watermark, final, names)
        batch = _batch(rows, names, {*types}, final)
        added = _mark_full(group, batch, start - 1)
        _mark_what_came_before(added, names, types, batch.upto)
        _mark_partial(group, batch)
        ConsumerGroup.objects.filter(pk=group.pk).update(watermark=batch.upto)
        _lower_floor(group, batch)
    return True


def _carried(after: int, upto: int, names: list[str]) -> list[db.Row]:
    listed: Any = to_json(names).decode() if db.is_sqlite() else names
    return db.rows("carried_values", after=after, upto=upto, most=BATCH, names=listed)


def _batch(rows: list[db.Row], names: list[str], handled: set[str], final: int) -> Batch:
    messages: dict[int, tuple[str, dict[str, dict[KeyPair, None]]]] = {}
    hexes: dict[KeyPair, str] = {}
    for position, message_type, digest, name, value in rows:
        _, carried = messages.setdefault(position, (message_type, {}))
        if name is not None:
            pair = KeyPair(name, value)
            hexes[pair] = digest.hex() if isinstance(digest, bytes) else digest.hex
            carried.setdefault(name, {})[pair] = None
    full_batch = len(messages) >= BATCH
    batch = Batch(upto=max(messages) if full_batch else final, hexes=hexes)
    for position, (message_type, carried) in messages.items():
        _sort_in(batch, position, carried, names, is_handled=message_type in handled)
    return batch


def _sort_in(
    batch: Batch, position: int, carried: dict[str, dict[KeyPair, None]], names: list[str], *, is_handled: bool
) -> None:
    if len(carried) == len(names):
        for partition in partitions_of(carried, names, MOST_PARTITIONS):
            span = batch.full.setdefault(partition, Span())
            if is_handled:
                span.add(position)
    elif carried and is_handled:
        for partition in partitions_of(carried, carried, MOST_PARTITIONS):
            pairs = frozenset(batch.hexes[pair] for pair in partition.pairs)
            batch.partial.setdefault(pairs, Span()).add(position)


def _mark_full(group: ConsumerGroup, batch: Batch, last: int) -> list[int]:
    """Offsets of partitions that were named in full; the ids of those that are new."""
    found = [
        (partition, [batch.hexes[pair] for pair in partition.pairs], span) for partition, span in batch.full.items()
    ]
    if not found:
        return []
    if db.is_sqlite():
        return _mark_full_on_sqlite(group, found, last)
    rows = db.rows(
        "mark_partitions",
        group=group.pk,
        last=last,
        ids=[partition.id for partition, _, _ in found],
        keys=[partition.key for partition, _, _ in found],
        pairs=["{" + ",".join(pairs) + "}" for _, pairs, _ in found],
        lows=[span.low for _, _, span in found],
        highs=[span.high for _, _, span in found],
    )
    return [id for (id,) in rows]


def _mark_full_on_sqlite(group: ConsumerGroup, found: list[tuple[Partition, list[str], Span]], last: int) -> list[int]:
    [(before,)] = db.rows("last_offset")
    marks = [
        (
            group.pk,
            bytes.fromhex(partition.id),
            partition.key,
            to_json(pairs).decode(),
            last,
            max(span.low or 0, last + 1) if span.high and span.high > last else None,
            span.high or 0,
        )
        for partition, pairs, span in found
    ]
    db.in_one_trip(("mark_partition", marks))
    added = db.rows("new_offsets", group=group.pk, after=before)
    named = [(group.pk, bytes.fromhex(pair), id) for id, pairs in added for pair in from_json(pairs)]
    db.in_one_trip(("insert_offset_key_pair", named))
    return [id for id, _ in added]


def _mark_what_came_before(added: list[int], names: list[str], types: list[str], upto: int) -> None:
    """A partition that is new has open work from messages that concern it and came before it was known."""
    needs = _partial_shapes(names, types) if added else []
    if not needs:
        return
    if db.is_sqlite():
        parameters: dict[str, Any] = {"ids": to_json(added).decode(), "needs": to_json(needs).decode()}
    else:
        parameters = {"ids": added, "shapes": [need[0] for need in needs], "numbers": [need[1] for need in needs]}
    _mark(db.rows("partial_ranges", **parameters, upto=upto))


def _partial_shapes(names: list[str], types: list[str]) -> list[tuple[int, int]]:
    """Shapes that carry some attributes and not all, each with the numbers of those that it carries."""
    listed: dict[str, Any] = {"types": types, "names": names}
    if db.is_sqlite():
        listed = {"types": to_json(types).decode()}
    shapes = [
        (digest, {*from_json(carried)}.intersection(names)) for digest, carried in db.rows("partial_shapes", **listed)
    ]
    return [
        (digest, names.index(name) + 1)
        for digest, carried in shapes
        if 0 < len(carried) < len(names)
        for name in sorted(carried)
    ]


def _mark_partial(group: ConsumerGroup, batch: Batch) -> None:
    """Every partition that has all the values of a message that names it in part, in the order of ids."""
    marks = [(*_split(pairs), span.low, span.high) for pairs, span in batch.partial.items()]
    after = 0
    while marks:
        if db.is_sqlite():
            parameters: dict[str, Any] = {"marks": to_json(marks).decode()}
        else:
            first, others, lows, highs = (list(column) for column in zip(*marks, strict=True))
            listed = ["{" + ",".join(each) + "}" for each in others]
            parameters = {"pairs": first, "others": listed, "lows": lows, "highs": highs}
        woken = db.rows("woken_offsets", group=group.pk, after=after, most=MOST_MARKED, **parameters)
        _mark(woken)
        if len(woken) < MOST_MARKED:
            return
        after = woken[-1][0]


def _split(pairs: frozenset[str]) -> tuple[str, list[str]]:
    first, *others = sorted(pairs)
    return first, others


def _mark(marks: Iterable[db.Row]) -> None:
    rows = list(marks)
    if not rows:
        return
    if db.is_sqlite():
        db.in_one_trip(("mark_offset", [tuple(row) for row in rows]))
    else:
        ids, lows, highs = (list(column) for column in zip(*rows, strict=True))
        db.rows("mark_offsets", ids=ids, lows=lows, highs=highs)


def _lower_floor(group: ConsumerGroup, batch: Batch) -> None:
    """Claims look from the floor on: whatever has open work below it lowers it."""
    lows = [span.low for span in (*batch.full.values(), *batch.partial.values()) if span.low]
    if lows:
        lowered = ConsumerGroup.objects.filter(pk=group.pk, floor_position__gt=min(lows))
        lowered.update(floor_position=0, floor_id=0)
