"""Conditions: what a message must carry to matter to a decision."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    WrapValidator,
)

from ccc_django.attributes import IndexedField, element_of

if TYPE_CHECKING:
    from pydantic import ConfigDict

VALIDATORS: dict[str, Any] = {
    "after": AfterValidator,
    "before": BeforeValidator,
    "plain": PlainValidator,
    "wrap": WrapValidator,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """A message of this type with this value of this attribute matters; without an attribute, any of this type."""

    type: str
    name: str = ""
    value: Any = None


def condition_value(message_class: type[BaseModel], rules: Iterable[IndexedField], value: Any) -> Any:
    """The value as a field of this class would carry it; one that no message can carry is an error."""
    refused: Exception | None = None
    for rule in rules:
        if value is None:
            raise ValueError(f"{message_class.__name__}: {rule.name}=None matches no message: None is never indexed")
        try:
            return _adapter(message_class, rule).validate_python(value)
        except ValidationError as error:
            refused = ValueError(f"{message_class.__name__}: {rule.name}={value!r} matches no message: {error}")
    raise refused or LookupError("no field gives this name")


def strictly(message_class: type[BaseModel], rule: IndexedField, value: Any) -> Any:
    """The value as a field of this class would carry it without any guessing, or None."""
    try:
        return _adapter(message_class, rule).validate_python(value, strict=True)
    except ValidationError:
        return None


@cache
def _adapter(message_class: type[BaseModel], rule: IndexedField) -> TypeAdapter[Any]:
    """What a class does to a single value of a field; what it does to a whole list does not apply to an element."""
    field = message_class.model_fields[rule.field]
    kept = {name: value for name, value in message_class.model_config.items() if name != "title"}
    config = cast("ConfigDict", kept)
    if rule.maximum is not None:
        return TypeAdapter(element_of(field.annotation), config=config)
    annotation = field.rebuild_annotation()
    for validator in _validators(message_class, rule.field):
        annotation = Annotated[annotation, validator]
    return TypeAdapter(annotation, config=config)


def _validators(message_class: type[BaseModel], name: str) -> list[Any]:
    decorators: dict[str, Any] = message_class.__pydantic_decorators__.field_validators
    return [
        VALIDATORS[decorator.info.mode](decorator.func)
        for decorator in decorators.values()
        if {name, "*"}.intersection(decorator.info.fields)
    ]
