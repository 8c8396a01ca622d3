"""Sealing: a new message is checked for what the log could not return exactly, and refused by field."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError, to_json

from ccc_django.attributes import IndexedField
from ccc_django.canonical import stored_form
from ccc_django.conf import conf
from ccc_django.envelope import Given, given_parts
from ccc_django.errors import Unstorable


def storable_json(message: BaseModel, indexed: Iterable[IndexedField]) -> str:
    """The payload as JSON text that can be read back exactly, or a ValidationError that names the field."""
    try:
        stored = stored_form(message.model_dump(round_trip=True, by_alias=False))
        _refuse_long_lists(stored, indexed)
        return _within_limit(stored, "payload")
    except Unstorable as problem:
        raise _refusal(message, problem.path, problem.reason) from None


def returned_exactly(message: BaseModel, read: Callable[[str], BaseModel], payload_json: str) -> dict[str, Any]:
    """The attributes as the log will return them, or a ValidationError for the first that would come back changed."""
    try:
        returned = read(payload_json)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise _refusal(message, first["loc"], f"could not be read back from the log: {first['msg']}") from None
    for name, value in returned.__dict__.items():
        given = message.__dict__[name]
        if value != given and comparable(value) != comparable(given):
            raise _refusal(message, (name,), "would come back changed from the log")
    return returned.__dict__


def comparable(value: Any) -> Any:
    """A value in which equal moments are equal: Python never calls a repeated hour equal to its moment in UTC."""
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if isinstance(value, BaseModel):
        return type(value), comparable(value.__dict__)
    if isinstance(value, dict):
        return {key: comparable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value), [comparable(item) for item in value]
    return value


def checked_parts(message: BaseModel, given: dict[str, Any]) -> Given:
    """The given parts of an envelope, or a ValidationError that names the message class and the part."""
    try:
        parts = given_parts.validate_python(given)
        _within_limit(parts.get("metadata", {}), "metadata")
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        problem = first.get("ctx", {}).get("error")
        if isinstance(problem, Unstorable):
            raise _refusal(message, (*first["loc"], *problem.path), problem.reason) from None
        raise _refusal(message, first["loc"], first["msg"]) from None
    except Unstorable as problem:
        raise _refusal(message, ("metadata",), problem.reason) from None
    return parts


def _refuse_long_lists(stored: dict[str, Any], indexed: Iterable[IndexedField]) -> None:
    for rule in indexed:
        elements = stored.get(rule.field)
        if rule.maximum is not None and isinstance(elements, list) and len(elements) > rule.maximum:
            raise Unstorable(f"an indexed list may have {rule.maximum} elements at most", (rule.field,))


def _within_limit(stored: dict[str, Any], part: str) -> str:
    text = to_json(stored)
    if len(text) > conf.max_payload:
        raise Unstorable(f"the {part} has {len(text):,} bytes, more than CCC_MAX_PAYLOAD = {conf.max_payload:,}")
    return text.decode()


def _refusal(message: BaseModel, path: tuple[str | int, ...], reason: str) -> ValidationError:
    problem = PydanticCustomError("message_refused", "{reason}", {"reason": reason})
    details = InitErrorDetails(type=problem, loc=path, input=None)
    return ValidationError.from_exception_data(type(message).__name__, [details], hide_input=True)
