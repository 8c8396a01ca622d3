"""Projections table: which version of a projection is the one to look at."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from ccc_django.envelope import MAX_NAME
from ccc_django.models.base import LogManager


class Projection(models.Model):
    """A projection by name, with its live version; others may be built beside it."""

    id = models.BigAutoField(_("id"), primary_key=True)
    name = models.CharField(_("name"), max_length=MAX_NAME, unique=True)
    live_version = models.IntegerField(_("live version"))
    switched_at = models.DateTimeField(_("switched at"), db_default=Now())

    objects = LogManager["Projection"]()

    class Meta:
        db_table = "ccc_projections"
        base_manager_name = "objects"
        verbose_name = _("projection")
        verbose_name_plural = _("projections")
        ordering = ("name",)

    def __str__(self) -> str:
        return f"{self.name} {self.live_version}"
