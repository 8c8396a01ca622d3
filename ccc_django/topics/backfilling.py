"""Backfill: what was in a topic before a group came becomes open work, batch by batch, while everything else goes on.

Workers do it by the way when they look for work. It needs no state but the group's place in the topic, so that whoever
comes after a crash goes on, and what is published meanwhile comes behind it, once.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.db.models import Value
from django.db.models.functions import Greatest, Now

from ccc_django import groups, wording
from ccc_django.conf import conf
from ccc_django.errors import SubscriptionRefused, UnknownSubscription, UnknownTopic
from ccc_django.groups.expanding import expand
from ccc_django.groups.lifecycle import locked
from ccc_django.groups.previews import MOST_COUNTED
from ccc_django.models import GroupTopic, StoredMessage, Topic
from ccc_django.models.consumer_group import Kind
from ccc_django.models.topic_subscription import SubscriptionStatus
from ccc_django.topics.completing import pass_ordered

BATCH = 10_000  # messages a transaction
PAUSE = 0.05  # seconds until somebody looks again who has found another at it, or may not go on yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Backfill:
    """How far a group has come with what was in a topic before it.

    It began at ``start``, is at ``position`` and ends at ``upto``. ``remaining`` messages are counted up to ten
    thousand. ``rate`` is the most messages a second that anybody wants.
    """

    topic: str
    group: str
    status: str
    start: int
    position: int
    upto: int
    remaining: int
    rate: float | None

    @property
    def is_complete(self) -> bool:
        """Whether all of it is open work, or done."""
        return self.position >= self.upto

    @property
    def fraction(self) -> float:
        """How much of it is, in positions, from 0 to 1."""
        length = self.upto - self.start + 1
        return 1.0 if self.is_complete else max(self.position - self.start + 1, 0) / max(length, 1)


Progress = Callable[[Backfill], object]  # told after every batch


def backfill_status(topic: str, *, group: str) -> Backfill:
    """How far a group has come with what was in a topic before it."""
    return _state(_place(topic, group))


def _state(place: GroupTopic) -> Backfill:
    position = _position(place)
    left = StoredMessage.objects.filter(topic=place.topic).after(position).upto(place.backfill_upto)
    if place.group.handled_types:
        left = left.of_types(place.group.handled_types)
    return Backfill(
        topic=place.topic,
        group=place.group.name,
        status=place.subscription.status,
        start=place.start,
        position=position,
        upto=place.backfill_upto,
        remaining=left.order_by()[: MOST_COUNTED + 1].count() if position < place.backfill_upto else 0,
        rate=place.backfill_rate,
    )


def _position(place: GroupTopic) -> int:
    return place.watermark if place.group.kind == Kind.SHARED else place.group.watermark


def backfill(topic: str, *, group: str, within: timedelta | None = None, progress: Progress | None = None) -> Backfill:
    """Make open work of what was there before the group came, here and now, as far as its rate allows.

    Several may do it at once, and workers consume meanwhile. Whoever is interrupted calls again, or leaves it to them.
    """
    deadline = None if within is None else time.monotonic() + within.total_seconds()
    while True:
        place = _place(topic, group)
        if place.group.is_session:
            raise SubscriptionRefused(f"{group} is a session, which reads by itself: there is nothing to make for it.")
        if progress is not None:
            progress(_state(place))
        if _position(place) >= place.backfill_upto or (deadline is not None and time.monotonic() >= deadline):
            return _state(place)
        status = place.subscription.status
        if status != SubscriptionStatus.ACTIVE:
            raise SubscriptionRefused(f"{group} gets nothing of {topic} now, it is {status}: topics.resume first.")
        if not (expand(group, most=BATCH) or groups.advance(group)):
            time.sleep(PAUSE)


def limit_backfill(topic: str, *, group: str, rate: float | None) -> Backfill:
    """Let no more messages a second become deliveries of what was there before the group came; None lets all."""
    if rate is not None and (isinstance(rate, bool) or not isinstance(rate, int | float) or not rate > 0):
        raise ValueError(f"rate={rate!r}: messages a second, more than none; or None, as many as there are.")
    place = _place(topic, group)
    if place.group.kind == Kind.ORDERED:
        raise SubscriptionRefused(f"{group} is ordered, and has no deliveries: let fewer workers consume it.")
    GroupTopic.objects.filter(pk=place.pk).update(backfill_rate=rate, backfilled_at=Now() - timedelta(seconds=1))
    return backfill_status(topic, group=group)


def cancel_backfill(topic: str, *, group: str) -> int:
    """Pass over what was there before the group came and is not open work yet; how many messages that is.

    What is open stays so. The group goes on with what was published since it came.
    """
    with transaction.atomic(using=conf.database):
        _place(topic, group)
        known = locked(group)
        place = _place(topic, group)
        if known.kind == Kind.ORDERED and known.topics != [topic]:
            raise SubscriptionRefused(f"{known} gets {', '.join(known.topics or [])} in one order: seek it instead.")
        position, upto = _position(place), place.backfill_upto
        if position >= upto:
            return 0
        passed = StoredMessage.objects.filter(topic=topic).after(position).upto(upto).order_by().count()
        if known.kind == Kind.ORDERED:
            pass_ordered(known, place, upto)
        GroupTopic.objects.filter(pk=place.pk).update(
            watermark=Greatest("watermark", Value(upto)), is_touched=True, backfill_upto=position
        )
    wording.backfill_cancelled(group=group, topic=topic, position=position, count=passed)
    return passed


def _place(topic: str, group: str) -> GroupTopic:
    place = GroupTopic.objects.filter(topic=topic, group__name=group).select_related("group", "subscription").first()
    if place is None and not Topic.objects.filter(name=topic).exists():
        raise UnknownTopic(topic)
    if place is None:
        raise UnknownSubscription(f"{group} does not get {topic}: topics.subscribe({topic!r}, group={group!r}).")
    return place
