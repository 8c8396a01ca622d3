"""Matching: which messages are wanted, by conditions or by a filter, from one form of both.

A choice is met by a shape that can meet its parts. For conditions those are the parts that the shape carries, one at
least; for a filter all of them. PostgreSQL does it in one statement; on SQLite there is one for each shape and choice.
"""

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import Any

from pydantic_core import from_json, to_json

from ccc_django import db
from ccc_django.messages import Message
from ccc_django.models import scanning
from ccc_django.models.stored_message import StoredMessage, message_of
from ccc_django.wanted import ANY_TYPE, EVERYTHING, Wanted

Head = tuple[int, str, bool]
CHUNK = 500
FEW, MANY = 64, 8_192  # entries that are counted to find the part with the fewest


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


def _stored(positions: list[int]) -> list[Message]:
    found: dict[int | None, Message] = {}
    for start in range(0, len(positions), CHUNK):
        rows = StoredMessage.objects.filter(position__in=positions[start : start + CHUNK])
        found |= {message.position: message for message in rows.messages()}
    return [found[position] for position in positions]


def _positions(wanted: Wanted, parameters: dict[str, Any], *, seen: Iterable[int], backwards: bool) -> list[int]:
    """SQLite: matches of every shape, merged in order."""
    found = [_of_shape(parameters, needs, shape, seen, backwards=backwards) for shape, needs in _needs(wanted)]
    found.append(_of_whole_types(parameters, seen, backwards=backwards))
    if wanted.building:
        known = {*seen}
        scanned = scanning.positions(wanted, parameters["after"], parameters["upto"])
        found.append(sorted((each for each in scanned if each not in known), reverse=backwards))
    return list(islice(dict.fromkeys(merge(*found, reverse=backwards)), min(parameters["most"], EVERYTHING)))


def _needs(wanted: Wanted) -> Iterator[tuple[int, list[str]]]:
    """For each shape that can meet a choice: its parts, each as JSON of the values that meet it."""
    if not wanted.rows:
        return
    types = {row.type for row in wanted.rows}
    known = db.rows("known_shapes", types=to_json(sorted(types)).decode(), every=ANY_TYPE in types)
    for shape, message_type, names in known:
        carried = {*from_json(names)}
        choices: dict[int, dict[int, list[str]]] = {}
        for choice, type, part, name, pair, _, anywhere in wanted.rows:
            if type in {message_type, ANY_TYPE} and (anywhere or name in carried):
                choices.setdefault(choice, {}).setdefault(part, []).append(pair)
        needed = {row.choice: row.needed for row in wanted.rows}
        for choice, parts in choices.items():
            if len(parts) >= needed[choice]:
                yield shape, [to_json(pairs).decode() for pairs in parts.values()]


def _of_shape(
    parameters: dict[str, Any], needs: list[str], shape: int, seen: Iterable[int], *, backwards: bool
) -> list[int]:
    """Driven by the attribute with the fewest entries, and confirmed by the others."""
    bounds = {"shape": shape, "after": parameters["after"], "upto": parameters["upto"]}
    if len(needs) > 1:
        needs = _ranked(needs, bounds)
    others = f"[{','.join(needs[1:])}]"
    name = "matching_positions_backwards" if backwards else "matching_positions"
    known, most = to_json(list(seen)).decode(), parameters["most"]
    return [row[0] for row in db.rows(name, pairs=needs[0], others=others, seen=known, most=most, **bounds)]


def _ranked(needs: list[str], bounds: dict[str, Any]) -> list[str]:
    """Parts by the number of their entries; where all have many, counted once more and further."""
    for limit in (FEW, MANY):
        rows = db.rows("rank_by_entries", needs=f"[{','.join(needs)}]", limit=limit, **bounds)
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
