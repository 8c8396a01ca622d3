"""Consumer groups table: consumers that share progress, known by name."""

import secrets

from django.db import models
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from ccc_django.envelope import MAX_NAME
from ccc_django.models.base import LogManager

MOST_PARTITIONS = 100


class Kind(models.TextChoices):
    """How a group shares its work: by partitions, each in order, or message by message."""

    ORDERED = "ordered", _("ordered")
    SHARED = "shared", _("shared")


class GroupStatus(models.TextChoices):
    """Whether a group's partitions can be claimed; failed is stopped with an error."""

    ACTIVE = "active", _("active")
    STOPPED = "stopped", _("stopped")
    FAILED = "failed", _("failed")


def first_epoch() -> int:
    """Not the epoch of a group that had this name before."""
    return 1 + secrets.randbelow(2**30)


class ConsumerGroup(models.Model):
    """Who handles which messages, partitioned by what, and how far the log has been turned into open work.

    ``start`` is the first position that is delivered, ``begins_at`` the same after a seek. ``topics`` are those that it
    gets by its subscriptions; None is the whole log. A new ``epoch`` fences every claim of an older one. Up to
    ``catch_up_to`` only ``catch_up_types`` are new. ``marking_*`` is where a batch that wakes many partitions goes on.
    ``evolved_types`` are read again from the beginning, and never pruned. One that does not ``hold`` lets messages go
    that it has not done; a session is a group whose one consumer says itself how far it is.
    """

    id = models.BigAutoField(_("id"), primary_key=True)
    name = models.CharField(_("name"), max_length=MAX_NAME, unique=True)
    kind = models.CharField(_("kind"), max_length=20, choices=Kind, default=Kind.ORDERED)
    status = models.CharField(_("status"), max_length=20, choices=GroupStatus, default=GroupStatus.ACTIVE)
    partition_by = models.JSONField(_("partition by"))
    handled_types = models.JSONField(_("handled types"))
    topics = models.JSONField(_("topics"), null=True, blank=True)
    retry = models.JSONField(_("retry"), default=dict, blank=True)
    most_partitions = models.IntegerField(
        _("most partitions"), default=MOST_PARTITIONS, help_text=_("That one message may belong to, by its lists.")
    )
    epoch = models.IntegerField(_("epoch"), default=first_epoch)
    start = models.BigIntegerField(_("start"), default=1)
    begins_at = models.BigIntegerField(_("begins at"), default=1)
    watermark = models.BigIntegerField(_("watermark"), default=0)
    catch_up_to = models.BigIntegerField(_("catch up to"), default=0)
    catch_up_types = models.JSONField(_("catch-up types"), default=list, blank=True)
    marking_upto = models.BigIntegerField(_("marking up to"), default=0)
    marking_number = models.IntegerField(_("marking number"), default=0)
    marking_after = models.BigIntegerField(_("marking after"), default=0)
    evolved_types = models.JSONField(_("evolved types"), default=list, blank=True)
    is_session = models.BooleanField(_("session"), default=False, db_default=False)
    holds = models.BooleanField(_("holds"), default=True, db_default=True, help_text=_("Keeps messages back."))
    error_context = models.TextField(_("error context"), default="", blank=True)
    retry_at = models.DateTimeField(_("retry at"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), db_default=Now())
    updated_at = models.DateTimeField(_("updated at"), db_default=Now())

    objects = LogManager["ConsumerGroup"]()

    class Meta:
        db_table = "ccc_consumer_groups"
        base_manager_name = "objects"
        verbose_name = _("consumer group")
        verbose_name_plural = _("consumer groups")
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name

    @property
    def status_now(self) -> GroupStatus:
        """The status as claims see it: a stop whose time is over is none."""
        is_due = self.retry_at is not None and self.retry_at <= timezone.now()
        return GroupStatus.ACTIVE if is_due else GroupStatus(self.status)
