"""Casting: which consumer a scenario is about, and which of its partitions."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ccc_django.consumers import registry
from ccc_django.consumers.decider import Decider
from ccc_django.consumers.projector import Projector
from ccc_django.errors import UnknownConsumer
from ccc_django.groups.guarding import declared_values
from ccc_django.messages import Message
from ccc_django.partitions import Partition, belongs, partitions_of
from ccc_django.testing.playing import Kind

if TYPE_CHECKING:
    from ccc_django.attributes import KeyPair

MOST_PARTITIONS = 100


def consumer_for(messages: Sequence[Message], named: Kind | None) -> Kind:
    """Who gets these messages: the consumer that is named, or the only one that decides on the first of them.

    What a worker would never get would be followed by nothing, whatever the consumer does: it is refused.
    """
    kind: Any = named or _decider_of(messages[0])
    if not isinstance(kind, type) or not issubclass(kind, Decider | Projector) or not hasattr(kind, "options"):
        raise TypeError(f"{kind!r} is no decider or projector with a group; a function can be called as it is.")
    for message in messages:
        if message.type not in kind.handled_types():
            raise ValueError(f"{kind.__name__} does not handle {message.type!r}: no worker would give it to it.")
    return kind


def partition_for(
    kind: Kind, past: Iterable[Message], present: Iterable[Message], named: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The partition that is named, or the one that the messages of now name in full, or those of before."""
    names = {*kind.options.partition_by}
    if named is not None and named.keys() != names:
        raise ValueError(
            f"{kind.__name__} has partitions by {', '.join(sorted(names)) or 'nothing'}: give their values."
        )
    found = [named] if named is not None else [each.value for each in _in_full(names, present) or _in_full(names, past)]
    if len(found) != 1:
        seen = ", ".join(map(str, found)) or "none"
        raise ValueError(f"A scenario has one partition of {kind.__name__}, these name {seen}: say partition={{…}}")
    for message in present:
        if not belongs(message, found[0]):
            raise ValueError(f"{message!r} does not belong to {found[0]}: no worker would give it to {kind.__name__}.")
    return declared_values(dict(found[0]), [*kind.handled_types()])


def _decider_of(command: Message) -> type[Decider]:
    deciders = registry.deciders_of(command.type)
    if len(deciders) != 1:
        found = ", ".join(each.__name__ for each in deciders) or "nobody"
        raise UnknownConsumer(f"{found} decides on {command.type!r}: name the consumer, as in given(…, consumer=…).")
    return deciders[0]


def _in_full(names: set[str], messages: Iterable[Message]) -> list[Partition]:
    found: dict[Partition, None] = {}
    for message in messages:
        carried: dict[str, list[KeyPair]] = {}
        for pair in message.key_pairs:
            if pair.name in names:
                carried.setdefault(pair.name, []).append(pair)
        if carried.keys() == names:
            found |= dict.fromkeys(partitions_of(carried, names, MOST_PARTITIONS))
    return [*found]
