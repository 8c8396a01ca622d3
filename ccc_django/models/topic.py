"""Topics table: named channels, each with queue or publish/subscribe semantics."""

from typing import Self

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from ccc_django import semantics
from ccc_django.envelope import MAX_NAME
from ccc_django.models.base import LogManager


class Semantics(models.TextChoices):
    """Who gets a message: one group, by one of its workers; or every group that has subscribed."""

    QUEUE = semantics.QUEUE, _("queue")
    PUB_SUB = semantics.PUB_SUB, _("publish/subscribe")


class TopicQuerySet(models.QuerySet["Topic"]):
    """Some of them."""

    def retained(self) -> Self:
        """Those whose messages are not kept for ever."""
        return self.filter(models.Q(retention__isnull=False) | models.Q(unsubscribed_retention__isnull=False))


TopicManager = LogManager.from_queryset(TopicQuerySet)


class Topic(models.Model):
    """What a topic is. Messages name it; whoever subscribes to its namespace or task gets it too.

    ``group_name`` is the single group of a queue. ``retention`` None keeps everything; ``unsubscribed_retention`` is in
    its place where nobody has subscribed. ``keep_partial`` bounds how long messages are kept for partitions to come.
    Up to ``pruned_upto`` only what had a reason was kept.
    """

    id = models.BigAutoField(_("id"), primary_key=True)
    name = models.CharField(_("name"), max_length=MAX_NAME, unique=True)
    semantics = models.CharField(_("semantics"), max_length=20, choices=Semantics, default=Semantics.QUEUE)
    namespace = models.CharField(_("namespace"), max_length=MAX_NAME, default="", blank=True)
    task = models.CharField(_("task"), max_length=MAX_NAME, default="", blank=True)
    group_name = models.CharField(_("group"), max_length=MAX_NAME, default="", blank=True)
    retention = models.DurationField(_("retention"), null=True, blank=True)
    unsubscribed_retention = models.DurationField(_("retention without subscribers"), null=True, blank=True)
    keep_partial = models.DurationField(_("keep partial messages"), null=True, blank=True)
    pruned_upto = models.BigIntegerField(_("pruned up to"), default=0, db_default=0)
    pruned = models.BigIntegerField(_("pruned"), default=0, db_default=0)
    pruned_at = models.DateTimeField(_("pruned at"), null=True, blank=True)
    created_at = models.DateTimeField(_("created at"), db_default=Now())
    updated_at = models.DateTimeField(_("updated at"), db_default=Now())

    objects = TopicManager()

    class Meta:
        db_table = "ccc_topics"
        base_manager_name = "objects"
        verbose_name = _("topic")
        verbose_name_plural = _("topics")
        ordering = ("name",)
        constraints = (
            models.CheckConstraint(condition=models.Q(semantics__in=Semantics.values), name="ccc_topics_semantics"),
        )
        indexes = (models.Index(fields=["namespace", "task"], name="ccc_topics_namespace"),)

    def __str__(self) -> str:
        return self.name

    @property
    def is_queue(self) -> bool:
        """Whether it has one group."""
        return self.semantics == Semantics.QUEUE
