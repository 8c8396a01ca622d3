"""Checking: what is spelled wrong in a consumer is said at start, not by a group that never gets anything."""

from collections.abc import Iterator, Sequence
from typing import Any

from django.core.checks import CheckMessage, Tags, Warning, register  # noqa: A004 - Django's own word
from django.db import connections
from django.utils.translation import gettext as _

from ccc_django.checks import TAG
from ccc_django.conf import conf
from ccc_django.consumers import registry
from ccc_django.models import Topic
from ccc_django.registry import message_class
from ccc_django.topics.histories import at_risk, evolved_types


@register(TAG)
def check_partitions(**_options: Any) -> list[CheckMessage]:
    """Each attribute of partition_by is one that messages of the group can have."""
    return [warning for consumer in registry.consumers() for warning in _unknown_attributes(consumer)]


@register(TAG, Tags.database)
def check_histories(databases: Sequence[str] | None = None, **_options: Any) -> list[CheckMessage]:
    """Whoever reads messages again from their beginning knows which topics do not keep them."""
    if conf.database not in (databases or ()) or not _is_migrated():
        return []
    evolved = {name: {*types} for name, types in evolved_types().items()}
    for consumer in registry.consumers():
        evolved.setdefault(consumer.group_name(), set()).update(consumer.history_types())
    return [
        Warning(
            _("The topic “%(topic)s” does not keep its messages for ever. %(problem)s")
            % {"topic": topic.name, "problem": problem},
            hint=_("Publish them in a topic without retention, or in none."),
            id="ccc_django.W004",
        )
        for topic in Topic.objects.retained().order_by("name")
        for problem in at_risk(topic.name, evolved)
    ]


def _is_migrated() -> bool:
    """Checks also run before the first migrate, and before that of a new version."""
    with connections[conf.database].cursor() as cursor:
        introspection = connections[conf.database].introspection
        table = Topic._meta.db_table  # noqa: SLF001 - Django's documented interface
        if table not in introspection.table_names(cursor):
            return False
        return "pruned_upto" in {column.name for column in introspection.get_table_description(cursor, table)}


def _unknown_attributes(consumer: registry.AnyConsumer) -> Iterator[CheckMessage]:
    classes = [message_class(name) for name in consumer.handled_types()]
    if None in classes:  # what has no class here may have anything
        return
    found = {rule.name for each in classes if each is not None for rule in each.indexed_fields()}
    for name in consumer.options.partition_by:
        if name not in found:
            message = _("%(group)s is partitioned by “%(name)s”, which no message that it handles is found by.")
            hint = _("They are found by: %s. Without the attribute a partition has nothing to do.")
            yield Warning(
                message % {"group": consumer.group_name(), "name": name},
                hint=hint % (", ".join(sorted(found)) or "-"),
                id="ccc_django.W003",
            )
