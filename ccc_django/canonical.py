"""Canonical values: the one JSON form in which a value is stored, and the id that is computed from it.

A value in the index is a tag and the text of the JSON value as stored, so that anyone who reads the log
(append, guard, Spark) computes the same id: ``s:Algebra``, ``i:1``, ``b:true``, ``f:1.5``.
"""

import hashlib
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

from pydantic_core import PydanticSerializationError, to_jsonable_python

from ccc_django.errors import Unstorable

MAX_DEPTH = 100
MAX_INTEGER_BITS = 13_000  # Python itself refuses to read integers of more than 4,300 digits
INTEGRAL_FROM = 1e16  # floats have no fraction from here on, and jsonb keeps no trace that they were floats
CONTAINERS = (dict, list, tuple, set, frozenset, Mapping)


def key_pair_id(name: str, value: Any) -> UUID:
    """The id of an attribute's value, which anyone can compute and nobody needs to look up."""
    return digest(_text(name), canonical_text(stored_form(value)))


def digest(*texts: str) -> UUID:
    """The first 16 bytes of SHA-256 over length-prefixed texts, so that no separator can collide."""
    return UUID(hex=hex_digest(*texts))


def hex_digest(*texts: str) -> str:
    """The same as hexadecimal text, which is what statements are given."""
    prefixed = b"".join([b"%d:%b" % (len(text), text) for text in map(str.encode, texts)])
    return hashlib.sha256(prefixed).hexdigest()[:32]


def canonical_text(stored: Any) -> str:
    """The text of a stored scalar with its type in front: 1, "1", true and 1.0 are four values."""
    if isinstance(stored, str):
        return f"s:{stored}"
    if isinstance(stored, bool):
        return "b:true" if stored else "b:false"
    if isinstance(stored, int):
        return f"i:{stored}"
    if isinstance(stored, float):
        text = repr(stored)
        return f"f:{text}" if "e" not in text else f"f:{Decimal(text):f}"
    raise Unstorable(f"{type(stored).__name__} is not a scalar: only single values have a key pair")


def stored_form(value: Any, depth: int = 0) -> Any:
    """The JSON value that stands for this value in the log; Unstorable if it could not be read back."""
    if isinstance(value, Enum):
        return stored_form(value.value, depth)
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, CONTAINERS):
        return _container(value, depth + 1)
    return _text_of(value, depth)


def _text(value: str) -> str:
    if "\0" in value:
        raise Unstorable("text with a NUL character cannot be stored")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Unstorable("text with a lone surrogate cannot be stored") from None
    return str(value)


def _integer(value: int) -> int:
    if value.bit_length() > MAX_INTEGER_BITS:
        raise Unstorable("an integer of more than 3,900 digits cannot be stored")
    return int(value)


def _float(value: float) -> float:
    if not math.isfinite(value):
        raise Unstorable("NaN and infinity cannot be stored")
    return int(value) if abs(value) >= INTEGRAL_FROM else value + 0.0  # -0.0 + 0.0 is 0.0


def _container(value: Any, depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise Unstorable(f"values nested deeper than {MAX_DEPTH} cannot be stored")
    if isinstance(value, Mapping):
        stored = {_key(key): _inside(key, item, depth) for key, item in value.items()}
        if len(stored) < len(value):
            raise Unstorable("two keys have the same text")
        return stored
    return [_inside(index, item, depth) for index, item in enumerate(value)]


def _inside(key: Any, item: Any, depth: int) -> Any:
    try:
        return stored_form(item, depth)
    except Unstorable as problem:
        raise problem.inside(key if isinstance(key, str | int) else str(key)) from None


def _key(key: Any) -> str:
    if type(key) is str:
        return _text(key)
    text = stored_form(key)
    if not isinstance(text, str | int) or isinstance(text, bool):
        raise Unstorable(f"{type(key).__name__} cannot be a key of a stored mapping")
    return str(text)


def _text_of(value: Any, depth: int) -> Any:
    if isinstance(value, datetime):
        return _moment(value)
    if isinstance(value, Decimal):
        return _decimal(value)
    try:
        return stored_form(to_jsonable_python(value), depth + 1)
    except (PydanticSerializationError, UnicodeDecodeError):
        raise Unstorable(f"{type(value).__name__} has no exact form in JSON") from None


def _moment(value: datetime) -> str:
    return in_utc(value).isoformat(timespec="microseconds").replace("+00:00", "Z")


def in_utc(value: datetime) -> datetime:
    """The same moment in UTC, which is how the log keeps it."""
    if value.utcoffset() is None:
        raise Unstorable("a datetime without a time zone cannot be stored: make it aware")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise Unstorable("a datetime outside of the years 1 to 9999 in UTC cannot be stored") from None


def _decimal(value: Decimal) -> str:
    if not value.is_finite():
        raise Unstorable("NaN and infinity cannot be stored")
    return str(value)
