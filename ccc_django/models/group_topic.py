"""Group topics table: one group's place in one topic, under the subscription that decides on it."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from ccc_django.envelope import MAX_NAME
from ccc_django.models.base import LogManager
from ccc_django.models.consumer_group import ConsumerGroup
from ccc_django.models.topic_subscription import TopicSubscription


class GroupTopic(models.Model):
    """A topic that a group gets: by which subscription, from where, and how far a shared group has made deliveries.

    ``is_touched`` says that it has got something, or that somebody has moved it: then no record moves it any more.
    ``processed`` counts acks, a second late; it is for people, and nothing depends on it. Up to ``backfill_upto`` lies
    what was there before the group came; ``backfill_rate`` bounds how many messages a second of it become deliveries.
    Between ``lost_from`` and ``lost_to`` messages were pruned that it had not done.
    """

    id = models.BigAutoField(_("id"), primary_key=True)
    group = models.ForeignKey(
        ConsumerGroup, models.CASCADE, verbose_name=_("group"), related_name="places", db_constraint=False
    )
    topic = models.CharField(_("topic"), max_length=MAX_NAME)
    subscription = models.ForeignKey(
        TopicSubscription, models.DO_NOTHING, verbose_name=_("subscription"), related_name="places", db_constraint=False
    )
    start = models.BigIntegerField(_("start"))
    watermark = models.BigIntegerField(_("watermark"))
    is_touched = models.BooleanField(_("touched"), default=False, db_default=False)
    processed = models.BigIntegerField(_("processed"), default=0, db_default=0)
    backfill_upto = models.BigIntegerField(_("backfill up to"), default=0, db_default=0)
    backfill_rate = models.FloatField(_("backfill rate"), null=True, blank=True, help_text=_("Messages a second."))
    backfilled_at = models.DateTimeField(_("backfilled at"), null=True, blank=True)
    lost_from = models.BigIntegerField(_("lost from"), null=True, blank=True)
    lost_to = models.BigIntegerField(_("lost to"), null=True, blank=True)
    lost_at = models.DateTimeField(_("lost at"), null=True, blank=True)

    objects = LogManager["GroupTopic"]()

    class Meta:
        db_table = "ccc_group_topics"
        base_manager_name = "objects"
        verbose_name = _("topic of a group")
        verbose_name_plural = _("topics of groups")
        constraints = (models.UniqueConstraint(fields=["group", "topic"], name="ccc_group_topics_topic"),)
        indexes = (models.Index(fields=["topic"], name="ccc_group_topics_by_topic"),)

    def __str__(self) -> str:
        return f"{self.topic} of {self.group_id}"
