"""Life cycle: groups are started, stopped and reset, also while workers run."""

from datetime import datetime

from django.db import transaction
from django.db.models import F, Q
from django.db.models.functions import Greatest, Now

from ccc_django.conf import conf
from ccc_django.errors import UnknownGroup
from ccc_django.models import ConsumerGroup, OffsetKeyPair
from ccc_django.models.consumer_group import GroupStatus

FREE = {"blocked_until": None, "claimed_by": "", "claimed_at": None, "token": 0, "attempts": 0, "error": ""}


def is_active(name: str) -> bool:
    """Whether partitions of a group can be claimed; of an unknown group they cannot."""
    active = Q(status=GroupStatus.ACTIVE) | Q(retry_at__lte=Now())
    return ConsumerGroup.objects.filter(active, name=name).exists()


def start(name: str) -> None:
    """Let a group's partitions be claimed."""
    _change(name, status=GroupStatus.ACTIVE, error_context="", retry_at=None)


def stop(name: str, *, reason: str = "", until: datetime | None = None) -> None:
    """Let nobody claim a group's partitions, until it is started or a time has come; running claims are fenced."""
    with transaction.atomic(using=conf.database):
        group = _change(name, status=GroupStatus.STOPPED, error_context=reason, retry_at=until, epoch=F("epoch") + 1)
        free_claims(group)


def free_claims(group: ConsumerGroup) -> None:
    """Let partitions whose claims were fenced be claimed again at once."""
    held = group.offsets.filter(next_position__isnull=False, blocked_until__isnull=False)
    held.exclude(claimed_by="").update(**FREE)


def reset(name: str, *, forget: bool = False) -> None:
    """Put every partition back to the group's start, so that everything is delivered again; running claims are fenced.

    Messages that were acked before are then delivered as replayed. With ``forget=True`` nothing is kept.
    """
    with transaction.atomic(using=conf.database):
        group = _locked(name)
        if forget:
            OffsetKeyPair.objects.filter(group_id=group.pk).delete()
            group.offsets.all().delete()
        else:
            first = group.start - 1
            group.offsets.update(
                replay_until=Greatest("replay_until", "last_position"), last_position=first, next_position=None, **FREE
            )
        ConsumerGroup.objects.filter(pk=group.pk).update(
            watermark=0, floor_position=0, floor_id=0, epoch=F("epoch") + 1, updated_at=Now()
        )


def delete(name: str) -> None:
    """Forget a group and its progress."""
    with transaction.atomic(using=conf.database):
        group = _locked(name)
        OffsetKeyPair.objects.filter(group_id=group.pk).delete()
        group.offsets.all().delete()
        group.delete()


def _change(name: str, **changes: object) -> ConsumerGroup:
    group = ConsumerGroup.objects.filter(name=name)
    if not group.update(**changes, updated_at=Now()):
        raise UnknownGroup(name)
    return group.get()


def _locked(name: str) -> ConsumerGroup:
    group = ConsumerGroup.objects.select_for_update(no_key=True).filter(name=name).first()
    if group is None:
        raise UnknownGroup(name)
    return group
