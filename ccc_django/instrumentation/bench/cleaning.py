"""Cleaning: whatever measurements have put into the database is removed, a batch a transaction."""

from typing import TYPE_CHECKING, Any

from django.db import transaction

from ccc_django import groups
from ccc_django.conf import conf
from ccc_django.instrumentation.bench.names import ATTRIBUTES, NAMES, TYPES
from ccc_django.models import (
    ConsumerGroup,
    KeyPair,
    MessageKeyPair,
    Offset,
    OffsetKeyPair,
    Sample,
    Shape,
    StoredMessage,
)

if TYPE_CHECKING:
    from django.db.models import QuerySet

BATCH = 1_000


def clean() -> int:
    """Remove everything that measurements have left, also one that was killed; how many messages there were."""
    for name in list(ConsumerGroup.objects.filter(name__regex=NAMES).values_list("name", flat=True)):
        _remove_group(name)
    while _removed(Sample.objects.filter(group_name__regex=NAMES)):
        pass
    removed = 0
    while batch := _remove_messages():
        removed += batch
    Shape.objects.filter(message_type__in=TYPES).delete()
    return removed


def _remove_group(name: str) -> None:
    """Its partitions in batches, and then what is left of it."""
    while True:
        with transaction.atomic(using=conf.database):
            offsets = list(Offset.objects.of_group(name).values_list("pk", "group_id")[:BATCH])
            ids = [pk for pk, _ in offsets]
            OffsetKeyPair.objects.filter(group_id__in={group for _, group in offsets}, offset_id__in=ids).delete()
            Offset.objects.filter(pk__in=ids).delete()
        if not offsets:
            break
    groups.delete(name)


def _remove_messages() -> int:
    """A batch of messages with their entries, and the values that only they have: no other attribute is called so."""
    with transaction.atomic(using=conf.database):
        of_types = StoredMessage.objects.of_types(TYPES).order_by("message_type", "position")
        positions = list(of_types.values_list("position", flat=True)[:BATCH])
        entries = MessageKeyPair.objects.filter(position__in=positions)
        values = {*entries.values_list("key_pair", flat=True)}
        KeyPair.objects.filter(digest__in=values, name__in=ATTRIBUTES).delete()
        entries.delete()
        StoredMessage.objects.filter(position__in=positions).delete()
    return len(positions)


def _removed(rows: "QuerySet[Any]") -> int:
    keys = list(rows.values_list("pk", flat=True)[:BATCH])
    count: int = rows.filter(pk__in=keys).delete()[0]
    return count
