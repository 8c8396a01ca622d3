"""Metrics: figures for Prometheus, read from the database at each scrape, so that every process says the same."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.db.models.functions import Now

from ccc_django import db, store
from ccc_django.extras import require
from ccc_django.instrumentation import head, workers
from ccc_django.instrumentation.overview import GroupOverview, overview
from ccc_django.models import ScheduledMessage, StoredMessage
from ccc_django.models.consumer_group import GroupStatus

if TYPE_CHECKING:
    from prometheus_client import Metric
    from prometheus_client.registry import Collector

OF_THE_LOG = {
    "ccc_head_position": "The highest position below which everything is final.",
    "ccc_last_position": "The highest position that has been taken, final or not.",
    "ccc_messages": "Positions from the oldest message that is kept to the newest: messages are these, or a few less.",
    "ccc_head_holders": "Open transactions that have appended.",
    "ccc_head_held_seconds": "How long the oldest of them has been open.",
    "ccc_scheduled_due": "Scheduled messages whose time has come, and that nobody has promoted.",
    "ccc_scheduled_overdue_seconds": "How long ago the first of them was due.",
    "ccc_sample_age_seconds": "How long ago the last sample was taken, if there is any.",
}
OF_A_GROUP: dict[str, tuple[str, Callable[[GroupOverview], float]]] = {
    "ccc_group_lag": ("Positions between the head and what is done.", lambda group: group.lag),
    "ccc_group_partitions": ("Partitions that are known.", lambda group: group.partitions),
    "ccc_group_pending": ("Partitions with open work.", lambda group: group.pending),
    "ccc_group_in_flight": ("Partitions that workers hold.", lambda group: group.in_flight),
    "ccc_group_failures": ("Partitions that failed last, and open dead letters.", lambda group: group.failures),
    "ccc_group_dead_letters": ("Open dead letters.", lambda group: group.dead_letters),
    "ccc_group_oldest_age_seconds": (
        "How long the oldest open message has waited; 0 if there is none.",
        lambda group: (group.oldest_age or timedelta()).total_seconds(),
    ),
    "ccc_group_rate": ("Messages a second, as the workers say.", lambda group: group.rate),
}
GROUP_WORKERS = ("ccc_group_workers", "Workers that are there for a group.")
GROUP_STATUS = ("ccc_group_status", "1 for the status that a group has, 0 for the others.")
WORKERS = ("ccc_workers", "Workers that are there, and that are gone without a word.")


def exposition(accept: str = "") -> tuple[bytes, str]:
    """All figures in a format that the scraper accepts, and its content type."""
    require("prometheus_client")
    from prometheus_client import CollectorRegistry  # noqa: PLC0415 - an extra

    registry = CollectorRegistry()
    registry.register(Figures())
    encode, content_type = _encoder(accept)
    return encode(registry), content_type


def _encoder(accept: str) -> "tuple[Callable[[Collector], bytes], str]":
    """What the scraper wants, or the oldest format, if nobody can understand what it wants."""
    from prometheus_client.exposition import choose_encoder  # noqa: PLC0415 - an extra

    try:
        return choose_encoder(accept)
    except (TypeError, ValueError):  # a version that is none
        return choose_encoder("")


class Figures:
    """A collector that keeps nothing: what it says is what the database says, in whichever process it is asked."""

    def collect(self) -> Iterator["Metric"]:
        """Every metric, with its value now."""
        for name, value in of_the_log().items():
            yield gauge(name, OF_THE_LOG[name], [], [((), value)])
        groups, seen = overview(), workers.seen()
        for name, (promise, figure) in OF_A_GROUP.items():
            yield gauge(name, promise, ["group"], [((group.name,), figure(group)) for group in groups])
        there = [name for worker in seen if worker.is_there for name in worker.groups]
        yield gauge(*GROUP_WORKERS, ["group"], [((group.name,), there.count(group.name)) for group in groups])
        statuses = [((group.name, status), group.status == status) for group in groups for status in GroupStatus.values]
        yield gauge(*GROUP_STATUS, ["group", "status"], statuses)
        present = sum(worker.is_there for worker in seen)
        yield gauge(*WORKERS, ["state"], [(("there",), present), (("gone",), len(seen) - present)])


def gauge(name: str, promise: str, labels: list[str], values: Iterable[tuple[Sequence[str], float]]) -> "Metric":
    """One metric."""
    from prometheus_client.core import GaugeMetricFamily  # noqa: PLC0415 - an extra

    family = GaugeMetricFamily(name, promise, labels=labels)
    for of, value in values:
        family.add_metric(of, float(value))
    return family


def of_the_log() -> dict[str, float]:
    """What there is to say about the log itself, each by a look at the end of an index."""
    [(due_in, sampled_ago, *_)] = db.rows("sweep_due")
    found = head.holders()
    longest = head.longest(found)
    figures: dict[str, Any] = {
        "ccc_head_position": store.head(),
        "ccc_last_position": db.rows("last_position")[0][0],
        "ccc_messages": _messages(),
        "ccc_head_holders": len(found),
        "ccc_head_held_seconds": ((longest and longest.held_for) or timedelta()).total_seconds(),
        "ccc_scheduled_due": ScheduledMessage.objects.filter(due_at__lte=Now()).count(),
        "ccc_scheduled_overdue_seconds": max(0.0, -(due_in or 0.0)),
        "ccc_sample_age_seconds": sampled_ago,
    }
    return {name: float(value) for name, value in figures.items() if value is not None}


def _messages() -> int:
    """No more than there can be; to count them all would read the whole log."""
    positions = StoredMessage.objects.values_list("position", flat=True)
    first, last = positions.order_by("position").first(), positions.order_by("-position").first()
    return 0 if first is None or last is None else last - first + 1
