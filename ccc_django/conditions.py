"""Conditions: what a message must carry to matter to a decision."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel, create_model, field_validator

from ccc_django.attributes import IndexedField


@dataclass(frozen=True, slots=True)
class Condition:
    """A message of this type with this value of this attribute matters."""

    type: str
    name: str
    value: Any


def condition_value(message_class: type[BaseModel], rule: IndexedField, value: Any) -> Any:
    """The value as a message of this class would carry it; one that no message can carry is an error."""
    if value is None:
        raise ValueError(f"{message_class.__name__}: {rule.name}=None matches no message: None is never indexed")
    probe = _single_field(message_class, rule.field)
    if rule.maximum is None:
        return getattr(probe(**{rule.field: value}), rule.field)
    return next(iter(getattr(probe(**{rule.field: [value]}), rule.field)))


@cache
def _single_field(message_class: type[BaseModel], name: str) -> type[BaseModel]:
    """A model of one field of a class, with everything that the class does to its values."""
    field = message_class.model_fields[name]
    definition: Any = (field.rebuild_annotation(), field)
    return create_model(
        message_class.__name__,
        __config__=message_class.model_config,
        __validators__=_validators(message_class, name),
        **{name: definition},
    )


def _validators(message_class: type[BaseModel], name: str) -> dict[str, Any]:
    decorators: dict[str, Any] = message_class.__pydantic_decorators__.field_validators
    validator: Any = field_validator
    return {
        key: validator(name, mode=decorator.info.mode)(classmethod(decorator.func.__func__))
        for key, decorator in decorators.items()
        if {name, "*"}.intersection(decorator.info.fields)
    }
