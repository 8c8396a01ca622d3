"""Messages table: the log itself, one row a message, in the order of positions."""

from typing import Self

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _
from pydantic_core import from_json, to_json

from ccc_django.envelope import MAX_NAME, Envelope
from ccc_django.messages import Message
from ccc_django.models.base import LogManager
from ccc_django.restoring import restore


class StoredMessage(models.Model):
    """A message at its place in the log."""

    position = models.BigAutoField(_("position"), primary_key=True)
    message_id = models.UUIDField(_("message id"), unique=True)
    message_type = models.CharField(_("type"), max_length=MAX_NAME)
    version = models.PositiveIntegerField(_("version"), default=1)
    topic = models.CharField(_("topic"), max_length=MAX_NAME, default="", blank=True)
    payload = models.JSONField(_("payload"))
    metadata = models.JSONField(_("metadata"))
    correlation_id = models.UUIDField(_("correlation id"))
    causation_id = models.UUIDField(_("causation id"))
    created_at = models.DateTimeField(_("created at"), help_text=_("The message's own time."))
    appended_at = models.DateTimeField(_("appended at"), db_default=Now(), help_text=_("The database's time."))

    objects = LogManager["StoredMessage"]()

    class Meta:
        db_table = "ccc_messages"
        base_manager_name = "objects"
        verbose_name = _("message")
        verbose_name_plural = _("messages")
        ordering = ("position",)
        indexes = (
            models.Index(fields=["topic", "position"], name="ccc_messages_topic"),
            models.Index(fields=["message_type", "position"], name="ccc_messages_type"),
            models.Index(fields=["correlation_id"], name="ccc_messages_correlation"),
            models.Index(fields=["appended_at"], name="ccc_messages_appended"),
        )

    def __str__(self) -> str:
        return f"{self.message_type} @ {self.position}"

    @classmethod
    def of(cls, message: Message) -> Self:
        """The row that stores a message."""
        return cls(
            message_id=message.id,
            message_type=message.type,
            version=message.version,
            topic=message.topic,
            payload=from_json(message.payload_json),
            metadata=dict(message.metadata),
            correlation_id=message.correlation_id,
            causation_id=message.causation_id,
            created_at=message.created_at,
        )

    @property
    def message(self) -> Message:
        """The message that this row stores."""
        envelope = Envelope(
            id=self.message_id,
            type=self.message_type,
            version=self.version,
            topic=self.topic,
            created_at=self.created_at,
            metadata=self.metadata,
            correlation_id=self.correlation_id,
            causation_id=self.causation_id,
            position=self.position,
            appended_at=self.appended_at,
        )
        return restore(envelope, to_json(self.payload).decode())
