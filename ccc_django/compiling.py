"""Compiling: a filter becomes alternatives of index ranges; digests are computed here, before any lock."""

from collections.abc import Iterable, Mapping
from itertools import product
from typing import NamedTuple

from ccc_django import registry
from ccc_django.attributes import TAG, KeyPair
from ccc_django.errors import FilterTooWide, NotIndexed
from ccc_django.filters import AllOf, AnyOf, Conditional, Everything, FieldIs, Filter, TypeIs
from ccc_django.messages import Message
from ccc_django.payload_index import NULL, PayloadIndex
from ccc_django.wanted import ANY_TYPE, Row, Wanted

MOST = 1_000  # alternatives, and values of a combination


class Alternative(NamedTuple):
    """Messages of one of these types, or of any, that meet every part: one of its leaves."""

    types: frozenset[str] | None = None
    parts: frozenset[frozenset[FieldIs]] = frozenset()


def compiled(filter: Filter, indexes: Iterable[PayloadIndex]) -> Wanted:
    """What a filter looks for, by the indexes that are declared; a field without an index is an error."""
    wanted, known = Wanted(), {index.name: index for index in indexes}
    leaves = filter.parts if isinstance(filter, AnyOf) else (filter,)
    for leaf in leaves:
        if isinstance(leaf, Conditional):
            wanted.add(Wanted.by(leaf.conditions))
    strict = [leaf for leaf in leaves if not isinstance(leaf, Conditional)]
    for alternative in alternatives(AnyOf(tuple(strict))):
        wanted.add(_strict(alternative, known))
    return wanted


def alternatives(filter: Filter) -> list[Alternative]:
    """The OR of ANDs that a filter is, with ORs of fields kept together."""
    match filter:
        case TypeIs(type):
            return [Alternative(types=frozenset({type}))]
        case FieldIs():
            return [Alternative(parts=frozenset({frozenset({filter})}))]
        case AnyOf(parts):
            return _merged([each for part in parts for each in alternatives(part)])
        case AllOf(parts):
            return _crossed([alternatives(part) for part in parts])
        case Everything():
            return [Alternative()]
    raise TypeError(f"{filter!r} is not a filter that can be compiled here")


def _merged(found: list[Alternative]) -> list[Alternative]:
    """Fields of any type become one part, types with the same parts one alternative."""
    loose = [each for each in found if each.types is None and len(each.parts) == 1]
    together = frozenset(leaf for each in loose for part in each.parts for leaf in part)
    by_parts: dict[frozenset[frozenset[FieldIs]], frozenset[str]] = {}
    rest = [each for each in found if each not in loose]
    for each in rest:
        if each.types is not None:
            by_parts[each.parts] = by_parts.get(each.parts, frozenset()) | each.types
    typed = [Alternative(types, parts) for parts, types in by_parts.items()]
    untyped = [each for each in dict.fromkeys(rest) if each.types is None]
    return [*([Alternative(parts=frozenset({together}))] if together else []), *typed, *untyped]


def _crossed(found: list[list[Alternative]]) -> list[Alternative]:
    crossed = [Alternative()]
    for several in found:
        if len(crossed) * len(several) > MOST:
            raise FilterTooWide(f"This filter has more than {MOST:,} alternatives: ask for less at once.")
        both = [_both(one, other) for one, other in product(crossed, several)]
        crossed = [each for each in dict.fromkeys(both) if each.types is None or each.types]
    return crossed


def _both(one: Alternative, other: Alternative) -> Alternative:
    types = other.types if one.types is None else one.types if other.types is None else one.types & other.types
    return Alternative(types, one.parts | other.parts)


def _strict(alternative: Alternative, indexes: Mapping[str, PayloadIndex]) -> Wanted:
    if not alternative.parts:
        types = alternative.types
        return Wanted(everything=True) if types is None else Wanted(whole_types=sorted(types))
    parts = _parts(alternative, indexes)
    rows = [
        Row(choice, type, number, pair.name, pair.hex, len(parts), pair.name in indexes)
        for choice, type in enumerate(sorted(alternative.types or {ANY_TYPE}))
        for number, part in enumerate(parts)
        for pair in part
    ]
    return Wanted(rows=rows, locked_pairs=[pair.hex for pair in min(parts, key=len)])


def _parts(alternative: Alternative, indexes: Mapping[str, PayloadIndex]) -> list[list[KeyPair]]:
    """The pairs that meet each part: of combinations where there are any, else of single fields."""
    parts = {next(iter(names)): part for part in alternative.parts if len(names := {leaf.name for leaf in part}) == 1}
    rest = [part for part in alternative.parts if part not in parts.values()]
    found: list[list[KeyPair]] = []
    while index := _widest(parts, indexes):
        values = [[leaf.text for leaf in parts.pop(field)] for field in index.fields]
        found.append([index.pair(texts) for texts in product(*values)])
    for part in [*parts.values(), *rest]:
        for leaf in part:
            refuse_unindexed(leaf, alternative.types, indexes)
        found.append([KeyPair(leaf.name, leaf.text) for leaf in part])
    return found


def _widest(parts: Mapping[str, frozenset[FieldIs]], indexes: Mapping[str, PayloadIndex]) -> PayloadIndex | None:
    """The declared combination that covers the most of these fields."""
    usable = [index for index in indexes.values() if len(index.fields) > 1 and _covers(index, parts)]
    return max(usable, key=lambda index: len(index.fields), default=None)


def _covers(index: PayloadIndex, parts: Mapping[str, frozenset[FieldIs]]) -> bool:
    count = 1
    for field in index.fields:
        leaves = parts.get(field, frozenset())
        count *= len(leaves)
        if not index.nulls and any(leaf.text == NULL for leaf in leaves):
            return False
    return 0 < count <= MOST


def refuse_unindexed(leaf: FieldIs, types: frozenset[str] | None, indexes: Mapping[str, PayloadIndex]) -> None:
    """A field without an index is an error that shows what to declare, never a scan and never a miss."""
    index = indexes.get(leaf.name)
    if leaf.name == TAG or (index and (index.nulls or leaf.text != NULL)):
        return
    if leaf.text == NULL or not _is_attribute(leaf.name, types):
        raise NotIndexed(leaf.name, sorted(types or ()), nulls=leaf.text == NULL)


def _is_attribute(name: str, types: frozenset[str] | None) -> bool:
    """Whether every class that has such a field indexes it by itself, and one has it."""
    named = [registry.message_class(type) for type in types] if types else registry.message_classes()
    if None in named:
        return False
    classes = [each for each in named if each and each.model_rebuild(raise_errors=False) is not False]
    indexed = [each for each in classes if any(rule.name == name for rule in each.indexed_fields())]
    return bool(indexed) and all(each in indexed or not _has_field(each, name) for each in classes)


def _has_field(message_class: type[Message], name: str) -> bool:
    return name.partition(".")[0] in message_class.model_fields
