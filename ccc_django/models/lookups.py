"""Lookups: our statements' own text inside of querysets, so that these can be chained like any other."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from django.db.models import Q
from django.db.models.expressions import RawSQL
from pydantic_core import from_json, to_json

from ccc_django import db
from ccc_django.sql import statement
from ccc_django.wanted import ANY_TYPE, EVERYTHING, Row, Wanted

Partition = tuple[list[str], list[str], list[str]]  # handled types, names of attributes, digests of their values


def raw(name: str, /, **parameters: Any) -> RawSQL:
    """A statement as Django takes it, with a place for every use of a parameter."""
    text = re.sub(r"\s*--.*", "", statement(name, db.connection().vendor))
    used = re.findall(r"%\((\w+)\)s", text)
    return RawSQL(re.sub(r"%\(\w+\)s", "%s", text), [parameters[each] for each in used])  # noqa: S611 - constant text


def of_partition(partition: Partition, *, after: int, upto: int, most: int) -> Q:
    """Where the messages of a partition are, by conditional AND."""
    types, names, pairs = partition
    bounds = {"after": after, "upto": upto, "most": most}
    if not names:
        return Q(message_type__in=types, position__gt=after, position__lte=upto)
    if db.is_sqlite():
        return _of_shapes(belonging(types, names, pairs), seen=(), **bounds)
    return Q(pk__in=raw("partition_positions", types=types, names=names, pairs=pairs, **bounds))


def conflicting(wanted: Wanted, *, after: int, seen: Iterable[int]) -> Q:
    """What has come after a position and was not seen."""
    known = list(seen)
    of_types = Q() if wanted.everything else Q(message_type__in=wanted.whole_types)
    whole = Q(of_types, position__gt=after) & ~Q(position__in=known)
    if not wanted.rows:
        return whole
    bounds = {"after": after, "upto": EVERYTHING, "most": 2**31 - 1}
    if db.is_sqlite():
        found = _of_shapes(wanted, seen=known, **bounds)
    else:
        parameters = wanted.parameters(after=after, most=bounds["most"])
        found = Q(pk__in=raw("conflict_positions", **parameters, seen=known))
    return found | whole if wanted.whole_types or wanted.everything else found


def belonging(types: Iterable[str], names: Iterable[str], pairs: Iterable[str]) -> Wanted:
    """What belongs to a partition: for each handled type, those of the values that a message carries."""
    values = list(zip(names, pairs, strict=True))
    rows = [
        Row(choice, message_type, part, name, pair, 1, anywhere=False)
        for choice, message_type in enumerate(types)
        for part, (name, pair) in enumerate(values)
    ]
    return Wanted(rows=rows)


def needs(wanted: Wanted) -> Iterator[tuple[int, list[str]]]:
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


def _of_shapes(wanted: Wanted, *, seen: Iterable[int], after: int, upto: int, most: int) -> Q:
    """SQLite: one statement for each shape."""
    bounds = {"after": after, "upto": upto, "most": most, "seen": to_json(list(seen)).decode()}
    found = Q(pk__in=[])
    for shape, (first, *others) in needs(wanted):
        parameters = {"shape": shape, "pairs": first, "others": f"[{','.join(others)}]", **bounds}
        found |= Q(pk__in=raw("matching_positions", **parameters))
    return found
