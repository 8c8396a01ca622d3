"""Restart: a subscription begins somewhere else, for what was not touched yet or for everything."""

from datetime import timedelta
from typing import Literal

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest, Now

from ccc_django.conf import conf
from ccc_django.groups.keeping import keep
from ccc_django.groups.lifecycle import CAUGHT_UP, FREE, FRESH_BATCH, locked
from ccc_django.groups.looking import forget
from ccc_django.groups.seeking import begin_as_subscribed, seek_group, seek_shared
from ccc_django.models import ConsumerGroup, GroupTopic, TopicSubscription
from ccc_django.models.consumer_group import Kind
from ccc_django.store.reading import head
from ccc_django.topics import scopes
from ccc_django.topics.records import record_of
from ccc_django.topics.scopes import Scope
from ccc_django.topics.starts import At, Start

ApplyTo = Literal["untouched", "all"]


def restart(
    topic: str = "",
    *,
    group: str,
    mode: str | None = None,
    at: At = None,
    lookback: timedelta | None = None,
    apply_to: ApplyTo = "untouched",
    namespace: str = "",
    task: str = "",
) -> TopicSubscription:
    """Let a subscription begin at another place, as if it had been recorded so.

    What a group has not touched yet begins there: topics, partitions, and those to come. With ``apply_to="all"``
    everything goes there: messages that were acked are delivered again, others passed over; claims are fenced.
    """
    if apply_to not in {"untouched", "all"}:
        raise ValueError(f'apply_to={apply_to!r}: "untouched" or "all".')
    start = Start.of(mode, at, lookback)
    scope = Scope(topic=topic, namespace=namespace, task=task)
    with transaction.atomic(using=conf.database):
        scopes.lock()
        known = locked(group)
        record = record_of(group, scope)
        keep(known.topics)
        columns = start.columns()
        first = columns["start_position"]
        TopicSubscription.objects.filter(pk=record.pk).update(**columns)
        move = _move_shared if known.kind == Kind.SHARED else _move_ordered
        move(known, record, first, is_all=apply_to == "all")
        record.refresh_from_db()
    forget()
    return record


def _move_shared(group: ConsumerGroup, record: TopicSubscription, first: int, *, is_all: bool) -> None:
    places = GroupTopic.objects.filter(group=group, subscription=record)
    moved = [*(places if is_all else places.filter(is_touched=False))]
    places.update(start=first)
    if is_all:
        for place in moved:
            seek_shared(group, lambda _: first, topic=place.topic)
    else:
        GroupTopic.objects.filter(pk__in=[place.pk for place in moved]).update(
            watermark=first - 1, backfill_upto=head()
        )


def _move_ordered(group: ConsumerGroup, record: TopicSubscription, first: int, *, is_all: bool) -> None:
    GroupTopic.objects.filter(group=group, subscription=record).update(start=first)
    ConsumerGroup.objects.filter(pk=group.pk).update(start=first)
    if is_all:
        seek_group(group, first)
        begin_as_subscribed(group)
        return
    known = max(group.watermark, group.catch_up_to, group.marking_upto)
    records = TopicSubscription.objects.of_group(group.name).exclude(partition_key="")
    untouched = group.offsets.filter(replay_until=0).exclude(partition_id__in=records.values("partition_id"))
    untouched.update(
        last_position=first - 1,
        next_position=first if first <= known else None,
        head_position=Greatest("head_position", known),
        **FREE,
    )
    is_composite = len(group.partition_by) > 1
    ConsumerGroup.objects.filter(pk=group.pk).update(
        begins_at=first,
        watermark=0 if is_composite else min(group.watermark, first - 1) if group.offsets.exists() else first - 1,
        **FRESH_BATCH,
        **CAUGHT_UP,
        epoch=F("epoch") + 1,
        updated_at=Now(),
    )
