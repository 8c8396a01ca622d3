"""Subscribe: where a group begins is recorded before anything is read, and never forgotten."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any, TypedDict, Unpack

from django.db import transaction
from django.db.models import Case, F, When
from django.db.models.functions import Now

from ccc_django import groups, wording
from ccc_django.conf import conf
from ccc_django.errors import SubscriptionRefused, UnknownTopic
from ccc_django.expressions import Types
from ccc_django.groups.lifecycle import named_partition
from ccc_django.groups.seeking import find_or_make
from ccc_django.models import ConsumerGroup, Topic, TopicSubscription
from ccc_django.models.consumer_group import Kind
from ccc_django.models.topic import Semantics
from ccc_django.models.topic_subscription import Mode, SubscriptionStatus
from ccc_django.partitions import Partition
from ccc_django.retry import Retry
from ccc_django.topics import scopes
from ccc_django.topics.configuring import configure
from ccc_django.topics.losing import go_on
from ccc_django.topics.scopes import Scope
from ccc_django.topics.starts import At, Start

ENDED = (SubscriptionStatus.CANCELLED, SubscriptionStatus.DEAD)


class Options(TypedDict, total=False):
    """What a group is, if it has to be made, and how often it is expected to say that it is there, in seconds."""

    kind: str | None
    partition_by: str | Iterable[str] | None
    handles: Types
    retry: Retry | None
    heartbeat_interval: int
    heartbeat_timeout: int


def subscribe(
    topic: str = "",
    *,
    group: str,
    mode: str | None = None,
    at: At = None,
    lookback: timedelta | None = None,
    namespace: str = "",
    task: str = "",
    partition: Mapping[str, Any] | None = None,
    **options: Unpack[Options],
) -> TopicSubscription:
    """Let a group get a topic, or everything in a namespace or of a task, from the place that the mode says.

    The first mode wins: whoever subscribes again keeps the place. A subscription that was cancelled or has died goes on
    where it stood, a paused one stays paused. The group is made if it is not there: shared, or ordered with
    ``partition_by`` and ``handles``. ``partition`` lets one partition of an ordered group begin at a place of its own.
    """
    start = Start.of(mode, at, lookback)
    scope = Scope(topic=topic, namespace=namespace, task=task)
    beats = _beats(options)
    with transaction.atomic(using=conf.database):
        scopes.lock()
        made = _registered(group, options)
        if topic and _refuse_or_make(topic, made).is_queue and mode is None:
            start = Start.of(Mode.ALL, None, None)
        if partition is None:
            record = _recorded(made, scope, start, beats)
        else:
            record = _recorded_for_partition(made, scope, named_partition(made, partition), start)
        return _revived(record)


def _beats(options: Options) -> dict[str, int]:
    """How often heartbeats are expected, checked before anything is changed."""
    if unknown := {*options} - {*Options.__annotations__}:
        raise TypeError(f"{', '.join(sorted(unknown))}: a subscription has no such option.")
    names = ("heartbeat_interval", "heartbeat_timeout")
    beats: dict[str, Any] = {name: options.get(name) for name in names if options.get(name) is not None}
    return beats


def _refuse_beats(interval: int, timeout: int) -> None:
    if not 0 < interval <= timeout:
        raise ValueError(f"heartbeats every {interval} s, time-out {timeout} s: the time-out is not the shorter one.")


def _registered(name: str, options: Options) -> ConsumerGroup:
    """The group, locked; ordered groups have partitions, and one that is there stays what it is."""
    known = ConsumerGroup.objects.select_for_update(no_key=True).filter(name=name).first()
    by, handles, retry = options.get("partition_by"), options.get("handles") or (), options.get("retry")
    kind = options.get("kind") or (Kind.ORDERED if by is not None else known.kind if known else Kind.SHARED)
    if known is not None and known.kind == kind and by is None and not handles and retry is None:
        return known
    if kind == Kind.ORDERED and not (handles or known):
        raise SubscriptionRefused(
            f"{name} would be an ordered group, which is told what it handles: handles=[…] and partition_by=[…]. A "
            "shared one gets everything."
        )
    partition_by: Any = by if by is not None else known.partition_by if known else ()
    types: Any = handles or (known.handled_types if known else ())
    return groups.register(name, partition_by=partition_by, handled_types=types, kind=kind, retry=retry)


def _refuse_or_make(name: str, group: ConsumerGroup) -> Topic:
    """Whoever subscribes to a topic that nobody knows yet makes it publish/subscribe."""
    topic = Topic.objects.filter(name=name).first()
    if topic is None:
        if conf.topics_strict:
            raise UnknownTopic(name)
        return configure(name, semantics=Semantics.PUB_SUB)
    if topic.is_queue and topic.group_name != group.name:
        raise SubscriptionRefused(
            f"{name} is a queue: each message goes to one worker of its single group, {topic.group_name}. Work as that "
            f'group, or let every group get every message: topics.configure("{name}", semantics=PUB_SUB).'
        )
    return topic


def _recorded(group: ConsumerGroup, scope: Scope, start: Start, beats: dict[str, int]) -> TopicSubscription:
    """The record, which is made if it is not there; the group gets what it covers."""
    known = TopicSubscription.objects.of_group(group.name).whole()
    record: TopicSubscription | None = known.filter(**scope.columns).first()
    before = (60, 300) if record is None else (record.heartbeat_interval, record.heartbeat_timeout)
    _refuse_beats(beats.get("heartbeat_interval", before[0]), beats.get("heartbeat_timeout", before[1]))
    if record is None:
        _refuse_second(group, known.first())
        at = start.at if not isinstance(start.at, int) else None
        record = TopicSubscription.objects.create(
            group_name=group.name,
            **scope.columns,
            mode=start.mode,
            start_position=start.position(),
            start_at=at,
            **beats,
        )
        wording.subscribed(group=group.name, scope=str(scope), mode=record.mode, position=record.start_position)
    elif beats:
        TopicSubscription.objects.filter(pk=record.pk).update(**beats)
    scopes.resolve(group)
    return record


def _refuse_second(group: ConsumerGroup, other: TopicSubscription | None) -> None:
    if group.kind == Kind.SHARED:
        return
    if other is not None:
        raise SubscriptionRefused(
            f"{group} is ordered, and has one order over everything that it gets: {other.scope}. Subscribe it to a "
            "namespace or a task instead, or let another group get this."
        )
    if group.topics is None and (group.watermark or group.offsets.exists()):
        raise SubscriptionRefused(
            f"{group} gets the whole log and is at work. Let another group subscribe, or reset it."
        )


def _recorded_for_partition(
    group: ConsumerGroup, scope: Scope, partition: Partition, start: Start
) -> TopicSubscription:
    """One partition begins at its own place, if it has not begun."""
    if not scope.topic or scope.topic not in (group.topics or ()):
        raise SubscriptionRefused(f"{group} does not get {scope}: subscribe the group first, and then its partition.")
    record, is_new = TopicSubscription.objects.get_or_create(
        group_name=group.name,
        topic=scope.topic,
        partition_id=partition.uuid,
        defaults={
            "partition_key": partition.key,
            **start.columns(),
        },
    )
    if is_new:
        find_or_make(group.name, partition, first=record.start_position)
    return record


def _revived(record: TopicSubscription) -> TopicSubscription:
    """What was cancelled or has died goes on where it stood; what is paused stays so."""
    if record.status in ENDED:
        go_on([record.pk])
        beaten = Case(When(last_heartbeat_at__isnull=False, then=Now()), default=F("last_heartbeat_at"))
        TopicSubscription.objects.filter(pk=record.pk).update(
            status=SubscriptionStatus.ACTIVE, last_active_at=Now(), last_heartbeat_at=beaten
        )
        wording.revived(group=record.group_name, scope=record.scope)
    record.refresh_from_db()
    return record
