"""Declaring: what consumers say of their groups comes into the database."""

from functools import partial
from typing import TYPE_CHECKING, Any

from django.db import transaction

from ccc_django import groups, topics
from ccc_django.conf import conf
from ccc_django.consumers.projector import Projector
from ccc_django.models import ConsumerGroup, Projection, TopicSubscription
from ccc_django.models.consumer_group import Kind

if TYPE_CHECKING:
    from ccc_django.consumers.preparing import AnyConsumer

_declared: set[tuple[str, str]] = set()


def declare(consumer: "AnyConsumer") -> None:
    """Let a consumer's group exist as its code says; the first version of a projection is live."""
    options = consumer.options
    if options.is_of_topics:
        _subscribe(consumer)
    groups.register(
        consumer.group_name(),
        partition_by=options.partition_by,
        kind=Kind.SHARED if options.is_shared else Kind.ORDERED,
        handled_types=consumer.handled_types(),
        retry=options.retry,
        most_partitions=options.most_partitions,
        evolved_types=consumer.history_types(),
    )
    if isinstance(consumer, type) and issubclass(consumer, Projector):
        Projection.objects.get_or_create(name=options.group, defaults={"live_version": consumer.version})
    transaction.on_commit(partial(_declared.add, (conf.database, consumer.group_name())), using=conf.database)


def _subscribe(consumer: "AnyConsumer") -> None:
    """Where it begins is recorded once; what somebody has paused or cancelled since then stays so."""
    options = consumer.options
    scope: dict[str, Any] = {"topic": options.topic, "namespace": options.namespace, "task": options.task}
    name = consumer.group_name()
    is_known = TopicSubscription.objects.of_group(name).whole().filter(**scope).exists()
    if is_known and ConsumerGroup.objects.filter(name=name).exists():
        return
    topics.subscribe(
        group=name,
        mode=options.mode,
        at=options.at,
        **scope,
        partition_by=None if options.is_shared else options.partition_by,
        handles=consumer.handled_types(),
        retry=options.retry,
    )


def declare_once(consumer: "AnyConsumer") -> None:
    """The same, unless this process has done it."""
    if (conf.database, consumer.group_name()) not in _declared:
        declare(consumer)


def forget() -> None:
    """Nothing is declared any more."""
    _declared.clear()
