"""Sensitivity: which message types an index leaves out, because they call what it names sensitive."""

from functools import cache

from ccc_django import registry
from ccc_django.attributes import is_sensitive_path
from ccc_django.messages import Message
from ccc_django.payload_index import PayloadIndex


def left_out(index: PayloadIndex) -> list[str]:
    """The types whose messages never have entries in this index."""
    return [each.type for each in registry.message_classes() if _is_sensitive(each, index.fields)]


def leaves_out(index: PayloadIndex, message_type: str) -> bool:
    """Whether messages of a type have no entries in this index."""
    message_class = registry.message_class(message_type)
    return message_class is not None and _is_sensitive(message_class, index.fields)


@cache
def _is_sensitive(message_class: type[Message], fields: tuple[str, ...]) -> bool:
    return any(is_sensitive_path(message_class.model_fields, field.split(".")) for field in fields)
