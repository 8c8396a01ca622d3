"""Seek and reset: partitions are put to another position, back or forth; running claims are fenced."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, Min, OuterRef
from django.db.models.functions import Greatest, Now
from django.utils.timezone import is_naive
from pydantic_core import from_json

from ccc_django import dead_letters
from ccc_django.conf import conf
from ccc_django.groups import lifecycle
from ccc_django.groups.keeping import keep
from ccc_django.groups.looking import look_at
from ccc_django.models import (
    ConsumerGroup,
    DeadLetter,
    GroupTopic,
    Offset,
    OffsetKeyPair,
    StoredMessage,
    TopicSubscription,
)
from ccc_django.models.consumer_group import Kind
from ccc_django.models.dead_letter import NO_PARTITION, DeadLetterQuerySet, LetterStatus
from ccc_django.partitions import Partition, partition_of
from ccc_django.store.reading import head

Place = int | str | datetime


def seek(name: str, *, to: Place, partition: Mapping[str, Any] | None = None) -> int:
    """Deliver from a position on, in every partition or in one; the first position that is delivered.

    ``to`` is that position, "beginning", "end", or a time. Claims are fenced, failed attempts are forgotten, and what
    was acked before is delivered as replayed.
    """
    first = position_of(to)
    look_at(name).lower_to(0)
    with transaction.atomic(using=conf.database):
        group = lifecycle.locked(name)
        keep(group.topics)
        if group.kind == Kind.SHARED and partition is None:
            seek_shared(group, lambda _: first)
        elif partition is None:
            seek_group(group, first)
        else:
            _seek_partition(group, lifecycle.named_partition(group, partition), first)
    return first


def reset(name: str, *, partition: Mapping[str, Any] | None = None, forget: bool = False) -> None:
    """Put every partition back to the group's start, or one, so that everything is delivered again; claims are fenced.

    Messages that were acked before are then delivered as replayed. With ``forget=True`` nothing is kept.
    """
    look_at(name).lower_to(0)
    with transaction.atomic(using=conf.database):
        group = lifecycle.locked(name)
        keep(group.topics)
        if partition is not None:
            _reset_partition(group, partition, forget=forget)
            return
        if group.kind == Kind.SHARED:
            seek_shared(group, lambda place: place.start)
            return
        if forget:
            lifecycle.forget_progress(group)
            group.watermark = 0
        seek_group(group, group.start)
        begin_as_subscribed(group)


def seek_shared(group: ConsumerGroup, first_of: Callable[[GroupTopic], int], topic: str = "") -> None:
    """Nothing is open any more, in one topic or in all; what lies behind the new place becomes deliveries again."""
    places = GroupTopic.objects.filter(group=group).order_by("id")
    for place in places.filter(topic=topic) if topic else places:
        first = first_of(place)
        dead_letters.drop(group.pk, [place.pk])
        GroupTopic.objects.filter(pk=place.pk).update(watermark=first - 1, is_touched=True, backfill_upto=head())
        dead_letters.pass_by(group.pk, place.topic, first)
    ConsumerGroup.objects.filter(pk=group.pk).update(epoch=F("epoch") + 1, updated_at=Now())
    lifecycle.free_claims(group)


def begin_as_subscribed(group: ConsumerGroup) -> None:
    """Partitions that have a subscription of their own begin where it says."""
    records = TopicSubscription.objects.of_group(group.name).exclude(partition_key="").order_by("id")
    group.refresh_from_db()
    for record in records:
        partition = partition_of(from_json(record.partition_key))
        _seek_partition(group, partition, record.start_position)


def position_of(place: Place) -> int:
    """The first position at or after a place in the log."""
    if isinstance(place, datetime):
        if is_naive(place):
            raise ValueError(f"to={place}: a time needs a time zone.")
        final = head()  # what is not final yet is delivered, whatever its time
        later = StoredMessage.objects.filter(
            appended_at__gt=place - timedelta(microseconds=1)
        )  # SQLite has three digits
        first: int | None = later.aggregate(first=Min("position"))["first"]
        return min(first or final + 1, final + 1)
    if place == "beginning":
        return 1
    if place == "end":
        return head() + 1
    if isinstance(place, bool) or not isinstance(place, int) or place < 1:
        raise ValueError(f'to={place!r}: a position from 1 on, "beginning", "end", or a time with a time zone.')
    return place


def seek_group(group: ConsumerGroup, first: int) -> None:
    """Nothing is open any more; what lies behind the new place is marked anew when the group advances."""
    _settle_what_came(DeadLetter.objects.filter(group=group))
    group.offsets.update(last_position=first - 1, next_position=None, head_position=0, replays=0, **lifecycle.FREE)
    needs_no_past = len(group.partition_by) <= 1  # others find partitions by messages from before the place
    ConsumerGroup.objects.filter(pk=group.pk).update(
        begins_at=first,
        watermark=min(first - 1, head() if needs_no_past else group.watermark),
        **lifecycle.FRESH_BATCH,
        **lifecycle.CAUGHT_UP,
        epoch=F("epoch") + 1,
        updated_at=Now(),
    )
    _settle(DeadLetter.objects.filter(group=group), first)


def _seek_partition(group: ConsumerGroup, partition: Partition, first: int) -> None:
    """Bounds that are too wide do no harm: what does not belong to the partition is not fetched."""
    _settle_what_came(DeadLetter.objects.filter(group=group, partition_id=partition.uuid))
    known = max(group.watermark, group.catch_up_to, group.marking_upto)
    offset = Offset.objects.filter(group=group, partition_id=partition.uuid)
    place = {"last_position": first - 1, "next_position": first if first <= known else None, "replays": 0}
    if not offset.update(**place, head_position=Greatest("head_position", known), **lifecycle.FREE):
        _make(group, partition, **place, head_position=known)
    _settle(DeadLetter.objects.filter(group=group, partition_id=partition.uuid), first)


def _reset_partition(group: ConsumerGroup, value: Mapping[str, Any], *, forget: bool) -> None:
    offset = lifecycle.locked_offset(group, value)
    if forget:
        Offset.objects.filter(pk=offset.pk).update(replay_until=0)
    _seek_partition(group, lifecycle.named_partition(group, value), group.start)


def find_or_make(name: str, partition: Partition, *, first: int | None = None) -> None:
    """Let a group know a partition, before its first message is advanced over; it may begin at a place of its own."""
    offset = Offset.objects.filter(group__name=name, partition_id=partition.uuid)
    if first is None and offset.exists():
        return
    with transaction.atomic(using=conf.database):
        group = lifecycle.locked(name)
        keep(group.topics)
        if first is not None and offset.filter(replay_until=0).exists():  # it has not begun
            _seek_partition(group, partition, first)
        elif not offset.exists():
            known = max(group.watermark, group.catch_up_to, group.marking_upto)
            begins_at = group.begins_at if first is None else first
            place = {"last_position": begins_at - 1, "next_position": begins_at if begins_at <= known else None}
            _make(group, partition, **place, head_position=known)


def _make(group: ConsumerGroup, partition: Partition, **place: int | None) -> None:
    pairs = [pair.id for pair in partition.pairs]
    made = Offset.objects.create(
        group=group, partition_id=partition.uuid, partition_key=partition.key, key_pairs=pairs, **place
    )
    OffsetKeyPair.objects.bulk_create(OffsetKeyPair(group_id=group.pk, key_pair=p, offset_id=made.pk) for p in pairs)


def _settle_what_came(letters: DeadLetterQuerySet) -> None:
    """Dead letters that came with everything else are done, where their partition is behind them."""
    partition = Offset.objects.filter(group=OuterRef("group"), partition_id=OuterRef("partition_id"))
    came = letters.filter(Exists(partition.filter(last_position__gte=OuterRef("position"))), status=LetterStatus.COMING)
    came.update(status=LetterStatus.REPLAYED)


def _settle(letters: DeadLetterQuerySet, first: int) -> None:
    """Dead letters behind the new place will be delivered with everything else; of the others none is on its way."""
    waiting = letters.filter(status__in=[LetterStatus.OPEN, LetterStatus.REPLAYING, LetterStatus.COMING])
    waiting.filter(position__gte=first).update(status=LetterStatus.COMING, reason="seek", decided_at=Now())
    letters.filter(status=LetterStatus.COMING, partition_id=NO_PARTITION).update(status=LetterStatus.REPLAYED)
    waiting.exclude(status=LetterStatus.OPEN).filter(position__lt=first).update(status=LetterStatus.OPEN)
