"""Topic subscriptions table: where a group begins in what it subscribes to, never forgotten, and whether it lives."""

from typing import Self

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from ccc_django.envelope import MAX_NAME
from ccc_django.models.base import LogManager
from ccc_django.models.dead_letter import NO_PARTITION
from ccc_django.models.fields import DigestField


class Mode(models.TextChoices):
    """Where a group begins."""

    ALL = "all", _("all")
    NEW = "new", _("new")
    TIMESTAMP = "timestamp", _("timestamp")
    POSITION = "position", _("position")


class SubscriptionStatus(models.TextChoices):
    """Whether messages are delivered, and held back until they are: active and paused hold, the others do not."""

    ACTIVE = "ACTIVE", _("active")
    PAUSED = "PAUSED", _("paused")
    CANCELLED = "CANCELLED", _("cancelled")
    DEAD = "DEAD", _("dead")


LIVE = (SubscriptionStatus.ACTIVE, SubscriptionStatus.PAUSED)  # those that messages are kept for


class TopicSubscriptionQuerySet(models.QuerySet["TopicSubscription"]):
    """Some of them."""

    def of_group(self, name: str) -> Self:
        """Of one group."""
        return self.filter(group_name=name)

    def whole(self) -> Self:
        """Without those of single partitions."""
        return self.filter(partition_id=NO_PARTITION)

    def live(self) -> Self:
        """Those that messages are kept for."""
        return self.filter(status__in=LIVE)


TopicSubscriptionManager = LogManager.from_queryset(TopicSubscriptionQuerySet)


class TopicSubscription(models.Model):
    """A group's recorded relation to a topic, to what is in a namespace or of a task, or to one partition of a topic.

    ``start_position`` is the first position that is delivered. The first mode wins: it is changed by a restart alone.
    Without any heartbeat so far nobody expects one. ``died_at`` is when somebody noticed that none came any more.
    """

    id = models.BigAutoField(_("id"), primary_key=True)
    group_name = models.CharField(_("group"), max_length=MAX_NAME)
    topic = models.CharField(_("topic"), max_length=MAX_NAME, default="", blank=True)
    namespace = models.CharField(_("namespace"), max_length=MAX_NAME, default="", blank=True)
    task = models.CharField(_("task"), max_length=MAX_NAME, default="", blank=True)
    partition_id = DigestField(_("partition id"), default=NO_PARTITION)
    partition_key = models.TextField(_("partition key"), default="", blank=True)
    mode = models.CharField(_("mode"), max_length=20, choices=Mode)
    status = models.CharField(_("status"), max_length=20, choices=SubscriptionStatus, default=SubscriptionStatus.ACTIVE)
    subscribed_at = models.DateTimeField(_("subscribed at"), db_default=Now())
    last_active_at = models.DateTimeField(_("last active at"), db_default=Now())
    start_position = models.BigIntegerField(_("start position"))
    start_at = models.DateTimeField(_("start at"), null=True, blank=True)
    heartbeat_interval = models.IntegerField(_("heartbeat interval"), default=60, help_text=_("Seconds."))
    heartbeat_timeout = models.IntegerField(_("heartbeat time-out"), default=300, help_text=_("Seconds."))
    last_heartbeat_at = models.DateTimeField(_("last heartbeat at"), null=True, blank=True)
    died_at = models.DateTimeField(_("died at"), null=True, blank=True)

    objects = TopicSubscriptionManager()

    class Meta:
        db_table = "ccc_topic_subscriptions"
        base_manager_name = "objects"
        verbose_name = _("topic subscription")
        verbose_name_plural = _("topic subscriptions")
        ordering = ("group_name", "topic", "namespace", "task", "id")
        constraints = (
            models.UniqueConstraint(
                fields=["group_name", "topic", "namespace", "task", "partition_id"],
                name="ccc_topic_subscriptions_scope",
            ),
            models.CheckConstraint(condition=models.Q(mode__in=Mode.values), name="ccc_topic_subscriptions_mode"),
            models.CheckConstraint(
                condition=models.Q(status__in=SubscriptionStatus.values), name="ccc_topic_subscriptions_status"
            ),
            models.CheckConstraint(
                condition=models.Q(start_position__gte=1), name="ccc_topic_subscriptions_start_position"
            ),
            models.CheckConstraint(
                condition=models.Q(heartbeat_interval__gt=0, heartbeat_timeout__gte=models.F("heartbeat_interval")),
                name="ccc_topic_subscriptions_heartbeat",
            ),
            models.CheckConstraint(
                condition=(models.Q(namespace="", task="") & ~models.Q(topic=""))
                | (models.Q(topic="", partition_key="") & ~models.Q(namespace="", task="")),
                name="ccc_topic_subscriptions_one_scope",
            ),
        )
        indexes = (
            models.Index(fields=["topic", "group_name"], name="ccc_topic_subscriptions_topic"),
            models.Index(
                fields=["last_heartbeat_at"],
                name="ccc_topic_subscriptions_beaten",
                condition=models.Q(status="ACTIVE", last_heartbeat_at__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"{self.group_name}: {self.scope}"

    @property
    def scope(self) -> str:
        """What it is a subscription to."""
        named = {"topic": self.topic, "namespace": self.namespace, "task": self.task, "partition": self.partition_key}
        return ", ".join(f"{what} {name}" for what, name in named.items() if name)
