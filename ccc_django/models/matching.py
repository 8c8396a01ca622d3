"""Matching: which messages belong to conditions, by the one rule of conditional AND.

A message belongs when, for every attribute in the conditions of its type that it carries, one of its values is wanted,
and it carries at least one. Its shape says which it carries. PostgreSQL does all of it in one statement; on SQLite
there is one statement for each shape.
"""

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import Any

from pydantic_core import from_json, to_json

from ccc_django import db
from ccc_django.guards import EVERYTHING, Wanted
from ccc_django.messages import Message
from ccc_django.models.stored_message import StoredMessage, message_of

Head = tuple[int, str, bool]
CHUNK = 500


def messages_and_head(
    wanted: Wanted, *, after: int, upto: int, limit: int | None, backwards: bool
) -> tuple[list[Message], Head]:
    """The head, and then, in a later statement, the messages that belong."""
    parameters = wanted.parameters(after=after, upto=upto, most=EVERYTHING if limit is None else limit)
    if db.is_sqlite():
        [head] = db.rows("head")
        return _stored(_positions(parameters, seen=(), backwards=backwards)), head
    name = "read_conditions_backwards" if backwards else "read_conditions"
    [head], rows = db.in_one_trip(("head", {}), (name, parameters))
    found = [message_of(row) for row in rows]
    if wanted.whole_types:
        of_types = _stored(_of_whole_types(parameters, (), backwards=backwards))
        both = {message.position or 0: message for message in (*found, *of_types)}
        found = [both[position] for position in sorted(both, reverse=backwards)][:limit]
    return found, head


def conflicts(wanted: Wanted, *, after: int, seen: Iterable[int], most: int) -> list[tuple[int, str]]:
    """Position and type of what has come after a position and was not seen."""
    parameters = wanted.parameters(after=after, most=most)
    if db.is_sqlite():
        found = _stored(_positions(parameters, seen=seen, backwards=False))
        return [(message.envelope.position or 0, message.type) for message in found]
    rows = db.rows("conflicting_messages", **parameters, seen=list(seen))
    of_types = _stored(_of_whole_types(parameters, seen, backwards=False))
    return sorted({*rows, *((message.envelope.position or 0, message.type) for message in of_types)})[:most]


def _stored(positions: list[int]) -> list[Message]:
    found: dict[int | None, Message] = {}
    for start in range(0, len(positions), CHUNK):
        rows = StoredMessage.objects.filter(position__in=positions[start : start + CHUNK])
        found |= {message.position: message for message in rows.messages()}
    return [found[position] for position in positions]


def _positions(parameters: dict[str, Any], *, seen: Iterable[int], backwards: bool) -> list[int]:
    """SQLite: matches of every shape, merged in order."""
    found = [_of_shape(parameters, needs, shape, seen, backwards=backwards) for shape, needs in _needs(parameters)]
    found.append(_of_whole_types(parameters, seen, backwards=backwards))
    most = min(parameters["most"], EVERYTHING)
    return list(islice(dict.fromkeys(merge(*found, reverse=backwards)), most))


def _needs(parameters: dict[str, Any]) -> Iterator[tuple[int, list[str]]]:
    """For each shape: the values that match, as JSON, for each attribute that it carries and that matters."""
    wanted: dict[str, dict[str, list[str]]] = {}
    for message_type, name, pair in zip(parameters["types"], parameters["names"], parameters["pairs"], strict=True):
        wanted.setdefault(message_type, {}).setdefault(name, []).append(pair)
    for shape, message_type, names in db.rows("known_shapes", types=to_json(list(wanted)).decode()):
        needs = [wanted[message_type][name] for name in from_json(names) if name in wanted[message_type]]
        if needs:
            yield shape, [to_json(pairs).decode() for pairs in needs]


def _of_shape(
    parameters: dict[str, Any], needs: list[str], shape: int, seen: Iterable[int], *, backwards: bool
) -> list[int]:
    """Driven by the attribute with the fewest entries, and confirmed by the others."""
    bounds = {"shape": shape, "after": parameters["after"], "upto": parameters["upto"]}
    if len(needs) > 1:
        needs = [row[0] for row in db.rows("rank_by_entries", needs=f"[{','.join(needs)}]", **bounds)]
    others = f"[{','.join(needs[1:])}]"
    name = "matching_positions_backwards" if backwards else "matching_positions"
    known, most = to_json(list(seen)).decode(), parameters["most"]
    return [row[0] for row in db.rows(name, pairs=needs[0], others=others, seen=known, most=most, **bounds)]


def _of_whole_types(parameters: dict[str, Any], seen: Iterable[int], *, backwards: bool) -> list[int]:
    if not parameters["whole_types"]:
        return []
    found = (
        StoredMessage.objects.of_types(parameters["whole_types"]).after(parameters["after"]).upto(parameters["upto"])
    )
    ordered = found.exclude(position__in=list(seen)).order_by("-position" if backwards else "position")
    return list(ordered.values_list("position", flat=True)[: min(parameters["most"], 2**62)])
