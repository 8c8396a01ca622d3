"""Sweep: all maintenance, safe from any number of processes at once, and each step twice."""

from datetime import timedelta

from django.db.models.functions import Now

from ccc_django import db, groups, stages, store, topics, wording
from ccc_django.conf import conf
from ccc_django.models import Sample, Worker

SOON = 0.05  # seconds between two sweeps at least
KEPT_SAMPLES = timedelta(days=7)
PRUNING = timedelta(seconds=0.5)  # of one sweep
BATCH = 10_000


def sweep() -> float:
    """Promote what is due, bury what is silent, prune, sample, forget workers; the seconds until there is more."""
    [(due_in, sampled_ago, is_silent, retains)] = db.rows("sweep_due")
    while due_in is not None and due_in <= 0 and store.promote():
        [(due_in, sampled_ago, is_silent, retains)] = db.rows("sweep_due")
    if is_silent:
        topics.bury()
    if retains and not topics.prune_some(within=PRUNING):
        due_in = 0.0  # there is more, and others have their turn first
    if sampled_ago is None or sampled_ago >= conf.sample_every:
        sample()
        _forget_old_samples()
        _forget_workers()
    rest = max(SOON, conf.sweep_every if due_in is None else min(due_in, conf.sweep_every))
    stages.swept(rest)
    return rest


def sample() -> None:
    """Write down how every group is doing."""
    rates = Worker.objects.rates()
    Sample.objects.bulk_create([_sample(each, rates.get(each.name, 0.0)) for each in groups.statuses()])


def _sample(status: groups.Status, rate: float) -> Sample:
    return Sample(
        group_name=status.name,
        lag=status.lag,
        pending=status.pending,
        claims=status.claims,
        failures=status.failures + status.dead_letters,
        rate=rate,
    )


def _forget_old_samples() -> None:
    old = Sample.objects.filter(taken_at__lt=Now() - KEPT_SAMPLES).values_list("pk", flat=True)[:BATCH]
    Sample.objects.filter(pk__in=list(old)).delete()


def _forget_workers() -> None:
    gone = Worker.objects.gone()
    for name in list(gone.values_list("name", flat=True)):
        wording.worker_gone(worker=name)
    gone.delete()
