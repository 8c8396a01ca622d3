"""Payload indexes: more fields by which messages are found, one by one or as a combination."""

from collections.abc import Iterable, Iterator
from itertools import product
from math import prod
from typing import Any, NamedTuple

from pydantic_core import to_json

from ccc_django.attributes import KeyPair
from ccc_django.canonical import canonical_text, stored_form

PAYLOAD = "payload"
PAYLOAD_HASH = "payload_hash"
NULL = "n:null"
MAX_COMBINATIONS = 10_000
SLOTS = 4  # fields that the statement tells by plain expressions, which would take a number for an element of a list


class PayloadIndex(NamedTuple):
    """A field, or a combination of fields, that gives key pairs; null counts as a value only if that is declared."""

    fields: tuple[str, ...]
    nulls: bool = False

    @classmethod
    def of(cls, kind: str, fields: Iterable[str], *, nulls: bool = False) -> "PayloadIndex":
        """A checked index: ``payload`` has one field, ``payload_hash`` several, in any order."""
        if isinstance(fields, str):
            raise TypeError(f'fields are a list of names: ["{fields}"]')
        names = tuple(sorted({*map(checked_path, fields)}))
        if kind not in {PAYLOAD, PAYLOAD_HASH}:
            raise ValueError(f'the kind of an index is "{PAYLOAD}" or "{PAYLOAD_HASH}", not {kind!r}')
        if (len(names) == 1) != (kind == PAYLOAD) or not names:
            raise ValueError(f'"{PAYLOAD}" is for one field, "{PAYLOAD_HASH}" for two or more: {", ".join(names)}')
        return cls(names, nulls)

    @property
    def kind(self) -> str:
        """Which of the two."""
        return PAYLOAD if len(self.fields) == 1 else PAYLOAD_HASH

    @property
    def name(self) -> str:
        """The name of its key pairs; that of a combination is no payload attribute's."""
        return self.fields[0] if len(self.fields) == 1 else f"${to_json(self.fields).decode()}"

    def pairs(self, payload: Any) -> list[KeyPair]:
        """The key pairs of a stored payload: none if a field is missing, several if one holds a list."""
        return [self.pair(texts) for texts in product(*(self._texts(payload, field) for field in self.fields))]

    def refuse_too_many(self, payload: Any) -> None:
        """A message whose lists have too many combinations is refused before it is appended."""
        count = prod(len(self._texts(payload, field)) for field in self.fields)
        if count > MAX_COMBINATIONS:
            raise ValueError(f"The lists of a message have {count:,} combinations for {self.name}: at most 10,000.")

    def pair(self, texts: tuple[str, ...]) -> KeyPair:
        """The key pair of one value for each field, in the order of the fields."""
        value = texts[0] if len(texts) == 1 else "".join([f"{len(text.encode())}:{text}" for text in texts])
        return KeyPair(self.name, value)

    def parameters(self) -> dict[str, Any]:
        """What the statement that indexes old messages on PostgreSQL needs; its paths go through lists as ours do."""
        parts = [field.split(".") for field in self.fields]
        quoted = [".".join(to_json(part).decode() for part in names) for names in parts]
        told_plainly = len(parts) <= SLOTS and not any(name.lstrip("-").isdigit() for names in parts for name in names)
        plain = [*(parts if told_plainly else ()), *[None] * SLOTS]
        return {
            "name": self.name,
            "prefix": f"{len(self.name.encode())}:{self.name}",
            "nulls": self.nulls,
            "first_names": sorted({names[0] for names in parts}),
            "paths": [f"lax $.{names}[*]" for names in quoted],
            **{f"path_{number + 1}": plain[number] for number in range(SLOTS)},
        }

    def _texts(self, payload: Any, path: str) -> list[str]:
        found = values_at(payload, path.split("."))
        return list(dict.fromkeys(value_text(each) for each in found if each is not None or self.nulls))


def values_at(stored: Any, path: list[str]) -> Iterator[Any]:
    """The scalars at a path, through the elements of lists; objects are no values."""
    if isinstance(stored, list):
        for element in stored:
            if not isinstance(element, list):
                yield from values_at(element, path)
    elif path:
        if isinstance(stored, dict) and path[0] in stored:
            yield from values_at(stored[path[0]], path[1:])
    elif not isinstance(stored, dict):
        yield stored


def value_text(stored: Any) -> str:
    """The canonical text of a value, null included."""
    return NULL if stored is None else canonical_text(stored)


def checked_path(path: str) -> str:
    """The path to a field: names with dots between them."""
    if not isinstance(path, str) or path.startswith("$") or not all(stored_form(path).split(".")):
        raise ValueError(f"{path!r} cannot be indexed: name a field, or a field inside of one as in address.city")
    return path
