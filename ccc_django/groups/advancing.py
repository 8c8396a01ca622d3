"""Advance: the log between a group's watermark and the head becomes open work, batch by batch.

A message with all of the group's attributes finds or makes its partitions. A message with some of them wakes every
partition that shares its values. One worker at a time advances a group; the others go on claiming.
"""

from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from django.db import transaction
from pydantic_core import from_json, to_json

from ccc_django import db, dead_letters, stages
from ccc_django.attributes import KeyPair
from ccc_django.conf import conf
from ccc_django.groups import marking
from ccc_django.groups.looking import look_at
from ccc_django.heads import checked_head
from ccc_django.models import StoredMessage
from ccc_django.partitions import Partition, TooManyPartitions, partitions_of
from ccc_django.wanted import EVERYTHING

BATCH = 2_000  # messages a transaction
SCANNED = 50_000  # positions that are looked at for a new type in one transaction

Carried = dict[str, dict[KeyPair, None]]
Values = tuple[tuple[Any, Any, Any], ...]  # digests, names and values of what a message carries
POSITION_AND_TYPE = itemgetter(0, 1)


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
    topics: list[str] | None = None

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
    is_alone = not db.in_transaction()
    with transaction.atomic(using=conf.database):
        final, group, rows = _locked(name, beyond, lazy=is_alone)
        if group is None or (group.watermark >= final and not group.marking_upto):
            return False
        batch = _next_batch(group, group.marking_upto or final, rows)
        if not group.marking_upto:
            _mark_full(name, group, batch)
        marks = [marking.Mark(sorted(pairs), span.low or 0, span.high or 0) for pairs, span in batch.partial.items()]
        place = marking.mark_partial(group.id, sorted(marks), group.marking_number, group.marking_after)
        look_at(name).lower_to(min((mark.low for mark in marks), default=None))
        _pass(group, batch.upto, place, commits=is_alone and not db.is_sqlite())
        stages.advanced(name, batch.upto)
    return True


def _locked(name: str, beyond: int, *, lazy: bool) -> tuple[int, Advanced | None, list[db.Row] | None]:
    """The head, the group, if nobody else is at it, and what comes next in the log, if that could be known before.

    It is known if the group is where its caller saw it; who was idle asks for everything in one journey. Who is busy
    may find somebody else at it, and does not read for nothing.
    """
    look = look_at(name)
    calls: list[db.Call] = [("head", {}), ("lock_group", {"name": name, "lazy": lazy})]
    if db.is_sqlite():
        calls.insert(0, ("lock_append", {}))  # become the writer before looking
    elif look.names is not None and look.is_idle and beyond >= 0:
        calls.append(("carried_values", _wanted(look.names, [], None, after=beyond, upto=EVERYTHING, every=True)))
    [highest], found, *known = db.in_one_trip(*calls)[db.is_sqlite() :]
    final = checked_head(*highest)
    if not found:
        return final, None, None
    id, watermark, begins_at, names, types, most, catch_up_to, catch_up_types, *place, topics, _, _ = found[0]
    listed = (from_json(names), from_json(types), most, catch_up_to, from_json(catch_up_types))
    group = Advanced(id, watermark, begins_at, *listed, *place)._replace(topics=topics and from_json(topics))
    is_as_seen = (watermark, group.names) == (beyond, look.names) and not group.catches_up and not group.marking_upto
    look.names = group.names if group.topics is None else None
    return final, group, [row for row in known[0] if row[0] <= final] if known and is_as_seen else None


def _wanted(
    names: list[str], types: list[str], topics: list[str] | None, *, after: int, upto: int, every: bool
) -> dict[str, Any]:
    listed: dict[str, Any] = {"names": names, "types": types, "topics": topics}
    if db.is_sqlite():
        listed = {name: None if values is None else to_json(values).decode() for name, values in listed.items()}
    return {"after": after, "upto": upto, "most": BATCH, "every": every, **listed}


def _next_batch(group: Advanced, final: int, rows: list[db.Row] | None) -> Batch:
    if rows is not None:
        return _sorted_in(group, rows, final)
    upto = min(final, group.catch_up_to, group.watermark + SCANNED) if group.catches_up else final
    types = group.catch_up_types if group.catches_up else []
    wanted = _wanted(group.names, types, group.topics, after=group.watermark, upto=upto, every=not group.catches_up)
    return _sorted_in(group, db.rows("carried_values", **wanted), upto)


def _sorted_in(group: Advanced, rows: list[db.Row], upto: int) -> Batch:
    """Messages that carry the same values, as many do, belong to the same partitions, and are looked at once."""
    alike, count = _by_values(rows)
    batch = Batch(upto=rows[-1][0] if count >= BATCH else upto)
    handled = {*group.types}
    for values, messages in alike.items():
        positions = [position for position, message_type in messages if message_type in handled]
        try:
            _sort_in(batch, group, _carried(values, batch.hexes), positions)
        except TooManyPartitions:
            batch.too_wide += positions
    return batch


def _by_values(rows: list[db.Row]) -> tuple[dict[Values, list[tuple[int, str]]], int]:
    """Positions and types of messages by the values that they carry, and how many messages there are."""
    alike: dict[Values, list[tuple[int, str]]] = {}
    count = 0
    for message, found in groupby(rows, POSITION_AND_TYPE):
        alike.setdefault(tuple([row[2:] for row in found]), []).append(message)
        count += 1
    return alike, count


def _carried(values: Values, hexes: dict[KeyPair, str]) -> Carried:
    carried: Carried = {}
    for digest, name, value in values:
        if name is not None:
            pair = KeyPair(name, value)
            hexes[pair] = digest.hex() if isinstance(digest, bytes) else digest.hex
            carried.setdefault(name, {})[pair] = None
    return carried


def _sort_in(batch: Batch, group: Advanced, carried: Carried, positions: list[int]) -> None:
    if len(carried) == len(group.names):
        for partition in partitions_of(carried, group.names, group.most_partitions):
            batch.full.setdefault(partition, marking.Span()).add(positions)
    elif carried and positions:
        for partition in partitions_of(carried, carried, group.most_partitions):
            pairs = frozenset(batch.hexes[pair] for pair in partition.pairs)
            batch.partial.setdefault(pairs, marking.Span()).add(positions)


def _mark_full(name: str, group: Advanced, batch: Batch) -> None:
    """Partitions that were named in full, with what concerns the new ones and came before; and what is too wide."""
    found = [
        (partition, [batch.hexes[pair] for pair in partition.pairs], span) for partition, span in batch.full.items()
    ]
    added = marking.mark_full(group.id, found, group.begins_at - 1)
    lowest = marking.mark_what_came_before(added, group.names, group.types, batch.upto)
    lows = [span.low for span in batch.full.values() if span.low]
    look_at(name).lower_to(min([*lows, *lowest], default=None))
    if batch.too_wide:
        _put_aside(name, group, batch.too_wide)


def _put_aside(name: str, group: Advanced, positions: list[int]) -> None:
    """Messages that belong to too many partitions are dead letters of the group."""
    for message in StoredMessage.objects.filter(position__in=positions, position__gte=group.begins_at).messages():
        error = f"{TooManyPartitions.__name__}: it belongs to more than {group.most_partitions} partitions by its lists"
        dead_letters.put({"group_id": group.id}, message, error=error)
        stages.put_aside(name, message, error)


def _pass(group: Advanced, upto: int, place: marking.Place | None, *, commits: bool) -> None:
    """The watermark passes a batch when everything is marked; until then the place is kept."""
    number, after = place or (0, 0)
    changes = {
        "watermark": upto if place is None else 0,
        "upto": 0 if place is None else upto,
        "number": number,
        "after": after,
        "caught_up": place is None and group.catches_up and upto >= group.catch_up_to,
    }
    call = ("pass_batch", {"id": group.id, **changes})
    db.in_one_trip(call, ("commit", {})) if commits else db.in_one_trip(call)
