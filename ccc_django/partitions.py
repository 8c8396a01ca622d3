"""Partitions: the values of a group's attributes that messages share, known by a digest that anyone can compute."""

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import product
from math import prod
from typing import Any, NamedTuple
from uuid import UUID

from pydantic_core import from_json, to_json

from ccc_django.attributes import KeyPair
from ccc_django.canonical import canonical_text, hex_digest, stored_form
from ccc_django.messages import Message
from ccc_django.restoring import UnknownMessage


class Partition(NamedTuple):
    """One value for each attribute of partition_by, in the order of their names."""

    pairs: tuple[KeyPair, ...]

    @property
    def id(self) -> str:
        """The digest of the pairs, as hexadecimal text."""
        return hex_digest(*(text for pair in self.pairs for text in pair))

    @property
    def uuid(self) -> UUID:
        """The digest of the pairs."""
        return UUID(hex=self.id)

    @property
    def value(self) -> dict[str, Any]:
        """The values by name, as messages carry them."""
        return {pair.name: plain_value(pair.value) for pair in self.pairs}

    @property
    def key(self) -> str:
        """The values as compact JSON, in which no separator can collide."""
        return to_json(self.value).decode()


def partition_of(value: Mapping[str, Any]) -> Partition:
    """The partition with these values."""
    return Partition(tuple(KeyPair(name, canonical_text(stored_form(value[name]))) for name in sorted(value)))


def belongs(message: Message, value: Mapping[str, Any]) -> bool:
    """Whether a message belongs to the partition with these values, by conditional AND."""
    wanted = {*partition_of(value).pairs}
    carried = [pair for pair in message.key_pairs if pair.name in value]
    agreeing = {pair.name for pair in carried if pair in wanted}
    return not wanted or (bool(carried) and agreeing == {pair.name for pair in carried})


class TooManyPartitions(Exception):
    """A message whose lists belong to more partitions than its group allows."""


def partitions_of(carried: Mapping[str, Iterable[KeyPair]], names: Iterable[str], most: int) -> Iterator[Partition]:
    """The partitions that a message with all of these attributes belongs to: one, or with lists the product."""
    values = [list(carried[name]) for name in sorted(names)]
    if prod(map(len, values)) > most:
        raise TooManyPartitions
    return (Partition(pairs) for pairs in product(*values))


def may_be_wide(message: Message) -> bool:
    """Whether a message can belong to several partitions, because it carries several values under one name."""
    if isinstance(message, UnknownMessage):
        return any(isinstance(value, list) for value in message.payload.values())
    return _has_lists(type(message))


@cache
def _has_lists(message_class: type[Message]) -> bool:
    fields = message_class.indexed_fields()
    return len({field.name for field in fields}) < len(fields) or any(field.maximum for field in fields)


def plain_value(canonical: str) -> Any:
    """The value that a canonical text stands for."""
    tag, _, text = canonical.partition(":")
    return text if tag == "s" else from_json(text)
