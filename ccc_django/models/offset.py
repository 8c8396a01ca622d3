"""Offsets table: one group's progress in one partition, and who is at it."""

from datetime import timedelta
from typing import TYPE_CHECKING, Self

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from ccc_django.db import is_sqlite
from ccc_django.models.base import LogManager
from ccc_django.models.consumer_group import ConsumerGroup
from ccc_django.models.fields import DigestField, DigestsField
from ccc_django.models.lookups import raw

if TYPE_CHECKING:
    from django.db.models.query import RawQuerySet

STOPPED_FOR = timedelta(days=36_500)  # a partition that waits for somebody is blocked for longer than anybody will
OPEN = models.Q(next_position__isnull=False)
UNBLOCKED = models.Q(blocked_until__isnull=True)
BLOCKED = models.Q(blocked_until__isnull=False)  # not the negation of the other, which SQLite would not recognise


class OffsetQuerySet(models.QuerySet["Offset"]):
    """Some partitions' progress."""

    def ready(self, group: str) -> Self:
        """What could be claimed now, the earliest first, by the same rule as a claim."""
        return self.filter(pk__in=raw("ready_offsets", name=group)).order_by("next_position", "id")

    def of_group(self, group: str) -> Self:
        """Of one group."""
        return self.filter(group__name=group)


class OffsetManager(LogManager.from_queryset(OffsetQuerySet)):  # type: ignore[misc]
    """Claims, by the statement that workers use."""

    def claim(self, group: str, *, worker: str, lease: timedelta) -> "RawQuerySet[Offset]":
        """Give one partition to a worker when this is read: it writes. The claim's fence is ``offset.token``."""
        length = lease.total_seconds()
        claimed = raw(
            "claim_partition",
            name=group,
            worker=worker,
            lease=f"{length:+.3f} seconds" if is_sqlite() else length,
            floor_epoch=0,
            floor_position=0,
            floor_id=0,
            look_for_late=True,
            lazy=False,
        )
        rows: RawQuerySet[Offset] = self.raw(claimed.sql, claimed.params)
        return rows


class Offset(models.Model):
    """Everything up to last_position is done; next_position, if any, is never above the first open message.

    ``blocked_until`` is the end of a lease or of a pause after a failure. Everything up to ``replay_until`` has been
    acked once. ``replays`` dead letters wait to be delivered again. Offsets move back by seek and reset only.
    """

    id = models.BigAutoField(_("id"), primary_key=True)
    group = models.ForeignKey(
        ConsumerGroup,
        models.CASCADE,
        verbose_name=_("group"),
        related_name="offsets",
        db_constraint=False,
        db_index=False,
    )
    partition_id = DigestField(_("partition id"))
    partition_key = models.TextField(_("partition key"))
    key_pairs = DigestsField(_("key pairs"))
    last_position = models.BigIntegerField(_("last position"))
    next_position = models.BigIntegerField(_("next position"), null=True, blank=True)
    head_position = models.BigIntegerField(_("head position"), default=0, db_default=0)
    replay_until = models.BigIntegerField(_("replay until"), default=0, db_default=0)
    attempts = models.IntegerField(_("attempts"), default=0, db_default=0)
    error = models.TextField(_("error"), default="", db_default="", blank=True)
    blocked_until = models.DateTimeField(_("blocked until"), null=True, blank=True)
    claimed_by = models.TextField(_("claimed by"), default="", db_default="", blank=True)
    claimed_at = models.DateTimeField(_("claimed at"), null=True, blank=True)
    token = models.BigIntegerField(_("token"), default=0, db_default=0)
    replays = models.IntegerField(_("replays"), default=0, db_default=0)

    objects = OffsetManager()

    class Meta:
        db_table = "ccc_offsets"
        base_manager_name = "objects"
        verbose_name = _("offset")
        verbose_name_plural = _("offsets")
        constraints = (models.UniqueConstraint(fields=["group", "partition_id"], name="ccc_offsets_partition"),)
        indexes = (
            models.Index(fields=["group", "next_position", "id"], name="ccc_offsets_ready", condition=OPEN & UNBLOCKED),
            models.Index(fields=["group", "blocked_until"], name="ccc_offsets_blocked", condition=OPEN & BLOCKED),
            models.Index(fields=["group", "next_position"], name="ccc_offsets_open", condition=OPEN),
        )

    def __str__(self) -> str:
        return self.partition_key

    @property
    def is_stopped(self) -> bool:
        """Whether the partition waits for somebody, after its last attempt or because it was stopped."""
        return self.blocked_until is not None and self.blocked_until > timezone.now() + STOPPED_FOR / 2
