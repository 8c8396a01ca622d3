"""Life cycle: groups are started, stopped, retried and deleted, also while workers run."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.timezone import is_naive
from pydantic_core import to_json

from ccc_django import db, dead_letters
from ccc_django.conf import conf
from ccc_django.errors import UnknownGroup, UnknownPartition
from ccc_django.models import (
    ConsumerGroup,
    DeadLetter,
    Delivery,
    GroupTopic,
    Offset,
    OffsetKeyPair,
    TopicSubscription,
)
from ccc_django.models.consumer_group import GroupStatus, Kind
from ccc_django.models.offset import STOPPED_FOR
from ccc_django.models.topic_subscription import SubscriptionStatus
from ccc_django.partitions import Partition, partition_of

FREE: dict[str, Any] = {
    "blocked_until": None,
    "claimed_by": "",
    "claimed_at": None,
    "token": 0,
    "attempts": 0,
    "error": "",
}

FRESH_BATCH: dict[str, Any] = {"marking_upto": 0, "marking_number": 0, "marking_after": 0}
CAUGHT_UP: dict[str, Any] = {"catch_up_to": 0, "catch_up_types": []}


def is_active(name: str) -> bool:
    """Whether partitions of a group can be claimed; of an unknown group, or one that has paused, they cannot."""
    active = Q(status=GroupStatus.ACTIVE) | Q(retry_at__lte=Now())
    return ConsumerGroup.objects.filter(active, name=name).exists() and not is_put_off(name)


def is_put_off(name: str) -> bool:
    """Whether a group is ordered and its one subscription is paused, cancelled, dead or gone."""
    of_topics = ConsumerGroup.objects.filter(name=name, kind=Kind.ORDERED, topics__isnull=False)
    records = TopicSubscription.objects.of_group(name).whole().filter(status=SubscriptionStatus.ACTIVE)
    return of_topics.exists() and not records.exists()


def start(name: str, *, partition: Mapping[str, Any] | None = None) -> None:
    """Let a group's partitions be claimed, or one that was stopped by itself.

    What was stopped by itself is started by itself: a group that is started leaves its stopped partitions alone.
    """
    with transaction.atomic(using=conf.database):
        group = locked(name)
        if partition is None:
            _change(group, status=GroupStatus.ACTIVE, error_context="", retry_at=None)
        else:
            locked_offset(group, partition)
            retry(name, partition=partition)


def stop(
    name: str, *, partition: Mapping[str, Any] | None = None, reason: str = "", until: datetime | None = None
) -> None:
    """Let nobody claim a group's partitions, or one of them, until it is started or a time has come.

    Running claims are fenced.
    """
    if until is not None and is_naive(until):
        raise ValueError(f"until={until}: a time needs a time zone.")
    with transaction.atomic(using=conf.database):
        group = locked(name)
        if partition is None:
            _change(group, status=GroupStatus.STOPPED, error_context=reason, retry_at=until, epoch=F("epoch") + 1)
            free_claims(group)
        else:
            offset = locked_offset(group, partition)
            waits = {"blocked_until": until or timezone.now() + STOPPED_FOR, "error": reason or offset.error}
            Offset.objects.filter(pk=offset.pk).update(**FREE | waits)


def fail(group: ConsumerGroup, *, reason: str) -> None:
    """Stop a group that its caller has locked, because of an error."""
    _change(group, status=GroupStatus.FAILED, error_context=reason, retry_at=None, epoch=F("epoch") + 1)
    free_claims(group)


def retry(name: str, *, partition: Mapping[str, Any] | None = None) -> int:
    """Try partitions again now that pause after a failure or were stopped by one, or one of them; how many there were.

    Of a shared group it is messages. Those that a worker holds are left to it.
    """
    with transaction.atomic(using=conf.database):
        group = locked(name)
        waiting: QuerySet[Any] = _work(group).filter(claimed_by="", blocked_until__isnull=False)
        if partition is not None:
            waiting = waiting.filter(partition_id=named_partition(group, partition).uuid)
        return waiting.update(**FREE)


def delete(name: str, *, partition: Mapping[str, Any] | None = None, keep_subscriptions: bool = False) -> None:
    """Forget a group, or one partition, its progress and its dead letters.

    Its subscriptions are forgotten with it, unless they are kept: then it begins again where they say.
    A partition that was forgotten holds nothing back. It is there again when the group advances over a message that
    names it in full, and then gets everything from where the group begins, as for the first time: not as replayed.
    """
    with transaction.atomic(using=conf.database):
        group = locked(name)
        if partition is None:
            forget_progress(group)
            GroupTopic.objects.filter(group=group).delete()
            DeadLetter.objects.filter(group=group).delete()
            if not keep_subscriptions:
                TopicSubscription.objects.of_group(name).delete()
            group.delete()
        else:
            _forget_partition(locked_offset(group, partition))


def locked(name: str) -> ConsumerGroup:
    """A group that nobody else changes until the transaction ends."""
    group = ConsumerGroup.objects.select_for_update(no_key=True).filter(name=name).first()
    if group is None:
        raise UnknownGroup(name)
    return group


def locked_offset(group: ConsumerGroup, value: Mapping[str, Any]) -> Offset:
    """The progress of a partition that nobody else changes until the transaction ends; its group is locked before."""
    partition = named_partition(group, value)
    offset: Offset | None = group.offsets.select_for_update().filter(partition_id=partition.uuid).first()
    if offset is None:
        raise UnknownPartition(group.name, partition.key)
    return offset


def named_partition(group: ConsumerGroup, value: Mapping[str, Any]) -> Partition:
    """The partition of a group with these values, one for each of its attributes."""
    if group.kind == Kind.SHARED:
        raise ValueError(f"{group} is shared, message by message: it has no partitions.")
    if sorted(value) != group.partition_by:
        raise ValueError(f"{group} has partitions by {', '.join(group.partition_by) or 'nothing'}: give their values.")
    return partition_of(value)


def free_claims(group: ConsumerGroup) -> None:
    """Let partitions and messages whose claims were fenced be claimed again at once."""
    if group.kind == Kind.ORDERED:
        held = group.offsets.filter(next_position__isnull=False, blocked_until__isnull=False)
        held.exclude(claimed_by="").update(**FREE)
    elif places := places_of(group):
        db.rows("fenced_deliveries", places=to_json(places).decode() if db.is_sqlite() else places)


def _work(group: ConsumerGroup) -> QuerySet[Any]:
    """What can be claimed: partitions, or messages."""
    if group.kind == Kind.ORDERED:
        return group.offsets.all()
    return Delivery.objects.filter(group_topic__in=places_of(group))


def places_of(group: ConsumerGroup) -> list[int]:
    """A group's places in its topics, by id: deliveries are found by them."""
    return [*GroupTopic.objects.filter(group=group).order_by("id").values_list("id", flat=True)]


def forget_progress(group: ConsumerGroup) -> None:
    """Delete a group's offsets and deliveries."""
    dead_letters.drop(group.pk, places_of(group))
    OffsetKeyPair.objects.filter(group_id=group.pk).delete()
    Offset.objects.filter(group=group).delete()


def _forget_partition(offset: Offset) -> None:
    """The offset is locked, so that whoever gives a message up has written its dead letter, or has lost the claim."""
    pairs: Any = offset.key_pairs
    OffsetKeyPair.objects.filter(group_id=offset.group_id, key_pair__in=pairs, offset_id=offset.pk).delete()
    DeadLetter.objects.filter(group_id=offset.group_id, partition_id=offset.partition_id).delete()
    TopicSubscription.objects.of_group(offset.group.name).filter(partition_id=offset.partition_id).delete()
    Offset.objects.filter(pk=offset.pk).delete()


def _change(group: ConsumerGroup, **changes: object) -> None:
    ConsumerGroup.objects.filter(pk=group.pk).update(**changes, updated_at=Now())
