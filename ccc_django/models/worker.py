"""Workers table: who consumes, since when, and what they have done; a row without a beat is a worker that is gone."""

from datetime import timedelta
from typing import Self

from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from ccc_django.conf import conf
from ccc_django.models.base import LogManager

BEATS = 3  # a worker that has missed so many is not there


class WorkerQuerySet(models.QuerySet["Worker"]):
    """Some of them."""

    def there(self) -> Self:
        """They have beaten lately."""
        return self.filter(beaten_at__gt=Now() - timedelta(seconds=BEATS * conf.beat_every))

    def silent(self) -> Self:
        """They have not beaten lately: they are not there."""
        return self.filter(beaten_at__lte=Now() - timedelta(seconds=BEATS * conf.beat_every))

    def gone(self) -> Self:
        """They have not beaten for so long that nobody expects them back."""
        return self.filter(beaten_at__lt=Now() - timedelta(seconds=6 * BEATS * conf.beat_every))


class WorkerManager(LogManager.from_queryset(WorkerQuerySet)):  # type: ignore[misc]
    """What all of them say together."""

    def rates(self) -> dict[str, float]:
        """Messages a second that the workers which are there have handled lately, by group."""
        rates: dict[str, float] = {}
        for progress in self.there().values_list("progress", flat=True):
            for name, count in progress.items():
                rates[name] = rates.get(name, 0.0) + count["rate"]
        return rates


class Worker(models.Model):
    """One process that consumes.

    ``progress`` is by group: messages handled and failed, and the rate of late. Whoever has ``sweeps_until`` in the
    future sweeps.
    """

    id = models.BigAutoField(_("id"), primary_key=True)
    name = models.CharField(_("name"), max_length=255, unique=True)
    host = models.CharField(_("host"), max_length=255)
    pid = models.IntegerField(_("process"))
    groups = models.JSONField(_("groups"), default=list)
    progress = models.JSONField(_("progress"), default=dict)
    started_at = models.DateTimeField(_("started at"), db_default=Now())
    beaten_at = models.DateTimeField(_("last beat"), db_default=Now())
    sweeps_until = models.DateTimeField(_("sweeps until"), null=True, blank=True)

    objects = WorkerManager()

    class Meta:
        db_table = "ccc_workers"
        base_manager_name = "objects"
        verbose_name = _("worker")
        verbose_name_plural = _("workers")
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name
