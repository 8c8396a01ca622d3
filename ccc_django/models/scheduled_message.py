"""Scheduled messages table: what will be appended when its time has come."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from ccc_django.envelope import MAX_NAME
from ccc_django.models.base import LogManager


class ScheduledMessage(models.Model):
    """A message that waits for its time, with its key pairs, so that no class is needed to promote it."""

    id = models.BigAutoField(_("id"), primary_key=True)
    due_at = models.DateTimeField(_("due at"))
    message_id = models.UUIDField(_("message id"), unique=True)
    message_type = models.CharField(_("type"), max_length=MAX_NAME)
    version = models.IntegerField(_("version"), default=1)
    topic = models.CharField(_("topic"), max_length=MAX_NAME, default="", blank=True)
    payload = models.JSONField(_("payload"))
    metadata = models.JSONField(_("metadata"))
    correlation_id = models.UUIDField(_("correlation id"))
    causation_id = models.UUIDField(_("causation id"))
    created_at = models.DateTimeField(_("created at"))
    key_pairs = models.JSONField(_("key pairs"))
    scheduled_at = models.DateTimeField(_("scheduled at"), db_default=Now())

    objects = LogManager["ScheduledMessage"]()

    class Meta:
        db_table = "ccc_scheduled_messages"
        base_manager_name = "objects"
        verbose_name = _("scheduled message")
        verbose_name_plural = _("scheduled messages")
        ordering = ("due_at", "id")
        indexes = (
            models.Index(fields=["due_at", "id"], name="ccc_scheduled_due"),
            models.Index(fields=["correlation_id"], name="ccc_scheduled_correlation"),
        )

    def __str__(self) -> str:
        return f"{self.message_type} at {self.due_at}"
