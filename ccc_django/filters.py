"""Filters: strict expressions over types, payload fields and tags. A message without the field does not match.

``where(type=SeatReserved, flight_id="FL001")`` asks for all of it; ``&`` and ``|`` compose. Filters are values: equal,
hashable, printed as the expression that makes them, and serialisable.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from pydantic_core import from_json

from ccc_django.attributes import TAG
from ccc_django.canonical import stored_form
from ccc_django.conditions import Condition
from ccc_django.payload_index import checked_path, value_text


class Filter:
    """Which messages are meant; the base of all filters."""

    __slots__ = ()

    def __and__(self, other: "Filter") -> "Filter":
        return all_of(self, other) if isinstance(other, Filter) else NotImplemented

    def __or__(self, other: "Filter") -> "Filter":
        return any_of(self, other) if isinstance(other, Filter) else NotImplemented

    def __invert__(self) -> NoReturn:
        raise TypeError(
            "A filter cannot be negated: what is absent has no entry in an index, and could only be found by reading "
            "the whole log. Name what you look for, or read more and leave out what you do not need."
        )

    def __bool__(self) -> NoReturn:
        raise TypeError("A filter is neither true nor false: combine filters by & and |, not by and, or, not.")


@dataclass(frozen=True, slots=True, repr=False)
class Everything(Filter):
    """Every message."""

    def __repr__(self) -> str:
        return "where()"


@dataclass(frozen=True, slots=True, repr=False)
class TypeIs(Filter):
    """Messages of a type."""

    type: str

    def __repr__(self) -> str:
        return f"where(type={self.type!r})"


@dataclass(frozen=True, slots=True, repr=False)
class FieldIs(Filter):
    """Messages with this value of a field, or this tag; as canonical text, in which 1, "1" and True differ."""

    name: str
    text: str

    @property
    def value(self) -> Any:
        """The value itself."""
        tag, _, text = self.text.partition(":")
        return text if tag == "s" else from_json(text)

    def __repr__(self) -> str:
        return _call({self.name: self.value})


@dataclass(frozen=True, slots=True, repr=False)
class Conditional(Filter):
    """Messages that belong to conditions, by conditional AND: only what a message carries must match."""

    conditions: tuple[Condition, ...]

    def __repr__(self) -> str:
        return f"where.conditions({list(self.conditions)!r})"


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Several(Filter):
    """Filters together; their order does not count."""

    parts: tuple[Filter, ...]

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Several) and {*self.parts} == {*other.parts}

    def __hash__(self) -> int:
        return hash((type(self), frozenset(self.parts)))


class AllOf(Several):
    """Messages that match every part."""

    __slots__ = ()

    def __repr__(self) -> str:
        together = [_arguments(part) for part in self.parts]
        names = [name for arguments in together for name in arguments or ()]
        if None not in together and len({*names}) == len(names):
            return _call({name: value for arguments in together for name, value in (arguments or {}).items()})
        return " & ".join(
            f"({part!r})" if isinstance(part, AnyOf) and " | " in repr(part) else repr(part) for part in self.parts
        )


class AnyOf(Several):
    """Messages that match one part at least."""

    __slots__ = ()

    def __repr__(self) -> str:
        arguments = _arguments(self)
        return _call(arguments) if arguments else " | ".join(map(repr, self.parts))


def all_of(*parts: Filter) -> Filter:
    """All of these, flat and each once."""
    kept = [part for part in _flat(AllOf, parts) if not isinstance(part, Everything)]
    if len(kept) > 1 and any(map(_is_conditional, kept)):
        raise TypeError("Conditions can be combined by | only: by & with a filter they would no longer be conditional.")
    return Everything() if not kept else kept[0] if len(kept) == 1 else AllOf(tuple(kept))


def _is_conditional(part: Filter) -> bool:
    return isinstance(part, Conditional) or (isinstance(part, Several) and any(map(_is_conditional, part.parts)))


def any_of(*parts: Filter) -> Filter:
    """Any of these, flat and each once."""
    kept = _flat(AnyOf, parts)
    if not kept:
        raise ValueError("An empty list matches nothing: a filter needs at least one value.")
    if any(isinstance(part, Everything) for part in kept):
        return Everything()
    return kept[0] if len(kept) == 1 else AnyOf(tuple(kept))


def _flat(kind: type[Several], parts: Iterable[Filter]) -> list[Filter]:
    flat = [inner for part in parts for inner in (part.parts if isinstance(part, kind) else (part,))]
    return list(dict.fromkeys(flat))


def leaf(name: str, value: Any) -> FieldIs:
    """A field with a value; only single values can be looked for."""
    stored = stored_form(value)
    if name == "type":
        raise ValueError("No payload has a field called type: where(type=…) names message types.")
    if isinstance(stored, dict | list):
        raise TypeError(f"{name}: an object has no entry in an index; name a field inside of it, as in {name}.city")
    if name == TAG and not isinstance(stored, str):
        raise TypeError(f"A tag is text, not {value!r}.")
    return FieldIs(name, value_text(stored))


def _arguments(part: Filter) -> dict[str, Any] | None:
    """A part as arguments of where(), if it can be said so."""
    parts = part.parts if isinstance(part, AnyOf) else (part,)
    if all(isinstance(each, TypeIs) for each in parts):
        names: list[Any] = [each.type for each in parts if isinstance(each, TypeIs)]
        return {"type": names if len(names) > 1 else names[0]}
    leaves = [each for each in parts if isinstance(each, FieldIs)]
    if len(leaves) == len(parts) and len({each.name for each in leaves}) == 1:
        values = [each.value for each in leaves]
        return {leaves[0].name: values if len(values) > 1 else values[0]}
    return None


def _call(arguments: Mapping[str, Any]) -> str:
    """A call of where() with these arguments; names that are none of Python's go into a mapping."""
    words, odd = [], {}
    for name, value in arguments.items():
        word = "tag" if name == TAG else name.replace(".", "__")
        if word.isidentifier() and (
            name in {TAG, "type"} or ("__" not in name and word not in {"tag", "tags", "type"})
        ):
            words.append(f"{word}={value!r}")
        else:
            odd[name] = value
    return f"where({', '.join([*([repr(odd)] if odd else []), *words])})"


def to_json(filter: Filter) -> dict[str, Any]:
    """A filter as JSON, for the API and for the record."""
    match filter:
        case TypeIs(type):
            return {"type": type}
        case FieldIs(name):
            return {"tag": filter.value} if name == TAG else {"field": name, "value": filter.value}
        case Conditional(conditions):
            return {"conditions": [[each.type, each.name, stored_form(each.value)] for each in conditions]}
        case Several(parts):
            return {"all" if isinstance(filter, AllOf) else "any": [to_json(part) for part in parts]}
    return {"everything": True}


def read_json(json: Any) -> Filter:
    """The filter that JSON stands for, or a ValueError that says what is wrong with it."""
    match json:
        case {"everything": True, **rest} if not rest:
            return Everything()
        case {"type": str(name), **rest} if not rest:
            return TypeIs(name)
        case {"tag": str(name), **rest} if not rest:
            return leaf(TAG, name)
        case {"field": str(name), "value": None | str() | bool() | int() | float() as value, **rest} if not rest:
            return leaf(checked_path(name), value)
        case {"conditions": [*rows], **rest} if not rest and all(_is_condition(row) for row in rows):
            return Conditional(tuple(dict.fromkeys(Condition(*row) for row in rows)))
        case {"all": list(parts), **rest} if not rest:
            return all_of(*map(read_json, parts))
        case {"any": list(parts), **rest} if not rest:
            return any_of(*map(read_json, parts))
    raise ValueError(f"Not a filter: {json!r}. Use type, tag, field and value, conditions, all, any or everything.")


def _is_condition(row: Any) -> bool:
    match row:
        case [str(), str(), None | str() | bool() | int() | float()]:
            return True
    return False
