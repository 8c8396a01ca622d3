"""Deliveries table: what a shared group has still to do, one row a message, and who is at it."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from ccc_django.models.base import LogManager
from ccc_django.models.group_topic import GroupTopic
from ccc_django.models.offset import BLOCKED, UNBLOCKED


class Delivery(models.Model):
    """One open message for one shared group; when it is done, the row is gone.

    ``blocked_until`` is the end of a lease, of a delay, or of a pause after a failure. ``again`` says that it was a
    dead letter.
    """

    pk = models.CompositePrimaryKey("group_topic_id", "position")
    group_topic = models.ForeignKey(
        GroupTopic,
        models.DO_NOTHING,  # they are dropped in the order in which acks lock
        verbose_name=_("topic of a group"),
        related_name="deliveries",
        db_constraint=False,
        db_index=False,
    )
    position = models.BigIntegerField(_("position"))
    attempts = models.IntegerField(_("attempts"), default=0, db_default=0)
    again = models.BooleanField(_("again"), default=False, db_default=False)
    error = models.TextField(_("error"), default="", db_default="", blank=True)
    blocked_until = models.DateTimeField(_("blocked until"), null=True, blank=True)
    claimed_by = models.TextField(_("claimed by"), default="", db_default="", blank=True)
    claimed_at = models.DateTimeField(_("claimed at"), null=True, blank=True)
    token = models.BigIntegerField(_("token"), default=0, db_default=0)

    objects = LogManager["Delivery"]()

    class Meta:
        db_table = "ccc_deliveries"
        base_manager_name = "objects"
        verbose_name = _("delivery")
        verbose_name_plural = _("deliveries")
        indexes = (
            models.Index(fields=["group_topic", "position"], name="ccc_deliveries_ready", condition=UNBLOCKED),
            models.Index(fields=["group_topic", "blocked_until"], name="ccc_deliveries_blocked", condition=BLOCKED),
        )

    def __str__(self) -> str:
        return f"{self.position} of {self.group_topic_id}"
