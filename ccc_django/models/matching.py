"""Matching: which messages are wanted, by conditions or by a filter, from one form of both.

A choice is met by a shape that can meet its parts. For conditions those are the parts that the shape carries, one at
least; for a filter all of them. PostgreSQL does it in one statement; on SQLite there is one for each shape and choice.
"""

from collections.abc import Iterable
from heapq import merge
from itertools import islice
from typing import Any
from uuid import UUID

from pydantic_core import from_json, to_json

from ccc_django import db
from ccc_django.messages import Message
from ccc_django.models import scanning
from ccc_django.models.lookups import needs
from ccc_django.models.stored_message import StoredMessage, message_of
from ccc_django.wanted import EVERYTHING, Wanted

Head = tuple[int, str, bool]
FEW, MANY = 64, 256  # entries that are counted to find the part with the fewest


def messages_and_head(
    wanted: Wanted, *, after: int, upto: int, limit: int | None, backwards: bool
) -> tuple[list[Message], Head]:
    """The head, and then, in a later statement, the messages that are wanted."""
    parameters = wanted.parameters(after=after, upto=upto, most=EVERYTHING if limit is None else limit)
    if db.is_sqlite():
        [head] = db.rows("head")
        positions = _positions(wanted, parameters, seen=(), backwards=backwards)
        return _stored(positions), head
    by = "read_conditions" if wanted.is_plain else "read_filter"
    name = f"{by}_backwards" if backwards else by
    [head], rows = db.in_one_trip(("head", {}), (name, parameters))
    found = [message_of(row) for row in rows]
    if more := [*_of_whole_types(parameters, (), backwards=backwards), *scanning.positions(wanted, after, upto)]:
        both = {message.position or 0: message for message in (*found, *_stored(more))}
        found = [both[position] for position in sorted(both, reverse=backwards)][:limit]
    return found, head


def conflicts(wanted: Wanted, *, after: int, seen: Iterable[int], most: int) -> list[tuple[int, str]]:
    """Position and type of what has come after a position and was not seen."""
    parameters = wanted.parameters(after=after, most=most)
    if db.is_sqlite():
        found = _stored(_positions(wanted, parameters, seen=seen, backwards=False))
        return [(message.envelope.position or 0, message.type) for message in found]
    rows = db.rows("conflicting_messages", **parameters, seen=list(seen))
    more = [*_of_whole_types(parameters, seen, backwards=False), *uncovered_conflicts(wanted, after=after, seen=seen)]
    return sorted({*rows, *((message.envelope.position or 0, message.type) for message in _stored(more))})[:most]


def uncovered_conflicts(wanted: Wanted, *, after: int, seen: Iterable[int]) -> list[int]:
    """Conflicts among old messages that an index does not cover yet; they are final, so that no lock is needed."""
    known = {*seen}
    return [position for position in scanning.positions(wanted, after, EVERYTHING) if position not in known]


def positions(wanted: Wanted, bounds: dict[str, int]) -> list[int]:
    """SQLite: where the messages are that belong to conditions, in the order of the log."""
    found = [_of_shape(bounds, parts, shape, (), backwards=False) for shape, parts in needs(wanted)]
    return list(islice(dict.fromkeys(merge(*found)), bounds["most"]))


def rows_at(positions: list[int]) -> list[tuple[Any, ...]]:
    """The rows of messages, in the order of the log."""
    if db.is_sqlite():
        return [converted(row) for row in db.rows("messages_at", positions=to_json(positions).decode())]
    return db.rows("messages_at", positions=positions)


def converted(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row as PostgreSQL gives it: SQLite keeps ids as text."""
    if isinstance(row[1], UUID):
        return row
    return (row[0], UUID(hex=row[1]), *row[2:7], UUID(hex=row[7]), UUID(hex=row[8]), *row[9:])


def _stored(positions: list[int]) -> list[Message]:
    found = {row[0]: message_of(row) for row in rows_at(positions)} if positions else {}
    return [found[position] for position in positions]


def _positions(wanted: Wanted, parameters: dict[str, Any], *, seen: Iterable[int], backwards: bool) -> list[int]:
    """SQLite: matches of every shape, merged in order."""
    found = [_of_shape(parameters, parts, shape, seen, backwards=backwards) for shape, parts in needs(wanted)]
    found.append(_of_whole_types(parameters, seen, backwards=backwards))
    if wanted.building:
        known = {*seen}
        scanned = scanning.positions(wanted, parameters["after"], parameters["upto"])
        found.append(sorted((each for each in scanned if each not in known), reverse=backwards))
    return list(islice(dict.fromkeys(merge(*found, reverse=backwards)), min(parameters["most"], EVERYTHING)))


def _of_shape(
    parameters: dict[str, Any], parts: list[str], shape: int, seen: Iterable[int], *, backwards: bool
) -> list[int]:
    """Driven by the attribute with the fewest entries, and confirmed by the others."""
    bounds = {"shape": shape, "after": parameters["after"], "upto": parameters["upto"]}
    if len(parts) > 1:
        parts = _ranked(parts, bounds)
    others, known, most = f"[{','.join(parts[1:])}]", to_json(list(seen)).decode(), parameters["most"]
    rest = {"others": others, "seen": known, "most": most, **bounds}
    values = from_json(parts[0])
    if len(values) == 1 and not backwards:  # in the order of the index: what lies behind the limit is not read
        rows = db.rows("positions_of_pair", pair=values[0], **rest)
    else:
        rows = db.rows("matching_positions_backwards" if backwards else "matching_positions", pairs=parts[0], **rest)
    return [row[0] for row in rows]


def _ranked(parts: list[str], bounds: dict[str, Any]) -> list[str]:
    """Parts by the number of their entries; where all have many, counted once more and further."""
    for limit in (FEW, MANY):
        rows = db.rows("rank_by_entries", needs=f"[{','.join(parts)}]", limit=limit, **bounds)
        if rows[0][1] < limit:
            break
    return [row[0] for row in rows]


def _of_whole_types(parameters: dict[str, Any], seen: Iterable[int], *, backwards: bool) -> list[int]:
    if not parameters["whole_types"] and not parameters["everything"]:
        return []
    known = {*seen}
    found = StoredMessage.objects.after(parameters["after"]).upto(parameters["upto"])
    if not parameters["everything"]:
        found = found.of_types(parameters["whole_types"])
    ordered = found.order_by("-position" if backwards else "position")
    most = min(parameters["most"], 2**62)
    positions = ordered.values_list("position", flat=True)[: most + len(known)]
    return [position for position in positions.iterator() if position not in known][:most]
