"""Plain payloads: the common case, in which pydantic's own JSON is the stored form and needs no second look."""

from datetime import date
from decimal import Decimal
from types import NoneType
from typing import Any, get_args, get_origin
from uuid import UUID

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticSerializationError

from ccc_django.attributes import UNIONS, marks, unwrapped
from ccc_django.conf import conf

PLAIN = {str, int, bool, UUID, Decimal, date, NoneType}
LONGEST_INTEGER = 3_900  # a payload that is shorter than this cannot hold a longer one


def is_plain(message_class: type[BaseModel]) -> bool:
    """Whether every field is text, an integer, a truth value, an id, a decimal or a date, or optional."""
    decorators = message_class.__pydantic_decorators__
    done_to_it = (
        decorators.validators,
        decorators.field_validators,
        decorators.root_validators,
        decorators.model_validators,
        decorators.field_serializers,
        decorators.model_serializers,
    )
    return not any(done_to_it) and all(map(_is_plain_field, message_class.model_fields.values()))


def _is_plain_field(field: FieldInfo) -> bool:
    validated = any(hasattr(mark, "func") for mark in marks(field))
    return not field.exclude and not validated and _is_plain_type(field.annotation)


def _is_plain_type(annotation: Any) -> bool:
    bare, _ = unwrapped(annotation)
    if get_origin(bare) in UNIONS:
        parts = get_args(bare)
        return len(parts) <= 2 and NoneType in parts and all(map(_is_plain_type, parts))  # noqa: PLR2004 - optional
    return bare in PLAIN


def plain_json(message: BaseModel) -> str | None:
    """The payload as JSON text, or None where only a closer look can tell whether it can be stored."""
    try:
        text = message.__pydantic_serializer__.to_json(message, by_alias=False, round_trip=True)
    except PydanticSerializationError:
        return None
    if len(text) > min(LONGEST_INTEGER, conf.max_payload) or b"\\u0000" in text:
        return None
    return text.decode()
