"""Offsets table: one group's progress in one partition, and who is at it."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from ccc_django.models.base import LogManager
from ccc_django.models.consumer_group import ConsumerGroup
from ccc_django.models.fields import DigestField, DigestsField

OPEN = models.Q(next_position__isnull=False)
UNBLOCKED = models.Q(blocked_until__isnull=True)
BLOCKED = models.Q(blocked_until__isnull=False)  # not the negation of the other, which SQLite would not recognise


class Offset(models.Model):
    """Everything up to last_position is done; next_position, if any, is never above the first open message.

    ``blocked_until`` is the end of a lease or of a pause after a failure. Offsets move back by seek and reset only.
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

    objects = LogManager["Offset"]()

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
