"""Projection states table: what a partition has come to, by projection and version; snapshots of deciders too."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from ccc_django.envelope import MAX_NAME
from ccc_django.models.base import LogManager
from ccc_django.models.fields import DigestField


class ProjectionState(models.Model):
    """The state of one partition after everything up to a position; null where the project keeps it itself."""

    id = models.BigAutoField(_("id"), primary_key=True)
    projection = models.CharField(_("projection"), max_length=MAX_NAME)
    version = models.IntegerField(_("version"))
    partition_id = DigestField(_("partition id"))
    partition_key = models.TextField(_("partition key"))
    state = models.JSONField(_("state"), null=True)
    position = models.BigIntegerField(_("position"))
    updated_at = models.DateTimeField(_("updated at"), db_default=Now())

    objects = LogManager["ProjectionState"]()

    class Meta:
        db_table = "ccc_projection_states"
        base_manager_name = "objects"
        verbose_name = _("projection state")
        verbose_name_plural = _("projection states")
        constraints = (
            models.UniqueConstraint(
                fields=["projection", "version", "partition_id"], name="ccc_projection_states_partition"
            ),
        )

    def __str__(self) -> str:
        return f"{self.projection} {self.version}: {self.partition_key}"
