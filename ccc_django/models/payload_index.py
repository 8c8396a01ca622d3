"""Payload indexes table: what is indexed beyond the attributes that classes declare, and how far."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from ccc_django import payload_index
from ccc_django.models.base import LogManager


class Status(models.TextChoices):
    """How far an index is."""

    DECLARED = "declared", _("declared")  # appends may still go on without it
    BUILDING = "building", _("building")  # every new message has its entries, old ones get theirs
    READY = "ready", _("ready")
    DROPPED = "dropped", _("dropped")


class PayloadIndex(models.Model):
    """A field, or a combination of fields, by which messages are found.

    ``version`` grows with everything that appends and filters must know; ``built_upto`` and ``upto`` are the range of
    old messages that have, and that need, entries.
    """

    id = models.BigAutoField(_("id"), primary_key=True)
    name = models.TextField(_("name"), unique=True)
    kind = models.CharField(_("kind"), max_length=20)
    fields = models.JSONField(_("fields"))
    nulls = models.BooleanField(_("nulls"), default=False)
    status = models.CharField(_("status"), max_length=20, choices=Status)
    version = models.BigIntegerField(_("version"), unique=True)
    built_upto = models.BigIntegerField(_("built up to"), default=0)
    upto = models.BigIntegerField(_("up to"), default=0)
    declared_at = models.DateTimeField(_("declared at"), db_default=Now())

    objects = LogManager["PayloadIndex"]()

    class Meta:
        db_table = "ccc_payload_indexes"
        base_manager_name = "objects"
        verbose_name = _("payload index")
        verbose_name_plural = _("payload indexes")
        ordering = ("id",)

    def __str__(self) -> str:
        return f"{self.kind}({', '.join(self.fields)})"

    @property
    def value(self) -> payload_index.PayloadIndex:
        """The index itself, as appends and filters use it."""
        return payload_index.PayloadIndex(tuple(self.fields), self.nulls)
