"""Declaring: what consumers say of their groups comes into the database."""

from functools import partial
from typing import TYPE_CHECKING

from django.db import transaction

from ccc_django import groups
from ccc_django.conf import conf
from ccc_django.consumers.projector import Projector
from ccc_django.models import Projection

if TYPE_CHECKING:
    from ccc_django.consumers.preparing import AnyConsumer

_declared: set[tuple[str, str]] = set()


def declare(consumer: "AnyConsumer") -> None:
    """Let a consumer's group exist as its code says; the first version of a projection is live."""
    options = consumer.options
    groups.register(
        consumer.group_name(),
        partition_by=options.partition_by,
        handled_types=consumer.handled_types(),
        retry=options.retry,
        most_partitions=options.most_partitions,
    )
    if isinstance(consumer, type) and issubclass(consumer, Projector):
        Projection.objects.get_or_create(name=options.group, defaults={"live_version": consumer.version})
    transaction.on_commit(partial(_declared.add, (conf.database, consumer.group_name())), using=conf.database)


def declare_once(consumer: "AnyConsumer") -> None:
    """The same, unless this process has done it."""
    if (conf.database, consumer.group_name()) not in _declared:
        declare(consumer)


def forget() -> None:
    """Nothing is declared any more."""
    _declared.clear()
