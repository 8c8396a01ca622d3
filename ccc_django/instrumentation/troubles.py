"""Troubles: what of a group failed last, pauses, or waits for somebody, with the reason: partitions, or messages."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from ccc_django.errors import UnknownGroup
from ccc_django.models import ConsumerGroup, Delivery, Offset
from ccc_django.models.offset import STOPPED_FOR

MOST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """What does not simply go on: where it is, what is wrong, until when it waits, if not for ever.

    Of an ordered group it is a partition; of a shared one a message, which has a topic instead.
    """

    partition: str | None
    topic: str | None
    state: str
    position: int | None
    attempts: int
    until: datetime | None
    error: str


def troubles(name: str, *, most: int = MOST) -> list[Trouble]:
    """What is wrong in a group, the earliest position first."""
    if not ConsumerGroup.objects.filter(name=name).exists():
        raise UnknownGroup(name)
    is_stopped = Q(blocked_until__gt=Now() + timedelta(seconds=STOPPED_FOR.total_seconds() / 2))
    is_wrong = ~Q(error="") | is_stopped
    partitions = Offset.objects.of_group(name).filter(is_wrong).order_by("next_position", "id")[:most]
    messages = Delivery.objects.filter(is_wrong, group_topic__group__name=name).order_by("position")
    messages = messages.select_related("group_topic")[:most]
    return [*map(_trouble, partitions), *map(_trouble_of, messages)][:most]


def _trouble_of(delivery: Delivery) -> Trouble:
    """A message of a shared group, which goes on without it."""
    is_stopped = delivery.blocked_until is not None and delivery.blocked_until > timezone.now() + STOPPED_FOR / 2
    pauses = "in hand" if delivery.claimed_by else "pauses" if delivery.blocked_until else "ready"
    return Trouble(
        partition=None,
        topic=delivery.group_topic.topic,
        state="stopped" if is_stopped else pauses,
        position=delivery.position,
        attempts=delivery.attempts,
        until=None if is_stopped else delivery.blocked_until,
        error=delivery.error,
    )


def _trouble(offset: Offset) -> Trouble:
    pauses = "in hand" if offset.claimed_by else "pauses" if offset.blocked_until else "ready"
    return Trouble(
        partition=offset.partition_key,
        topic=None,
        state="stopped" if offset.is_stopped else pauses,
        position=offset.next_position,
        attempts=offset.attempts,
        until=None if offset.is_stopped else offset.blocked_until,
        error=offset.error,
    )
