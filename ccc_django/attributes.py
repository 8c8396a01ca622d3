"""Attributes: which parts of a payload become key pairs, and under which names."""

import dataclasses
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NamedTuple, NewType, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ccc_django.canonical import canonical_text, hex_digest, stored_form

TAG = "$tag"  # no payload attribute can be called this
MAX_ELEMENTS = 100
SCALARS = (str, int, float)
UNIONS = (typing.Union, types.UnionType)


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """Marks a field to be indexed, each element if it is a list, if need be under another name."""

    name: str | None = None
    maximum: int = MAX_ELEMENTS

    def __post_init__(self) -> None:
        if self.name is not None and (not stored_form(self.name) or self.name.startswith("$")):
            raise ValueError(f"{self.name!r} cannot be the name of a key pair: empty names and $names are reserved")


class Unindexed:
    """Marks a field that has no key pairs."""


class Sensitive(Unindexed):
    """Marks a field whose value never shows in the index or in a printed message."""


class KeyPair(NamedTuple):
    """A name and a canonical value by which a message is found."""

    name: str
    value: str

    @property
    def id(self) -> UUID:
        """The digest of name and value, the same for everyone who computes it."""
        return UUID(hex=self.hex)

    @property
    def hex(self) -> str:
        """The id as hexadecimal text."""
        return hex_digest(*self)


class IndexedField(NamedTuple):
    """A field that gives key pairs, under this name; the most elements it may have if it is a list."""

    field: str
    name: str
    maximum: int | None


def key_pairs(payload: Mapping[str, Any], fields: Iterable[IndexedField], tags: Iterable[str]) -> tuple[KeyPair, ...]:
    """The key pairs of a stored payload and its tags, each once."""
    pairs: list[KeyPair] = []
    for field, name, maximum in fields:
        stored = payload.get(field)
        if isinstance(stored, SCALARS):
            pairs.append(KeyPair(name, canonical_text(stored)))
        elif maximum is not None and isinstance(stored, list):
            pairs += [KeyPair(name, canonical_text(each)) for each in stored if isinstance(each, SCALARS)]
    pairs += [KeyPair(TAG, canonical_text(tag)) for tag in tags]
    return tuple(dict.fromkeys(pairs))


def indexed_fields(fields: Mapping[str, FieldInfo]) -> tuple[IndexedField, ...]:
    """The fields of a message class that give key pairs: declared scalars, and what is marked Indexed."""
    return tuple(rule for name, field in fields.items() if (rule := _rule(name, field)))


def _rule(name: str, field: FieldInfo) -> IndexedField | None:
    said = marks(field)
    if any(_is_marker(mark, Unindexed) for mark in said):
        return None
    for mark in said:
        if _is_marker(mark, Indexed):
            marker = Indexed() if mark is Indexed else mark
            return IndexedField(name, marker.name or name, marker.maximum)
    return IndexedField(name, name, None) if is_scalar(field.annotation) else None


def is_sensitive(field: FieldInfo) -> bool:
    """Whether a field's value must not be shown."""
    return any(_is_marker(mark, Sensitive) for mark in marks(field))


def is_sensitive_path(fields: Mapping[str, FieldInfo], path: list[str]) -> bool:
    """Whether a field, or one inside of it on the way, must not be shown."""
    field = fields.get(path[0])
    if field is None:
        return False
    return is_sensitive(field) or any(
        len(path) > 1 and is_sensitive_path(model.model_fields, path[1:]) for model in _models(field.annotation)
    )


@cache
def sensitive_names(model: type[BaseModel]) -> frozenset[str]:
    """Names of fields that must not be shown, of a model and of everything that its fields may hold, at any depth."""
    return frozenset(_sensitive_names(model, set()))


def _sensitive_names(annotation: Any, seen: set[Any]) -> Iterator[str]:
    annotation, _ = unwrapped(annotation)
    if isinstance(annotation, type) and annotation not in seen:
        seen.add(annotation)
        for name, inner, said in _fields(annotation):
            if any(_is_marker(mark, Sensitive) for mark in said):
                yield name
            yield from _sensitive_names(inner, seen)
    for part in get_args(annotation):
        yield from _sensitive_names(part, seen)


def _fields(kind: type) -> Iterator[tuple[str, Any, list[Any]]]:
    """The fields of a model, a dataclass or a typed dictionary, with everything that Annotated says about them."""
    if issubclass(kind, BaseModel):
        yield from ((name, field.annotation, marks(field)) for name, field in kind.model_fields.items())
    elif dataclasses.is_dataclass(kind) or hasattr(kind, "__total__"):  # as typed dictionaries have
        hints = typing.get_type_hints(kind, include_extras=True)
        yield from ((name, hint, list(_nested_marks(hint))) for name, hint in hints.items())


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    annotation, _ = unwrapped(annotation)
    if isinstance(annotation, type) and not get_args(annotation) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models(part)


def marks(field: FieldInfo) -> list[Any]:
    """Everything that Annotated says about a field, also inside of Optional, aliases and lists."""
    return [*field.metadata, *_nested_marks(field.annotation)]


def _nested_marks(annotation: Any) -> Iterator[Any]:
    annotation, said = unwrapped(annotation)
    yield from said
    for part in get_args(annotation):
        yield from _nested_marks(part)


def unwrapped(annotation: Any) -> tuple[Any, list[Any]]:
    """A type without NewType, type aliases and Annotated, and what the latter said."""
    said: list[Any] = []
    while True:
        if isinstance(annotation, NewType):
            annotation = annotation.__supertype__
        elif get_origin(annotation) is typing.Annotated:
            said += annotation.__metadata__
            annotation = annotation.__origin__
        elif hasattr(annotation, "__value__"):  # a "type X = …" statement
            annotation = annotation.__value__
        elif hasattr(get_origin(annotation), "__value__"):  # … with parameters
            alias = get_origin(annotation)
            annotation = alias.__value__[get_args(annotation)]
        else:
            return annotation, said


def _is_marker(mark: Any, marker: type) -> bool:
    return isinstance(mark, marker) or (isinstance(mark, type) and issubclass(mark, marker))


def is_scalar(annotation: Any) -> bool:
    """Whether a field of this type may hold a single value: text, number, truth, date, id or choice."""
    annotation, _ = unwrapped(annotation)
    origin = get_origin(annotation)
    if origin in UNIONS:
        return any(is_scalar(part) for part in get_args(annotation))
    if origin is not None:
        return origin is Literal
    return isinstance(annotation, type) and not _holds_several(annotation)


def holds_objects(annotation: Any) -> bool:
    """Whether a field of this type holds nothing but objects: mappings, models, or lists of them."""
    annotation, _ = unwrapped(annotation)
    parts = [part for part in get_args(annotation) if part is not types.NoneType]
    kind = get_origin(annotation) or annotation
    if kind in UNIONS:
        return all(map(holds_objects, parts))
    if not isinstance(kind, type):
        return False
    if issubclass(kind, Sequence | AbstractSet) and not issubclass(kind, str):
        return bool(parts) and all(holds_objects(part) for part in parts if part is not Ellipsis)
    return dataclasses.is_dataclass(kind) or issubclass(kind, BaseModel | Mapping)


def element_of(annotation: Any) -> Any:
    """The type of a single value: of a list's elements, or the type itself if it is a scalar."""
    annotation, _ = unwrapped(annotation)
    parts = get_args(annotation) if get_origin(annotation) in UNIONS else (annotation,)
    elements = [part for part in parts if is_scalar(part)]
    elements += [inner for part in parts if not is_scalar(part) for inner in get_args(part) if is_scalar(inner)]
    return typing.Union[tuple(elements)] if elements else Any  # noqa: UP007 - made at run time


def _holds_several(annotation: type) -> bool:
    if annotation in (types.NoneType, object, Any):
        return True
    if dataclasses.is_dataclass(annotation) or issubclass(annotation, BaseModel | Mapping | AbstractSet | bytes):
        return True
    return issubclass(annotation, Sequence) and not issubclass(annotation, str)
