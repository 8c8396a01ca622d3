"""Marking: offsets get open work between two positions, unless they have passed it; new ones are made before."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json

from ccc_django import db
from ccc_django.partitions import Partition

MOST_MARKED = 10_000  # offsets a transaction

Place = tuple[int, int]  # the number of a mark, and the id behind which it goes on
Found = tuple[Partition, list[str], "Span"]


@dataclass(slots=True)
class Span:
    """The lowest and the highest position of handled messages, if there are any."""

    low: int | None = None
    high: int | None = None

    def add(self, positions: list[int]) -> None:
        """Let positions, which are in order, be in it."""
        if positions:
            self.low = positions[0] if self.low is None else min(self.low, positions[0])
            self.high = max(self.high or 0, positions[-1])


class Mark(NamedTuple):
    """Partitions with all of these values have open work between two positions."""

    pairs: list[str]
    low: int
    high: int


def mark_full(group_id: int, found: list[Found], last: int) -> list[int]:
    """Offsets of partitions that were named in full; the ids of those that are new."""
    if not found:
        return []
    if db.is_sqlite():
        return _mark_full_on_sqlite(group_id, found, last)
    rows = db.rows(
        "mark_partitions",
        group=group_id,
        last=last,
        ids=[partition.id for partition, _, _ in found],
        keys=[partition.key for partition, _, _ in found],
        pairs=["{" + ",".join(pairs) + "}" for _, pairs, _ in found],
        lows=[span.low for _, _, span in found],
        highs=[span.high for _, _, span in found],
    )
    return [id for (id,) in rows]


def _mark_full_on_sqlite(group_id: int, found: list[Found], last: int) -> list[int]:
    [(before,)] = db.rows("last_offset")
    marks = [
        (
            group_id,
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
    added = db.rows("new_offsets", group=group_id, after=before)
    named = [(group_id, bytes.fromhex(pair), id) for id, pairs in added for pair in from_json(pairs)]
    db.in_one_trip(("insert_offset_key_pair", named))
    return [id for id, _ in added]


def mark_what_came_before(added: list[int], names: list[str], types: list[str], upto: int) -> list[int]:
    """A new partition has open work from messages that concern it and came before it; their lowest positions."""
    needs = partial_shapes(names, types) if added else []
    if not needs:
        return []
    if db.is_sqlite():
        parameters: dict[str, Any] = {"ids": to_json(added).decode(), "needs": to_json(needs).decode()}
    else:
        parameters = {"ids": added, "shapes": [need[0] for need in needs], "numbers": [need[1] for need in needs]}
    ranges = db.rows("partial_ranges", **parameters, upto=upto)
    _mark(ranges)
    return [low for _, low, _ in ranges]


def partial_shapes(names: list[str], types: list[str]) -> list[tuple[int, int]]:
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


def mark_partial(group_id: int, marks: list[Mark], number: int, after: int) -> Place | None:
    """Mark every partition that has all the values of a message that names it in part, up to some thousand of them.

    None when all are marked, or else the place to go on from.
    """
    woken: dict[int, tuple[int, int]] = {}
    find = _woken_on_sqlite if db.is_sqlite() else _woken
    while number < len(marks) and len(woken) < MOST_MARKED:
        found, (number, after) = find(group_id, marks, number, after)
        for id, low, high in found:
            known_low, known_high = woken.get(id, (low, high))
            woken[id] = (min(known_low, low), max(known_high, high))
    _mark((id, *woken[id]) for id in sorted(woken))
    return (number, after) if number < len(marks) else None


def _woken(group_id: int, marks: list[Mark], number: int, after: int) -> tuple[list[db.Row], Place]:
    """As many marks in one statement as do not wake too many; of one that does, a part in the order of ids."""
    size = len(marks) - number
    while True:
        chunk = marks[number : number + size]
        found = db.rows(
            "woken_offsets",
            group=group_id,
            most=MOST_MARKED,
            pairs=["{" + ",".join(mark.pairs) + "}" for mark in chunk],
            lows=[mark.low for mark in chunk],
            highs=[mark.high for mark in chunk],
            afters=[after] + [0] * (len(chunk) - 1),
        )
        if len(found) < MOST_MARKED:
            return found, (number + size, 0)
        if size == 1:
            return found, (number, max(id for id, _, _ in found))
        size = max(size // 8, 1)


def _woken_on_sqlite(group_id: int, marks: list[Mark], number: int, after: int) -> tuple[list[db.Row], Place]:
    pairs, low, high = marks[number]
    if len(pairs) > 1:
        pairs = [pair for pair, _ in db.rows("rank_by_partitions", group=group_id, pairs=to_json(pairs).decode())]
    others = to_json(pairs[1:]).decode()
    ids = db.rows("woken_offsets", group=group_id, pair=pairs[0], others=others, after=after, most=MOST_MARKED)
    found: list[db.Row] = [(id, low, high) for (id,) in ids]
    return found, (number + 1, 0) if len(found) < MOST_MARKED else (number, found[-1][0])


def _mark(marks: Iterable[db.Row]) -> None:
    """In the order of ids, as everybody who locks several offsets."""
    rows = sorted(marks)
    if not rows:
        return
    if db.is_sqlite():
        db.in_one_trip(("mark_offset", rows))
    else:
        ids, lows, highs = (list(column) for column in zip(*rows, strict=True))
        db.rows("mark_offsets", ids=ids, lows=lows, highs=highs)
