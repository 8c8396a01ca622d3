"""Shapes table: a dictionary of the attribute sets that messages of a type have carried; a handful of rows."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from ccc_django.envelope import MAX_NAME
from ccc_django.models.base import LogManager


class Shape(models.Model):
    """A message type with the names of the attributes that it carried; like key pairs, without a unique constraint."""

    digest = models.BigIntegerField(_("digest"), primary_key=True)
    message_type = models.CharField(_("type"), max_length=MAX_NAME)
    names = models.JSONField(_("names"))

    objects = LogManager["Shape"]()

    class Meta:
        db_table = "ccc_shapes"
        base_manager_name = "objects"
        verbose_name = _("shape")
        verbose_name_plural = _("shapes")

    def __str__(self) -> str:
        return f"{self.message_type}({', '.join(self.names)})"
