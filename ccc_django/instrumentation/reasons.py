"""Reasons: what is past its limit, in a sentence each, that names groups and workers and tells nothing of messages."""

from collections.abc import Iterable, Iterator
from datetime import timedelta

from ccc_django.instrumentation.head import HeadHolder, longest
from ccc_django.instrumentation.overview import GroupOverview
from ccc_django.instrumentation.workers import SeenWorker
from ccc_django.limits import GroupLimits, HealthLimits
from ccc_django.models import ConsumerGroup, TopicSubscription
from ccc_django.models.consumer_group import GroupStatus
from ccc_django.models.topic_subscription import SubscriptionStatus

MOST_NAMED = 3


def of_status(group: ConsumerGroup, limits: GroupLimits) -> Iterator[str]:
    """A group that has failed waits for somebody; one that is stopped was stopped on purpose."""
    if group.status_now == GroupStatus.FAILED:
        yield f"{group.name} has failed."
    elif group.status_now == GroupStatus.STOPPED and limits.stopped:
        yield f"{group.name} is stopped."


def of_subscriptions(names: Iterable[str]) -> Iterator[str]:
    """A subscription that has died holds nothing back, and gets nothing."""
    dead = TopicSubscription.objects.filter(status=SubscriptionStatus.DEAD)
    listed = [*names]
    for record in dead.filter(group_name__in=listed) if listed else dead:
        yield f"{record.group_name} is dead in {record.scope}: it sends no heartbeats."


def of_figures(group: GroupOverview, limits: GroupLimits) -> Iterator[str]:
    """How far a group is behind, unless it is stopped: then somebody wants it so."""
    if group.status == GroupStatus.STOPPED:
        return
    age = (group.oldest_age or timedelta()).total_seconds()
    if limits.lag is not None and group.lag > limits.lag:
        yield f"{group.name}: a lag of {group.lag:,} is more than {limits.lag:,}."
    if limits.oldest_age is not None and age > limits.oldest_age:
        yield f"{group.name}: the oldest message has waited {age:,.0f} s, longer than {limits.oldest_age:,g} s."
    if limits.failures is not None and group.failures > limits.failures:
        yield f"{group.name}: failures are {group.failures:,}, more than {limits.failures:,}."


def of_workers(workers: Iterable[SeenWorker], limits: HealthLimits) -> Iterator[str]:
    """Too few are there, or too many are gone."""
    gone = [worker.name for worker in workers if not worker.is_there]
    yield from of_number(workers, limits.workers)
    if limits.gone is not None and len(gone) > limits.gone:
        others = f" and {len(gone) - MOST_NAMED:,} more" if len(gone) > MOST_NAMED else ""
        yield f"Gone without a word: {', '.join(gone[:MOST_NAMED])}{others}."


def of_number(workers: Iterable[SeenWorker], least: int, where: str = "") -> Iterator[str]:
    """Too few are there."""
    count = sum(worker.is_there for worker in workers)
    if count < least:
        yield f"Workers{where} are {count:,}, fewer than {least:,}."


def of_head(holders: list[HeadHolder], limits: HealthLimits) -> Iterator[str]:
    """Somebody has appended and does not end the transaction."""
    holder = longest(holders)
    if holder is None or holder.held_for is None or limits.head_held is None:
        return
    if (seconds := holder.held_for.total_seconds()) > limits.head_held:
        who = f"process {holder.pid}" if holder.pid else "a prepared transaction"
        name = f" ({holder.application})" if holder.application else ""
        limit = f"{seconds:,.0f} s, longer than {limits.head_held:,g} s"
        yield f"The head is held back at {holder.bound:,} for {limit}, by {who}{name}."
