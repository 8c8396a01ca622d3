"""Open: a consumer gets its session on a topic, where it was; whoever had it before has lost it."""

import secrets
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from ccc_django import topics
from ccc_django.conf import conf
from ccc_django.envelope import MAX_NAME
from ccc_django.errors import SubscriptionRefused
from ccc_django.groups.seeking import find_or_make
from ccc_django.groups.sharing import LARGEST_TOKEN
from ccc_django.models import ConsumerGroup, Offset, Topic, TopicSubscription
from ccc_django.models.consumer_group import Kind
from ccc_django.models.topic_subscription import Mode
from ccc_django.partitions import partition_of
from ccc_django.sessions.session import AUTO, COMMITS, Place, Session
from ccc_django.topics import scopes
from ccc_django.topics.starts import At, Start

WHOLE = partition_of({})


def open(  # noqa: A001 - called as sessions.open
    topic: str,
    *,
    consumer_id: str,
    commit: str = AUTO,
    mode: str | None = None,
    at: At = None,
    hold: bool | None = None,
) -> Session:
    """A session of this consumer on a topic, from where it was; a new one begins with everything, or where mode says.

    With ``hold=True`` messages that it has not committed are not pruned; what is not said stays as it was. The messages
    of a queue belong to its group: a session on one only looks.
    """
    name = _name(topic, consumer_id)
    if commit not in COMMITS:
        raise ValueError(f"commit={commit!r}: {' or '.join(COMMITS)}.")
    start = Start.of(Mode.ALL if mode is None else mode, at, None)
    with transaction.atomic(using=conf.database):
        if (known := _known(name, topic, hold=hold)) is not None:
            return Session(topic=topic, consumer_id=consumer_id, commit=commit, place=_taken(known, consumer_id))
        scopes.lock()
        group = _group(name, topic, hold=hold)
        if Topic.objects.filter(name=topic, semantics=topics.QUEUE).exists():
            _look(group, topic, start)
        else:
            topics.subscribe(topic, group=name, mode=start.mode, at=start.at)
        find_or_make(name, WHOLE)
        place = _taken(group, consumer_id)
    return Session(topic=topic, consumer_id=consumer_id, commit=commit, place=place)


def _name(topic: str, consumer_id: str) -> str:
    if not topic or not isinstance(consumer_id, str) or not consumer_id:
        raise ValueError(
            f"topic={topic!r}, consumer_id={consumer_id!r}: a session has a topic and the name of a consumer."
        )
    name = f"{consumer_id}@{topic}"
    if len(name) > MAX_NAME:
        raise ValueError(f"{name!r}: consumer and topic have {MAX_NAME - 1} characters together at most.")
    return name


def _known(name: str, topic: str, *, hold: bool | None) -> ConsumerGroup | None:
    """A session that is as it is asked for: then nobody else has to be waited for, nor waits."""
    group = ConsumerGroup.objects.filter(name=name, is_session=True).first()
    if group is None or group.topics != [topic] or (hold is not None and group.holds != hold):
        return None
    is_queue = Topic.objects.filter(name=topic, semantics=topics.QUEUE).exists()
    record = TopicSubscription.objects.of_group(name).filter(topic=topic).live()
    has_offset = Offset.objects.filter(group=group, partition_id=WHOLE.uuid).exists()
    return group if has_offset and (is_queue or record.exists()) else None


def _group(name: str, topic: str, *, hold: bool | None) -> ConsumerGroup:
    """The group that a session is, by its name; it handles what it is given."""
    defaults: dict[str, Any] = {"kind": Kind.ORDERED, "partition_by": [], "handled_types": [], "is_session": True}
    group, _ = ConsumerGroup.objects.get_or_create(name=name, defaults={**defaults, "holds": bool(hold)})
    if not group.is_session:
        raise SubscriptionRefused(f"{name} is a consumer group, and no session: give the consumer another name.")
    if group.topics not in (None, [], [topic]):
        raise SubscriptionRefused(f"{name} is a session on {', '.join(group.topics)}: give the consumer another name.")
    if hold is not None and group.holds != hold:
        ConsumerGroup.objects.filter(pk=group.pk).update(holds=hold, updated_at=Now())
        group.holds = hold
    return group


def _look(group: ConsumerGroup, topic: str, start: Start) -> None:
    """A queue is its own group's: who looks has no subscription, and nothing is kept for it."""
    if group.holds:
        raise SubscriptionRefused(
            f"{topic} is a queue, and its group's alone: a session only looks, and holds nothing."
        )
    if group.topics != [topic]:
        first = start.position()
        ConsumerGroup.objects.filter(pk=group.pk).update(
            topics=[topic], start=first, begins_at=first, watermark=first - 1
        )


def _taken(group: ConsumerGroup, consumer_id: str) -> Place:
    """The offset with a new fence. The group is locked first, as by commits: none comes in between."""
    epoch = ConsumerGroup.objects.select_for_update(no_key=True).values_list("epoch", flat=True).get(pk=group.pk)
    offset = Offset.objects.get(group_id=group.pk, partition_id=WHOLE.uuid)
    token = 1 + secrets.randbelow(LARGEST_TOKEN)
    Offset.objects.filter(pk=offset.pk).update(token=token, claimed_by=consumer_id, claimed_at=Now())
    return Place(
        group=group.name,
        group_id=group.pk,
        offset_id=offset.pk,
        token=token,
        epoch=epoch,
        position=offset.last_position,
    )
