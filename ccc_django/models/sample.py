"""Samples table: how groups were doing, now and then, so that it can be plotted."""

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from ccc_django.envelope import MAX_NAME
from ccc_django.models.base import LogManager


class Sample(models.Model):
    """One group at one moment. ``failures`` are partitions that failed last and open dead letters."""

    id = models.BigAutoField(_("id"), primary_key=True)
    group_name = models.CharField(_("group"), max_length=MAX_NAME)
    taken_at = models.DateTimeField(_("taken at"), db_default=Now())
    lag = models.BigIntegerField(_("lag"))
    pending = models.BigIntegerField(_("pending"))
    claims = models.BigIntegerField(_("claims"))
    failures = models.BigIntegerField(_("failures"))
    rate = models.FloatField(_("rate"), help_text=_("Messages a second, as the workers say."))

    objects = LogManager["Sample"]()

    class Meta:
        db_table = "ccc_samples"
        base_manager_name = "objects"
        verbose_name = _("sample")
        verbose_name_plural = _("samples")
        indexes = (
            models.Index(fields=["group_name", "taken_at"], name="ccc_samples_group"),
            models.Index(fields=["taken_at"], name="ccc_samples_taken"),
        )

    def __str__(self) -> str:
        return f"{self.group_name} at {self.taken_at}"
