"""Register: a group exists from now on, with what it handles and how it is partitioned."""

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Min
from django.db.models.functions import Now

from ccc_django.conf import conf
from ccc_django.errors import KindChanged, PartitionChanged
from ccc_django.expressions import Types, type_names
from ccc_django.groups.keeping import keep
from ccc_django.groups.lifecycle import CAUGHT_UP, FRESH_BATCH, free_claims
from ccc_django.models import ConsumerGroup
from ccc_django.models.consumer_group import Kind
from ccc_django.retry import Retry


def register(
    name: str,
    *,
    partition_by: str | Iterable[str] = (),
    handled_types: Types = (),
    kind: str = Kind.ORDERED,
    replace: bool = False,
    retry: Retry | None = None,
    most_partitions: int | None = None,
    evolved_types: Types = (),
) -> ConsumerGroup:
    """Make a group, or let it handle more types; registering never takes a type away, unless with ``replace=True``.

    So two versions of code can run side by side. What is not given stays as it is. A shared group has no partitions,
    gets what it subscribes to, and without any type all of it. ``evolved_types`` are those whose history its consumer
    reads again: they are never pruned.
    """
    listed = [partition_by] if isinstance(partition_by, str) else [*partition_by]
    names = sorted({*listed})
    types, evolved = sorted({*type_names(handled_types)}), sorted({*type_names(evolved_types)})
    is_shared = Kind(kind) == Kind.SHARED
    _refuse(name, types, names, is_shared=is_shared)
    if most_partitions is not None and most_partitions < 1:
        raise ValueError(f"most_partitions={most_partitions}: a message may belong to one at least.")
    with transaction.atomic(using=conf.database):
        made, is_new = ConsumerGroup.objects.get_or_create(
            name=name,
            defaults={
                "kind": kind,
                "partition_by": names,
                "handled_types": types,
                "topics": [] if is_shared else None,
            },
        )
        group = made if is_new else ConsumerGroup.objects.select_for_update(no_key=True).get(pk=made.pk)
        _keep_from_the_start(group, is_new=is_new)
        changes: dict[str, object] = {}
        if group.kind != kind or group.is_session:
            raise KindChanged(group.name, "a session" if group.is_session else group.kind, Kind(kind))
        if group.partition_by != names:
            changes |= _partitioned_anew(group, names)
        if retry is not None:
            changes["retry"] = retry.as_json()
        if most_partitions is not None:
            changes |= {"most_partitions": most_partitions, **FRESH_BATCH}
        handles_all = is_shared and not (types and group.handled_types)
        more = [] if handles_all else sorted({*group.handled_types, *types})
        changes |= _handling(group, types if replace else more)
        changes |= _evolving(group, evolved if replace else sorted({*group.evolved_types, *evolved}))
        if "watermark" in changes:
            keep(group.topics)
        _change(group, changes)
    return group


def _keep_from_the_start(group: ConsumerGroup, *, is_new: bool) -> None:
    """One that gets the whole log needs everything that is there when it comes."""
    if is_new and group.kind == Kind.ORDERED:
        keep(None)


def _refuse(name: str, types: list[str], names: list[str], *, is_shared: bool) -> None:
    if not name or not (types or is_shared):
        raise ValueError("A group has a name, and handles one type of messages at least.")
    if is_shared and names:
        raise ValueError(f"{name} is shared, message by message: it has no partitions. An ordered group has.")
    if not all(names):
        raise ValueError("partition_by names attributes; an empty list means one partition with the whole log.")


def _partitioned_anew(group: ConsumerGroup, names: list[str]) -> dict[str, object]:
    if group.offsets.exists():
        raise PartitionChanged(
            f"{group} is partitioned by {', '.join(group.partition_by) or 'nothing'} and has progress by it. Register "
            f"another group for {', '.join(names) or 'nothing'}, or first delete it: groups.delete({group.name!r})"
        )
    return {"partition_by": names, "watermark": 0, **FRESH_BATCH, **CAUGHT_UP}


def _handling(group: ConsumerGroup, types: list[str]) -> dict[str, object]:
    """A new type is delivered from each partition's last position on: what lies between is looked at for it alone.

    Claims of before are fenced by a new epoch: they have not looked for it.
    """
    if types == group.handled_types:
        return {}
    changes: dict[str, object] = {"handled_types": types, "epoch": group.epoch + 1, **FRESH_BATCH}
    added = {*types} - {*group.handled_types}
    lowest = group.offsets.aggregate(lowest=Min("last_position"))["lowest"]
    reached = max(group.watermark, group.catch_up_to)
    if added and lowest is not None and lowest < reached:
        caught_up = {*group.catch_up_types} if group.catch_up_to > group.watermark else set()
        changes |= {
            "watermark": min(group.watermark, lowest),
            "catch_up_to": reached,
            "catch_up_types": sorted(added | caught_up),
        }
    return changes


def _evolving(group: ConsumerGroup, types: list[str]) -> dict[str, object]:
    return {} if types == group.evolved_types else {"evolved_types": types}


def _change(group: ConsumerGroup, changes: dict[str, object]) -> None:
    if not changes:
        return
    for field, value in changes.items():
        setattr(group, field, value)
    group.save(update_fields=changes)
    ConsumerGroup.objects.filter(pk=group.pk).update(updated_at=Now())
    if "epoch" in changes:
        free_claims(group)
