"""Scopes: which subscription decides on a topic of a group: the most specific one.

In this order: of one partition, of a topic, of a namespace and a task, of a namespace, of a task. It is found when
subscriptions or topics change, and kept with the group's place in the topic, so that no claim has to look for it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Q
from django.db.models.functions import Now

from ccc_django import db, dead_letters
from ccc_django.groups.keeping import keep
from ccc_django.groups.lifecycle import CAUGHT_UP, FRESH_BATCH, forget_progress, free_claims
from ccc_django.groups.seeking import begin_as_subscribed
from ccc_django.models import ConsumerGroup, GroupTopic, Topic, TopicSubscription
from ccc_django.models.consumer_group import Kind
from ccc_django.semantics import PUB_SUB
from ccc_django.store.reading import head


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """A topic; or everything in a namespace, of a task, or both."""

    topic: str = ""
    namespace: str = ""
    task: str = ""

    def __post_init__(self) -> None:
        if self.topic and (self.namespace or self.task):
            raise ValueError("Subscribe to a topic, or to a namespace and a task: a topic says itself where it is.")
        if not (self.topic or self.namespace or self.task):
            raise ValueError("Subscribe to a topic, a namespace or a task. The whole log needs no subscription.")

    @property
    def columns(self) -> dict[str, str]:
        """As a subscription has it."""
        return {"topic": self.topic, "namespace": self.namespace, "task": self.task}

    def __str__(self) -> str:
        return ", ".join(f"{what} {name}" for what, name in self.columns.items() if name)


def specificity(record: TopicSubscription) -> int:
    """The higher the more specific; no two scopes that cover a topic have the same."""
    if record.partition_key:
        return 5
    if record.topic:
        return 4
    return 2 * bool(record.namespace) + bool(record.task)


def lock() -> None:
    """One at a time changes who gets what."""
    db.rows("lock_topics")


def resolve_all(names: Iterable[str]) -> None:
    """Look again which subscription decides, for some groups."""
    for group in lock_groups(names):
        resolve(group)


def lock_groups(names: Iterable[str]) -> list[ConsumerGroup]:
    """Some groups, which nobody else changes until the transaction ends."""
    return [*ConsumerGroup.objects.select_for_update(no_key=True).filter(name__in=[*names]).order_by("pk")]


def resolve(group: ConsumerGroup) -> None:
    """Look again which topics a group gets, and by which subscription; its row is locked, and the topics are."""
    deciding = _deciding(group)
    keep(deciding)
    places = {place.topic: place for place in GroupTopic.objects.filter(group=group)}
    gone = [place.pk for topic, place in places.items() if topic not in deciding]
    dead_letters.drop(group.pk, gone)
    GroupTopic.objects.filter(pk__in=gone).delete()
    for topic, record in deciding.items():
        if topic not in places:
            start = record.start_position
            place = GroupTopic(group=group, topic=topic, subscription=record, start=start, watermark=start - 1)
            place.backfill_upto = head()  # what is there already, in case that it begins before
            place.save()
        elif places[topic].subscription_id != record.pk:
            _decide_anew(places[topic], record)
    if sorted(deciding) != group.topics:
        _get(group, sorted(deciding), begins_anew=not places)


def _deciding(group: ConsumerGroup) -> dict[str, TopicSubscription]:
    """The most specific subscription by topic; a queue is its own group's alone."""
    records = sorted(TopicSubscription.objects.of_group(group.name).whole(), key=specificity)
    deciding: dict[str, TopicSubscription] = {}
    for record in records:
        topics = Topic.objects.filter(Q(semantics=PUB_SUB) | Q(group_name=group.name))
        if record.topic:
            topics = topics.filter(name=record.topic)
        else:
            named = {"namespace": record.namespace, "task": record.task}
            topics = topics.filter(**{what: name for what, name in named.items() if name})
        deciding |= dict.fromkeys(topics.values_list("name", flat=True), record)
    return deciding


def _decide_anew(place: GroupTopic, record: TopicSubscription) -> None:
    """Where a group stands it goes on; if it has not begun, it begins where the new record says."""
    place.subscription = record
    place.start = record.start_position
    if not place.is_touched:
        place.watermark = place.start - 1
    place.save(update_fields=["subscription", "start", "watermark"])


def _get(group: ConsumerGroup, topics: list[str], *, begins_anew: bool) -> None:
    """A group gets other topics from now on. What an ordered group has in hand was fetched without them."""
    changes: dict[str, Any] = {"topics": topics, "updated_at": Now()}
    if group.kind == Kind.ORDERED:
        changes |= _of_ordered(group, begins_anew=begins_anew)
    ConsumerGroup.objects.filter(pk=group.pk).update(**changes)
    if group.kind == Kind.ORDERED:
        free_claims(group)
        if begins_anew:
            begin_as_subscribed(group)


def _of_ordered(group: ConsumerGroup, *, begins_anew: bool) -> dict[str, Any]:
    """The log is looked at again; a partition that is known goes on behind its last position, with new topics too."""
    changes: dict[str, Any] = {"epoch": F("epoch") + 1, **FRESH_BATCH, **CAUGHT_UP}
    record = TopicSubscription.objects.of_group(group.name).whole().first()
    if record is None:  # it has left everything: nothing is remembered
        forget_progress(group)
        TopicSubscription.objects.of_group(group.name).delete()
    if record is None or (begins_anew and not group.offsets.exists()):
        start = 1 if record is None else record.start_position
        return changes | {"start": start, "begins_at": start, "watermark": _before(group, start)}
    return changes | {"watermark": min(group.watermark, _before(group, group.begins_at))}


def _before(group: ConsumerGroup, start: int) -> int:
    """Where a group begins to look: several attributes find partitions by messages from before the start."""
    return 0 if len(group.partition_by) > 1 else start - 1
