"""Checking: what is spelled wrong in a consumer is said at start, not by a group that never gets anything."""

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage, Warning, register  # noqa: A004 - Django's own word
from django.utils.translation import gettext as _

from ccc_django.checks import TAG
from ccc_django.consumers import registry
from ccc_django.registry import message_class


@register(TAG)
def check_partitions(**_options: Any) -> list[CheckMessage]:
    """Each attribute of partition_by is one that messages of the group can have."""
    return [warning for consumer in registry.consumers() for warning in _unknown_attributes(consumer)]


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
