"""Consumer groups table: consumers that share progress, known by name."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from ccc_django.envelope import MAX_NAME
from ccc_django.models.base import LogManager


class GroupStatus(models.TextChoices):
    """Whether a group's partitions can be claimed."""

    ACTIVE = "active", _("active")
    STOPPED = "stopped", _("stopped")


class ConsumerGroup(models.Model):
    """Who handles which messages, partitioned by what, and how far the log has been turned into open work.

    ``start`` is the first position that is delivered. A new ``epoch`` fences every claim of an older one.
    ``floor_position`` and ``floor_id`` are where claims begin to look, a hint that is never relied upon.
    """

    id = models.BigAutoField(_("id"), primary_key=True)
    name = models.CharField(_("name"), max_length=MAX_NAME, unique=True)
    kind = models.CharField(_("kind"), max_length=20, default="ordered")
    status = models.CharField(_("status"), max_length=20, choices=GroupStatus, default=GroupStatus.ACTIVE)
    partition_by = models.JSONField(_("partition by"))
    handled_types = models.JSONField(_("handled types"))
    epoch = models.IntegerField(_("epoch"), default=1)
    start = models.BigIntegerField(_("start"), default=1)
    watermark = models.BigIntegerField(_("watermark"), default=0)
    floor_position = models.BigIntegerField(_("floor position"), default=0)
    floor_id = models.BigIntegerField(_("floor id"), default=0)
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
