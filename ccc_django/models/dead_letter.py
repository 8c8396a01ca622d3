"""Dead letters table: messages that a group gave up on, with the reason."""

from typing import Self
from uuid import UUID

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from ccc_django.envelope import MAX_NAME
from ccc_django.models.base import LogManager
from ccc_django.models.consumer_group import ConsumerGroup
from ccc_django.models.fields import DigestField
from ccc_django.models.offset import Offset

NO_PARTITION = UUID(int=0)


class LetterStatus(models.TextChoices):
    """What has become of a dead letter."""

    OPEN = "open", _("open")
    REPLAYING = "replaying", _("replaying")
    COMING = "coming", _("coming")  # with the rest of its partition, which was moved back
    REPLAYED = "replayed", _("replayed")
    DISCARDED = "discarded", _("discarded")


REPLAYABLE = (LetterStatus.OPEN, LetterStatus.DISCARDED)  # those that are not on their way, and were not delivered


class DeadLetterQuerySet(models.QuerySet["DeadLetter"]):
    """Some of them."""

    def open(self) -> Self:
        """Nobody has decided yet."""
        return self.filter(status=LetterStatus.OPEN)

    def replayable(self) -> Self:
        """They can be delivered again, if they belong to a partition; also those that somebody has discarded."""
        return self.filter(status__in=REPLAYABLE)

    def with_partition(self) -> Self:
        """Their partition is there, to which they can be delivered again; too many partitions are none."""
        offset = Offset.objects.filter(
            group_id=models.OuterRef("group_id"), partition_id=models.OuterRef("partition_id")
        )
        return self.filter(models.Exists(offset))

    def of_group(self, name: str) -> Self:
        """Of one group."""
        return self.filter(group__name=name)


DeadLetterManager = LogManager.from_queryset(DeadLetterQuerySet)


class DeadLetter(models.Model):
    """One message that one partition of one group gave up on; a message of too many partitions belongs to none."""

    id = models.BigAutoField(_("id"), primary_key=True)
    group = models.ForeignKey(
        ConsumerGroup,
        models.CASCADE,
        verbose_name=_("group"),
        related_name="dead_letters",
        db_constraint=False,
        db_index=False,
    )
    partition_id = DigestField(_("partition id"), default=NO_PARTITION)
    partition_key = models.TextField(_("partition key"), default="", blank=True)
    position = models.BigIntegerField(_("position"))
    message_id = models.UUIDField(_("message id"))
    message_type = models.CharField(_("type"), max_length=MAX_NAME)
    status = models.CharField(_("status"), max_length=20, choices=LetterStatus, default=LetterStatus.OPEN)
    attempts = models.IntegerField(_("attempts"), default=0)
    deliveries = models.IntegerField(_("deliveries"), default=0, help_text=_("Since it was replayed."))
    error = models.TextField(_("error"), default="", blank=True)
    traceback = models.TextField(_("traceback"), default="", blank=True)
    decided_by = models.TextField(_("decided by"), default="", blank=True)
    reason = models.TextField(_("reason"), default="", blank=True)
    decided_at = models.DateTimeField(_("decided at"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), db_default=Now())

    objects = DeadLetterManager()

    class Meta:
        db_table = "ccc_dead_letters"
        base_manager_name = "objects"
        verbose_name = _("dead letter")
        verbose_name_plural = _("dead letters")
        ordering = ("position", "id")
        constraints = (
            models.UniqueConstraint(fields=["group", "partition_id", "position"], name="ccc_dead_letters_message"),
        )
        indexes = (
            models.Index(fields=["group", "status", "position"], name="ccc_dead_letters_status"),
            models.Index(fields=["position"], name="ccc_dead_letters_position"),
        )

    def __str__(self) -> str:
        return f"{self.message_type} @ {self.position}"
