"""Restoring: a stored message becomes an object again, and what has no class is kept, never dropped."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast

from pydantic import PydanticUserError, ValidationError
from pydantic_core import from_json, to_json

from ccc_django import registry
from ccc_django.canonical import stored_form
from ccc_django.envelope import Envelope
from ccc_django.messages import Message

if TYPE_CHECKING:
    from ccc_django.declarations import Declaration


class UnknownMessage(Message):
    """A message of the log that the project's classes cannot express, with everything that was stored."""

    @property
    def reason(self) -> str:
        """Why no class could express this message."""
        return cast("str", self.__dict__["_reason"])

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        yield from {"type": self.type, "attributes": [*self.payload], "reason": self.reason}.items()

    def _attributes(self) -> dict[str, Any]:
        return cast("dict[str, Any]", from_json(self.payload_json))


def restore(envelope: Envelope, payload_json: str) -> Message:
    """The message that was stored, in the current version of its class."""
    message_class = registry.message_class(envelope.type)
    if message_class is None:
        return _unknown(envelope, payload_json, "the project has no class for this type")
    declaration = cast("Declaration", message_class.declaration)
    if envelope.version == declaration.version:
        return _restored(message_class, envelope, payload_json)
    if envelope.version > declaration.version:
        reason = f"stored as version {envelope.version}, newer than version {declaration.version} of its class"
        return _unknown(envelope, payload_json, reason)
    try:
        current = to_json(stored_form(declaration.current(from_json(payload_json), envelope.version))).decode()
    except Exception as error:  # noqa: BLE001 - code of the project; reading must go on
        return _unknown(envelope, payload_json, f"upcast from version {envelope.version} failed: {error!r}")
    restored = _restored(message_class, envelope._replace(version=declaration.version), current)
    return restored if not isinstance(restored, UnknownMessage) else _unknown(envelope, payload_json, restored.reason)


def _restored(message_class: type[Message], envelope: Envelope, payload_json: str) -> Message:
    try:
        message = message_class.from_stored(payload_json)
    except PydanticUserError:
        raise  # the class itself is not complete: a mistake to be seen, not a message to be set aside
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        field = ".".join(map(str, first["loc"]))
        return _unknown(envelope, payload_json, f"the payload does not fit its class: {field}: {first['msg']}")
    except Exception as error:  # noqa: BLE001 - a validator of the project; reading must go on
        return _unknown(envelope, payload_json, f"its class refuses the payload: {error!r}")
    message.__dict__.update(_envelope=envelope, _payload_json=payload_json)
    return message


def _unknown(envelope: Envelope, payload_json: str, reason: str) -> UnknownMessage:
    message = UnknownMessage.from_stored("{}")
    message.__dict__.update(_envelope=envelope, _payload_json=payload_json, _reason=reason)
    return message
