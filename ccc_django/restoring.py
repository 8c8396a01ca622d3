"""Restoring: a stored message becomes an object again, and what has no class is kept, never dropped."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from pydantic import ValidationError
from pydantic_core import from_json, to_json

from ccc_django import registry
from ccc_django.canonical import stored_form
from ccc_django.declarations import Declaration
from ccc_django.envelope import Envelope
from ccc_django.messages import Message


class UnknownMessage(Message):
    """A message of the log that the project's classes cannot express, with everything that was stored."""

    @property
    def payload(self) -> dict[str, Any]:
        """The stored payload as it is."""
        return cast("dict[str, Any]", from_json(self.payload_json))

    @property
    def reason(self) -> str:
        """Why no class could express this message."""
        return cast("str", self.__dict__["_reason"])

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        yield from {"type": self.type, "payload": self.payload, "reason": self.reason}.items()


def restore(envelope: Envelope, payload_json: str) -> Message:
    """The message that was stored, in the current version of its class."""
    message_class = registry.message_class(envelope.type)
    if message_class is None:
        return _unknown(envelope, payload_json, "the project has no class for this type")
    declaration = cast("Declaration", message_class.declaration)
    if envelope.version > declaration.version:
        reason = f"stored as version {envelope.version}, newer than version {declaration.version} of its class"
        return _unknown(envelope, payload_json, reason)
    try:
        return _current(message_class, declaration, envelope, payload_json)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"]))
        return _unknown(envelope, payload_json, f"the payload does not fit its class: {field}: {first['msg']}")
    except Exception as error:  # noqa: BLE001 - an upcast of the project's own; reading must go on
        return _unknown(envelope, payload_json, f"upcast from version {envelope.version} failed: {error!r}")


def _current(message_class: type[Message], declaration: Declaration, envelope: Envelope, payload_json: str) -> Message:
    if envelope.version < declaration.version:
        payload = declaration.current(from_json(payload_json), envelope.version)
        payload_json = to_json(stored_form(payload)).decode()
        envelope = replace(envelope, version=declaration.version)
    message: Message = message_class.__pydantic_validator__.validate_json(payload_json, by_name=True)
    message.__dict__.update(_envelope=envelope, _payload_json=payload_json)
    return message


def _unknown(envelope: Envelope, payload_json: str, reason: str) -> UnknownMessage:
    message = UnknownMessage.model_construct()
    message.__dict__.update(_envelope=envelope, _payload_json=payload_json, _reason=reason)
    return message
