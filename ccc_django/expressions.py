"""Expressions: where() makes filters of what a caller names."""

from collections.abc import Iterable, Mapping
from typing import Any

from ccc_django.attributes import TAG
from ccc_django.canonical import stored_form
from ccc_django.conditions import Condition, strictly
from ccc_django.filters import Conditional, FieldIs, Filter, TypeIs, all_of, any_of, leaf
from ccc_django.messages import Message
from ccc_django.payload_index import checked_path, value_text

Types = type[Message] | str | Iterable[type[Message] | str]


class Where:
    """Makes filters: ``where(type=…, field=…, tag=…)``; a list means any of its values."""

    def __call__(self, fields: Mapping[str, Any] | None = None, /, *, type: Types = (), **named: Any) -> Filter:
        """All of what is named. ``address__city`` is the field ``address.city``; a mapping takes names as they are."""
        types = _several(type)
        parts = [any_of(*map(TypeIs, type_names(types)))] if type != () else []
        parts += [any_of(*leaves) for leaves in self._leaves(fields, named, types)]
        return all_of(*parts)

    def any_of(self, fields: Mapping[str, Any] | None = None, /, *, type: Types = (), **named: Any) -> Filter:
        """Any of the named values: ``where.any_of(tags=["vip", "new"])``."""
        leaves = [leaf for leaves in self._leaves(fields, named) for leaf in leaves]
        return any_of(*map(TypeIs, type_names(type)), *leaves)

    def all_of(self, fields: Mapping[str, Any] | None = None, /, **named: Any) -> Filter:
        """All of the named values, for fields that hold lists: ``where.all_of(tags=["vip", "new"])``."""
        return all_of(*(leaf for leaves in self._leaves(fields, named) for leaf in leaves))

    def conditions(self, conditions: Iterable[Condition]) -> Filter:
        """A list of conditions as a filter, to be combined by |."""
        listed = tuple(dict.fromkeys(conditions))
        if not listed:
            raise ValueError("An empty list matches nothing: a filter needs at least one condition.")
        return Conditional(listed)

    def _leaves(
        self, fields: Mapping[str, Any] | None, named: Mapping[str, Any], types: Iterable[type[Message] | str] = ()
    ) -> list[list[FieldIs]]:
        given = [(checked_path(name), value) for name, value in (fields or {}).items()]
        given += [
            (TAG if name in {"tag", "tags"} else checked_path(name.replace("__", ".")), value)
            for name, value in named.items()
        ]
        classes = [each for each in types if not isinstance(each, str)]
        return [
            [leaf(name, as_declared(classes, name, each)) for each in _values(name, value)] for name, value in given
        ]


where = Where()


def type_names(types: Types) -> list[str]:
    """Message types by name, from classes or names."""
    return [each if isinstance(each, str) else each.type for each in _several(types)]


def _several(types: Types) -> list[type[Message] | str]:
    return [types] if isinstance(types, str | type) else list(types)


def as_declared(classes: Iterable[type[Message]], name: str, value: Any) -> Any:
    """The value as these classes would carry it, if they agree: 10 is 10.0 among floats, and "10" stays text."""
    carried = [strictly(each, rule, value) for each in classes for rule in each.indexed_fields() if rule.name == name]
    same = {value_text(stored_form(each)) for each in carried if each is not None}
    return carried[0] if len(same) == 1 and None not in carried else value


def _values(name: str, value: Any) -> list[Any]:
    several = list(value) if isinstance(value, list | tuple | set | frozenset) else [value]
    if not several:
        raise ValueError(f"{name}: an empty list matches nothing: a filter needs at least one value.")
    return several
