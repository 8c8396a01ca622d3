"""Draining: the project's consumers run in the process of a test, until nothing is left to do."""

import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import cast

from django.db.models import Q
from django.db.models.functions import Now

from ccc_django import groups, store
from ccc_django.canonical import in_utc
from ccc_django.claims import Claim
from ccc_django.consumers import registry, runner
from ccc_django.consumers.declaring import declare
from ccc_django.consumers.preparing import AnyConsumer
from ccc_django.errors import NotDrained
from ccc_django.groups.claiming import LIMIT
from ccc_django.models import DeadLetter, Delivery, Offset, ScheduledMessage
from ccc_django.models.consumer_group import GroupStatus, Kind
from ccc_django.models.dead_letter import NO_PARTITION
from ccc_django.models.offset import OPEN
from ccc_django.models.topic_subscription import SubscriptionStatus

MOST = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Drained:
    """What a drain has done, by group: messages handled, attempts that failed, partitions that are left waiting."""

    handled: dict[str, int]
    failed: dict[str, int]
    waiting: dict[str, int]


def drain(
    *consumers: AnyConsumer | str, raises: bool = True, scheduled: bool | datetime = False, most: int = MOST
) -> Drained:
    """Let all consumers, or some, by name or by class, handle everything, and what follows from it, as workers do.

    What a handler raises is raised here. With ``raises=False`` the retry policy decides, and partitions that pause are
    left waiting. ``scheduled=True`` lets the time of scheduled messages come, one after the other; a datetime, of those
    up to it.
    """
    named = [each if isinstance(each, str) else each.group_name() for each in consumers]
    work = _Work(_known(named), raises=raises, most=most)
    for consumer in work.consumers:
        declare(consumer)
    given_up = {*_given_up(work.names)}
    work.do()
    while scheduled is not False and _let_time_pass(None if scheduled is True else in_utc(scheduled)):
        work.do()
    waiting = {name: len(offsets) for name in work.names if (offsets := _waiting(name))}
    if raises:
        _refuse_what_is_lost(work.names, given_up)
    if raises and waiting:
        raise NotDrained(_why(waiting))
    return Drained(handled=dict(work.handled), failed=dict(work.failed), waiting=waiting)


@dataclass(slots=True)
class _Work:
    """Some consumers, and what they have done so far."""

    consumers: list[AnyConsumer]
    raises: bool
    most: int
    handled: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    claims: int = 0

    @property
    def names(self) -> list[str]:
        """The groups."""
        return [consumer.group_name() for consumer in self.consumers]

    def do(self) -> None:
        """Until nobody finds anything, and nothing is due."""
        is_done = False
        while not is_done:
            is_done = not store.promote()
            for consumer in self.consumers:
                is_done &= not self._served(consumer)

    def _served(self, consumer: AnyConsumer) -> bool:
        found = False
        while claim := _claimed(consumer):
            found = True
            self._handle(consumer, claim)
        return found

    def _handle(self, consumer: AnyConsumer, claim: Claim) -> None:
        outcome = runner.run(consumer, claim)
        self.claims += 1
        if outcome.steps:
            self.handled[claim.group] += len(outcome.steps)
        if outcome.error is not None:
            self.failed[claim.group] += 1
            if self.raises:
                raise outcome.error
        if max(self.handled.total(), self.claims) > self.most:
            raise NotDrained(
                f"{self.handled.total()} messages are handled, and there is no end: {dict(self.handled)}. Do consumers "
                f"answer each other? If there is that much to do, say most={10 * self.most}."
            )


def _known(names: list[str]) -> list[AnyConsumer]:
    """Where none is declared, there would be nothing to do, and a test that shows nothing."""
    known = registry.consumers(names) or [registry.consumer("")]
    return cast("list[AnyConsumer]", known)


def _claimed(consumer: AnyConsumer) -> Claim | None:
    """A claim; a call that has found nothing may have passed over partitions only that had nothing to deliver."""
    name, left = consumer.group_name(), None
    while True:
        claim = groups.claim_next(
            name,
            worker=f"drain-{os.getpid()}",
            limit=consumer.options.batch_size or LIMIT,
            lease=consumer.options.lease,
        )
        ready = 0 if claim else Offset.objects.ready(name).count()
        if ready == 0 or (left is not None and ready >= left):
            return claim
        left = ready


def _let_time_pass(until: datetime | None) -> bool:
    """The time of what is scheduled next has come; False if nothing is."""
    waiting = ScheduledMessage.objects.filter(Q() if until is None else Q(due_at__lte=until)).order_by("due_at")
    due_at = waiting.values_list("due_at", flat=True).first()
    return bool(due_at is not None and waiting.filter(due_at=due_at).order_by().update(due_at=Now()))


def _waiting(name: str) -> list[Offset | Delivery]:
    """Partitions with open work, or open messages; those of a group that somebody has stopped are nobody's concern."""
    if not groups.is_active(name):
        return []
    active = Delivery.objects.filter(group_topic__subscription__status=SubscriptionStatus.ACTIVE)
    messages = active.filter(group_topic__group__name=name).order_by("position")
    return [*Offset.objects.of_group(name).filter(OPEN).order_by("id"), *messages]


def _given_up(names: list[str]) -> list[DeadLetter]:
    ordered = DeadLetter.objects.open().filter(group__name__in=names, group__kind=Kind.ORDERED)
    return list(ordered.filter(partition_id=NO_PARTITION))


def _refuse_what_is_lost(names: list[str], before: set[DeadLetter]) -> None:
    """No handler was called for these, so that none has failed."""
    failed = [name for name in names if groups.status(name).status == GroupStatus.FAILED]
    if failed:
        raise NotDrained(f"{', '.join(failed)} has failed before, and does nothing until groups.start(name).")
    if lost := [letter for letter in _given_up(names) if letter not in before]:
        raise NotDrained(f"{lost[0]} belongs to too many partitions, and became a dead letter: {lost[0].error}.")


def _why(names: Iterable[str]) -> str:
    lines = [f"  {name} {offset}: {_reason(offset)}" for name in names for offset in _waiting(name)]
    return "\n".join(
        [
            "Something is left to do. Try again with groups.retry(name), or drain with raises=False:",
            *lines,
        ]
    )


def _reason(offset: Offset | Delivery) -> str:
    if offset.claimed_by:
        return f"{offset.claimed_by} holds it"
    return f"it pauses after {offset.error}" if offset.error else "it waits"
