"""Register: a group exists from now on, with what it handles and how it is partitioned."""

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Min

from ccc_django.conf import conf
from ccc_django.errors import PartitionChanged
from ccc_django.expressions import Types, type_names
from ccc_django.groups.lifecycle import free_claims
from ccc_django.models import ConsumerGroup


def register(
    name: str, *, partition_by: str | Iterable[str], handled_types: Types, replace: bool = False
) -> ConsumerGroup:
    """Make a group, or let it handle more types; registering never takes a type away, unless with ``replace=True``.

    So two versions of code can run side by side.
    """
    names = sorted({partition_by} if isinstance(partition_by, str) else {*partition_by})
    types = sorted({*type_names(handled_types)})
    with transaction.atomic(using=conf.database):
        made, is_new = ConsumerGroup.objects.get_or_create(
            name=name, defaults={"partition_by": names, "handled_types": types}
        )
        group = made if is_new else ConsumerGroup.objects.select_for_update(no_key=True).get(pk=made.pk)
        if group.partition_by != names:
            _partition_anew(group, names)
        _handle(group, types, replace=replace)
    return group


def _partition_anew(group: ConsumerGroup, names: list[str]) -> None:
    if group.offsets.exists():
        raise PartitionChanged(
            f"{group} is partitioned by {', '.join(group.partition_by) or 'nothing'} and has progress by it. Register "
            f"another group for {', '.join(names) or 'nothing'}, or first delete it: groups.delete({group.name!r})"
        )
    group.partition_by = names
    group.watermark = group.floor_position = group.floor_id = 0
    group.save(update_fields=["partition_by", "watermark", "floor_position", "floor_id"])


def _handle(group: ConsumerGroup, types: list[str], *, replace: bool) -> None:
    """A new type is delivered from each partition's last position on: what lies between is looked at once more."""
    wanted = types if replace else sorted({*group.handled_types, *types})
    if wanted == group.handled_types:
        return
    if {*wanted} - {*group.handled_types}:
        lowest = group.offsets.aggregate(lowest=Min("last_position"))["lowest"]
        group.watermark = min(group.watermark, group.watermark if lowest is None else lowest)
    group.handled_types = wanted
    group.epoch += 1  # running claims have not looked for the new types
    group.save(update_fields=["handled_types", "epoch", "watermark"])
    free_claims(group)
