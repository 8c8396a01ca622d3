"""Histories: who reads messages again from their beginning, and would miss what a topic has pruned."""

from collections.abc import Iterable, Mapping

from ccc_django import registry
from ccc_django.filters import AllOf, Conditional, Filter, Several, TypeIs
from ccc_django.indexes import in_code
from ccc_django.models import ConsumerGroup, StoredMessage

LOOKED_AT = 10_000  # messages of a type, from each end of the log, to see in which topics it is


def evolved_types() -> dict[str, list[str]]:
    """By group, the types that it reads again, as far as the database knows."""
    known = ConsumerGroup.objects.values_list("name", "evolved_types")
    return {name: types for name, types in known if types}


def at_risk(topic: str, evolved: Mapping[str, Iterable[str]]) -> list[str]:
    """What is to be known before messages of a topic are pruned, in sentences."""
    told = []
    for group, types in sorted(evolved.items()):
        if found := _in_topic(topic, types):
            told.append(
                f"{', '.join(found)}: never pruned, because {group} decides or is built by their whole history."
            )
    for name, filter in sorted(in_code.filters().items()):
        types_of_it = _types(filter)
        found = ["every type"] if types_of_it is None else _in_topic(topic, types_of_it)
        if found:
            told.append(
                f"The filter “{name}” looks for {', '.join(found)}: as a guard it will not find what was pruned."
            )
    return told


def _in_topic(topic: str, types: Iterable[str]) -> list[str]:
    return sorted(each for each in types if _is_declared(each, topic) or _is_stored(each, topic))


def _is_declared(message_type: str, topic: str) -> bool:
    message_class = registry.message_class(message_type)
    declared = message_class.declaration if message_class is not None else None
    return declared is not None and declared.topic == topic


def _is_stored(message_type: str, topic: str) -> bool:
    """Asked of the first and the last of them: a type may have millions in other topics."""
    messages = StoredMessage.objects.of_types([message_type])
    ends = (messages.order_by("position"), messages.order_by("-position"))
    return any(topic in {*end[:LOOKED_AT].values_list("topic", flat=True)} for end in ends)


def _types(filter: Filter) -> set[str] | None:
    """The types that a filter can match; None is any."""
    if isinstance(filter, TypeIs):
        return {filter.type}
    if isinstance(filter, Conditional):
        return {condition.type for condition in filter.conditions}
    if not isinstance(filter, Several):
        return None
    parts = [_types(part) for part in filter.parts]
    named = [each for each in parts if each is not None]
    if isinstance(filter, AllOf):
        return set.intersection(*named) if named else None
    return set.union(*named) if len(named) == len(parts) else None
