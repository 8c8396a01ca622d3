"""Showing: a message with its envelope as JSON, without what must not be shown."""

from typing import Any

from pydantic_core import from_json, to_jsonable_python

from ccc_django.attributes import sensitive_names
from ccc_django.messages import Message
from ccc_django.restoring import UnknownMessage

HIDDEN = "…"


def shown(message: Message, *, reveal: bool = False) -> dict[str, Any]:
    """Everything of a message as JSON holds it; sensitive fields are hidden, unless they are to be revealed."""
    envelope = message.envelope
    return {
        "position": envelope.position,
        "id": str(envelope.id),
        "type": envelope.type,
        "version": envelope.version,
        "topic": envelope.topic,
        "payload": shown_payload(message, reveal=reveal),
        "metadata": envelope.metadata,
        "correlation_id": str(envelope.correlation_id),
        "causation_id": str(envelope.causation_id),
        "created_at": to_jsonable_python(envelope.created_at),
        "appended_at": to_jsonable_python(envelope.appended_at),
    }


def shown_payload(message: Message, *, reveal: bool = False) -> dict[str, Any]:
    """The payload as it is stored; of a message without a class nobody knows what is sensitive, so all is hidden."""
    stored: dict[str, Any] = from_json(message.payload_json)
    is_known = not isinstance(message, UnknownMessage)
    names = [name for name in message.payload_attribute_names if name in stored] if is_known else sorted(stored)
    if reveal:
        return {name: stored[name] for name in names}
    hidden = sensitive_names(type(message))
    return {name: HIDDEN if name in hidden or not is_known else _shown(hidden, stored[name]) for name in names}


def _shown(hidden: frozenset[str], value: Any) -> Any:
    """Whatever is called like something sensitive is hidden, wherever it stands: rather too much than too little."""
    if isinstance(value, dict):
        return {name: HIDDEN if name in hidden else _shown(hidden, each) for name, each in value.items()}
    return [_shown(hidden, each) for each in value] if isinstance(value, list) else value
