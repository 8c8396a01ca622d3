"""Tailing: what the arguments of ccc_tail mean, and how it shows a message."""

import json
from argparse import ArgumentTypeError
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone
from pydantic_core import from_json

from ccc_django import registry, store
from ccc_django.expressions import where
from ccc_django.filters import Filter, all_of
from ccc_django.groups.seeking import Place, position_of
from ccc_django.instrumentation.showing import shown, shown_payload
from ccc_django.management.painting import Part, payload_text
from ccc_django.messages import Message
from ccc_django.restoring import UnknownMessage

LAST = 10
WIDTH = 8  # of a position

Attribute = tuple[str, Any]


def followed(options: Mapping[str, Any], *, forever: bool) -> Iterator[Message]:
    """The messages that the options ask for."""
    place: Place | None = options["from"]
    types = [registry.message_class(name) or name for name in options["types"]]
    return store.follow(
        after=0 if place is None else position_of(place) - 1,
        last=options["last"] if place is None else None,
        type=types,
        topic=options["topic"],
        correlation_id=options["correlation"],
        where=attributes_filter(options["attributes"], types),
        limit=options["limit"],
        forever=forever,
    )


def attributes_filter(attributes: Iterable[Attribute], types: list[type[Message] | str]) -> Filter | None:
    """All of these attributes, with values as these types carry them; None if there are none."""
    wanted = [where({name: value}, type=types) if types else where({name: value}) for name, value in attributes]
    return all_of(*wanted) if wanted else None


def line_of(message: Message, *, reveal: bool) -> list[Part]:
    """Position, time, type and payload, and why a message has no class if it has none."""
    appended_at = timezone.localtime(message.envelope.appended_at)
    parts = [
        (f"{message.position:>{WIDTH}}  ", "bold"),
        (f"{appended_at:%Y-%m-%d %H:%M:%S}.{appended_at.microsecond // 1000:03}  ", "dim"),
        (message.type, "cyan"),
        (f"  {payload_text(shown_payload(message, reveal=reveal))}".rstrip(), ""),
    ]
    return [*parts, (f"  ({message.reason})", "yellow")] if isinstance(message, UnknownMessage) else parts


def json_of(message: Message, *, reveal: bool) -> str:
    """Everything of a message, in one line."""
    return json.dumps(shown(message, reveal=reveal), separators=(",", ":"))


def place(text: str) -> Place:
    """A position, "beginning", or a time, which is in the project's time zone if it names none."""
    if text == "beginning":
        return text
    if text.isascii() and text.isdigit() and int(text) > 0:
        return int(text)
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        reason = f'{text!r}: a position from 1 on, "beginning", or a time such as 2026-01-31T12:00'
        raise ArgumentTypeError(reason) from None
    return time if timezone.is_aware(time) else timezone.make_aware(time)


def attribute(text: str) -> Attribute:
    """A name and a value: JSON of a number, a truth, null or a text, or else the text as it stands."""
    name, sign, value = text.partition("=")
    if not name or not sign:
        raise ArgumentTypeError(f"{text!r}: say name=value")
    try:
        known = from_json(value, allow_inf_nan=False)
    except ValueError:
        return name, value
    if isinstance(known, dict | list):
        raise ArgumentTypeError(f"{text!r}: a single value can be looked for; name a field inside, as in address.city")
    return name, known


def number(text: str) -> int:
    """A number from 0 on."""
    if not (text.isascii() and text.isdigit()):
        raise ArgumentTypeError(f"{text!r}: a number from 0 on")
    return int(text)
