"""Configure: what a topic is: a queue or publish/subscribe, in which namespace, of which task, kept for how long."""

from datetime import timedelta
from enum import Enum
from typing import Any, Final

from django.db import transaction
from django.db.models.functions import Now

from ccc_django import groups
from ccc_django.conf import conf
from ccc_django.envelope import MAX_NAME
from ccc_django.errors import KindChanged, SubscriptionRefused, TopicInUse
from ccc_django.models import ConsumerGroup, GroupTopic, Topic, TopicSubscription
from ccc_django.models.consumer_group import Kind
from ccc_django.models.topic import Semantics
from ccc_django.models.topic_subscription import Mode
from ccc_django.topics import scopes
from ccc_django.topics.open_work import open_groups


class Unchanged(Enum):
    """What is not given stays as it is."""

    UNCHANGED = 0


LONGEST = timedelta(days=36_500)
UNCHANGED: Final = Unchanged.UNCHANGED


def configure(  # noqa: PLR0913 - everything that a topic is
    name: str,
    *,
    semantics: str | None = None,
    namespace: str | None = None,
    task: str | None = None,
    group: str | None = None,
    retention: timedelta | Unchanged | None = UNCHANGED,
    unsubscribed_retention: timedelta | Unchanged | None = UNCHANGED,
    keep_partial: timedelta | Unchanged | None = UNCHANGED,
    force: bool = False,
) -> Topic:
    """Make a topic, or change it; what is not given stays as it is, and a new topic is a queue.

    A queue has one group, named after it unless ``group`` says otherwise, that begins at the beginning. Semantics do
    not change while messages are open, unless with ``force=True``: ``topics.preview`` says what that would do.
    Messages that everybody has done are pruned when they are older than ``retention``; where nobody has subscribed,
    than ``unsubscribed_retention``. None keeps them. What partitions to come may need is kept for ``keep_partial``.
    """
    lengths = {
        "retention": retention, "unsubscribed_retention": unsubscribed_retention, "keep_partial": keep_partial,
    }  # fmt: skip
    given = _given(name, semantics, namespace, task, lengths)
    with transaction.atomic(using=conf.database):
        scopes.lock()
        topic = Topic.objects.select_for_update(no_key=True).filter(name=name).first()
        if topic is None:
            topic = Topic.objects.create(**{"semantics": Semantics.QUEUE, **given}, name=name)
        else:
            if given.get("semantics", topic.semantics) != topic.semantics:
                _refuse_with_open_messages(topic, force=force)
            Topic.objects.filter(pk=topic.pk).update(**given, updated_at=Now())
            topic.refresh_from_db()
        if topic.is_queue:
            _give_to_one_group(topic, group, force=force)
        elif group is not None:
            raise ValueError(f"group={group!r}: {name} is for every group that subscribes; a queue has one group.")
        elif topic.group_name:
            Topic.objects.filter(pk=topic.pk).update(group_name="")
        scopes.resolve_all(_concerned(topic))
        topic.refresh_from_db()
    return topic


def _given(
    name: str,
    semantics: str | None,
    namespace: str | None,
    task: str | None,
    lengths: dict[str, timedelta | Unchanged | None],
) -> dict[str, Any]:
    if not name or len(name) > MAX_NAME:
        raise ValueError(f"{name!r}: a topic has a name, of {MAX_NAME} characters at most.")
    if semantics is not None and semantics not in Semantics.values:
        raise ValueError(f"{semantics!r} is no semantics: {', '.join(Semantics.values)}.")
    given: dict[str, Any] = {"semantics": semantics, "namespace": namespace, "task": task}
    given = {what: value for what, value in given.items() if value is not None}
    for what, length in lengths.items():
        if length is not UNCHANGED:
            if length is not None and not (isinstance(length, timedelta) and timedelta(0) < length <= LONGEST):
                raise ValueError(
                    f"{what}={length!r}: a length of time, a hundred years at most; None keeps everything."
                )
            given[what] = length
    return given


def _refuse_with_open_messages(topic: Topic, *, force: bool) -> None:
    if not force and (names := open_groups(topic.name)):
        raise TopicInUse(
            f"{topic} is {topic.get_semantics_display()}, and {', '.join(names)} has open messages of it. Let them be "
            "done, or force the change after a look at topics.preview."
        )


def _give_to_one_group(topic: Topic, group: str | None, *, force: bool) -> None:
    """A queue's single group: the one that is named, the one that it has, or one of its own name."""
    places = GroupTopic.objects.filter(topic=topic.name).select_related("group", "subscription")
    others = {place.group.name: place.subscription.scope for place in places.order_by("group__name")}
    name = group or topic.group_name or (next(iter(others)) if len(others) == 1 else topic.name)
    strangers = [each for each in others if each != name]
    if strangers and not force:
        raise SubscriptionRefused(
            f"{topic} would be a queue with one group, and others get it: "
            f"{', '.join(f'{each} by its subscription to {others[each]}' for each in strangers)}. Name the group that "
            "stays (group=…), and let the others leave (topics.remove_group), or force it after topics.preview."
        )
    if name not in others:
        known = ConsumerGroup.objects.filter(name=name).first()
        if known is None:
            groups.register(name, kind=Kind.SHARED)
        elif known.kind != Kind.SHARED:
            raise KindChanged(name, known.kind, Kind.SHARED)
        TopicSubscription.objects.get_or_create(
            group_name=name, topic=topic.name, defaults={"mode": Mode.ALL, "start_position": 1}
        )
    TopicSubscription.objects.filter(topic=topic.name).exclude(group_name=name).delete()
    topic.group_name = name
    topic.save(update_fields=["group_name"])
    scopes.resolve_all(strangers)


def _concerned(topic: Topic) -> set[str]:
    """Groups that get the topic, did so far, or have subscribed to more than one."""
    records = TopicSubscription.objects.whole()
    there = GroupTopic.objects.filter(topic=topic.name).values_list("group__name", flat=True)
    return {*there, *records.filter(topic__in=["", topic.name]).values_list("group_name", flat=True)}
