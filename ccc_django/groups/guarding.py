"""Guards of claims: over all handled types, by the attributes that each of them declares, also types not seen yet."""

from contextlib import suppress
from typing import Any

from ccc_django import registry
from ccc_django.canonical import canonical_text, stored_form
from ccc_django.conditions import Condition, condition_value
from ccc_django.guards import Guard
from ccc_django.models import Shape


def declared_values(value: dict[str, Any], handled_types: list[str]) -> dict[str, Any]:
    """A partition's values as the messages declare them: a date as a date, a member of an enumeration as itself."""
    return {name: _declared(name, each, handled_types) for name, each in value.items()}


def guard_of(handled_types: list[str], value: dict[str, Any], after: int) -> Guard | None:
    """A guard on everything that belongs to a partition and comes after a position; values are as they are stored."""
    conditions = [each for message_type in handled_types for each in _conditions(message_type, value)]
    return Guard(conditions=tuple(conditions), after=after) if conditions else None


def _declared(name: str, value: Any, handled_types: list[str]) -> Any:
    for message_class in map(registry.message_class, handled_types):
        rules = [] if message_class is None else [r for r in message_class.indexed_fields() if r.name == name]
        if message_class is not None and rules:
            with suppress(Exception):  # code of the project; the value as it is stored will do
                declared = condition_value(message_class, rules, value)
                if canonical_text(stored_form(declared)) == canonical_text(value):  # not what a class would make of it
                    return declared
    return value


def _conditions(message_type: str, value: dict[str, Any]) -> list[Condition]:
    """Of a type without a class, the names of its known shapes; if nothing is known of it, the type alone."""
    message_class = registry.message_class(message_type)
    known: set[str] | None = None
    if message_class is not None:
        known = {rule.name for rule in message_class.indexed_fields()}
    elif shapes := list(Shape.objects.filter(message_type=message_type).values_list("names", flat=True)):
        known = {name for names in shapes for name in names}
    if known is None or not value:
        return [Condition(message_type)]
    return [Condition(message_type, name, each) for name, each in value.items() if name in known]
