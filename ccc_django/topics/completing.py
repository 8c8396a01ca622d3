"""Completion: who has done a message, derived from cursors, deliveries and offsets; and what is given up by its age."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Case, F, Max, Q, Value, When
from django.db.models.functions import Greatest, Now
from pydantic_core import to_json

from ccc_django import db, dead_letters, wording
from ccc_django.conf import conf
from ccc_django.errors import SubscriptionRefused, UnknownSubscription, UnknownTopic
from ccc_django.groups.lifecycle import FREE
from ccc_django.messages import Message
from ccc_django.models import ConsumerGroup, Delivery, GroupTopic, StoredMessage, Topic
from ccc_django.models.consumer_group import Kind
from ccc_django.models.topic_subscription import LIVE
from ccc_django.store.reading import head


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Which groups are to get a message, and which of them have not done it yet."""

    required: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def required_consumer_groups(self) -> int:
        """How many are to get it."""
        return len(self.required)

    @property
    def completed_consumer_groups(self) -> int:
        """How many have done it, given it up, or passed over it."""
        return len(self.required) - len(self.missing)

    @property
    def is_complete(self) -> bool:
        """Whether nobody waits for it."""
        return not self.missing


def progress(message: Message) -> Progress:
    """How far a message has come, exactly, at this moment."""
    position, topic = message.position, message.envelope.topic
    if position is None:
        raise ValueError("A message that is not in the log has come nowhere: publish it.")
    places = GroupTopic.objects.filter(
        topic=topic, start__lte=position, subscription__status__in=LIVE, group__holds=True
    )
    found = [*places.select_related("group").order_by("group__name")]
    missing = tuple(place.group.name for place in found if not _is_done(place, message.type, position))
    return Progress(required=tuple(place.group.name for place in found), missing=missing)


def _is_done(place: GroupTopic, message_type: str, position: int) -> bool:
    group = place.group
    if group.kind == Kind.ORDERED:
        return _is_done_in_order(group, message_type, position)
    return position <= place.watermark and not Delivery.objects.filter(group_topic=place, position=position).exists()


def _is_done_in_order(group: ConsumerGroup, message_type: str, position: int) -> bool:
    """No partition that it belongs to is behind it."""
    is_passed = position < group.begins_at  # by a seek or by force: partitions to come begin behind it
    if not is_passed and (position > group.watermark or group.marking_upto >= position):
        return False
    if message_type not in group.handled_types:
        return True
    if not group.partition_by:
        return not group.offsets.filter(last_position__lt=position).exists()
    listed: dict[str, Any] = {"names": group.partition_by, "types": [], "topics": None}
    if db.is_sqlite():
        listed = {what: None if value is None else to_json(value).decode() for what, value in listed.items()}
    rows = db.rows("carried_values", after=position - 1, upto=position, most=1, every=True, **listed)
    pairs = [row[2].hex() if isinstance(row[2], bytes) else row[2].hex for row in rows if row[3] is not None]
    names = {row[3] for row in rows if row[3] is not None}
    if not names:
        return True
    given = to_json(pairs).decode() if db.is_sqlite() else pairs
    behind = db.rows("partitions_behind", group=group.pk, pairs=given, names=len(names), position=position)
    return not behind


def force_complete(topic: str, *, older_than: timedelta, group: str | None = None) -> int:
    """Let groups pass over everything of a topic that is older, done or not; how many open messages were passed.

    Of an ordered group every partition goes on behind it. Claims are fenced.
    """
    if not isinstance(older_than, timedelta) or older_than < timedelta(0):
        raise ValueError(f"older_than={older_than!r}: a length of time.")
    places = _places(topic, group)
    upto, passed = _newest(topic, older_than), 0
    for place in places if upto else []:
        with transaction.atomic(using=conf.database):
            known = ConsumerGroup.objects.select_for_update(no_key=True).filter(pk=place.group_id).first()
            current = GroupTopic.objects.filter(pk=place.pk).first()
            if known is not None and current is not None:  # it may have left meanwhile
                passed += (_pass_shared if known.kind == Kind.SHARED else pass_ordered)(known, current, upto)
    if passed:
        wording.forced(topic=topic, position=upto, count=passed)
    return passed


def _places(topic: str, group: str | None) -> list[GroupTopic]:
    """The groups of a topic, or one; refused before anything is done, if one cannot be moved in this topic alone."""
    if not Topic.objects.filter(name=topic).exists():
        raise UnknownTopic(topic)
    places = [*GroupTopic.objects.filter(topic=topic).select_related("group").order_by("group_id")]
    concerned = [place for place in places if group in {None, place.group.name}]
    if group is not None and not concerned:
        raise UnknownSubscription(f"{group} does not get {topic}.")
    for known in (place.group for place in concerned):
        if known.kind == Kind.ORDERED and known.topics != [topic]:
            raise SubscriptionRefused(f"{known} gets {', '.join(known.topics or [])} in one order: seek it instead.")
    return concerned


def _newest(topic: str, older_than: timedelta) -> int:
    """The last position of a topic that is older, and final."""
    old = StoredMessage.objects.filter(topic=topic, appended_at__lt=Now() - older_than)
    newest: int | None = old.aggregate(last=Max("position"))["last"]
    return min(newest or 0, head())


def _pass_shared(group: ConsumerGroup, place: GroupTopic, upto: int) -> int:
    coming = StoredMessage.objects.filter(topic=place.topic, position__gt=place.watermark, position__lte=upto)
    passed = coming.count()
    count = dead_letters.drop(group.pk, [place.pk], upto=upto)
    GroupTopic.objects.filter(pk=place.pk).update(watermark=Greatest("watermark", Value(upto)))
    return passed + count


def pass_ordered(group: ConsumerGroup, place: GroupTopic, upto: int) -> int:
    """Partitions go on behind the position; those to come begin there. It has one order over all of its topics."""
    behind = group.offsets.filter(last_position__lt=upto)
    coming = StoredMessage.objects.filter(topic=place.topic, position__gt=group.watermark, position__lte=upto)
    passed = behind.filter(next_position__lte=upto).count()
    passed += coming.filter(position__gte=group.begins_at).of_types(group.handled_types).count()
    behind.update(
        last_position=upto,
        next_position=Case(When(Q(head_position__gt=upto) | Q(replays__gt=0), then=Value(upto + 1)), default=None),
        **FREE,
    )
    ConsumerGroup.objects.filter(pk=group.pk).update(
        begins_at=Greatest("begins_at", Value(upto + 1)), epoch=F("epoch") + 1, updated_at=Now()
    )
    return passed
