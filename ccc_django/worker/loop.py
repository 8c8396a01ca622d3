"""The worker's loop: groups take turns; who finds nothing waits; who fails goes on."""

import os
import secrets
import socket
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from django.conf import settings
from django.db import Error, close_old_connections, connections, reset_queries

from ccc_django import db, groups, topics, wording
from ccc_django.claims import Claim
from ccc_django.conf import conf
from ccc_django.consumers import runner
from ccc_django.consumers.declaring import declare
from ccc_django.consumers.preparing import AnyConsumer
from ccc_django.consumers.retries import repeating
from ccc_django.errors import ClaimLost
from ccc_django.groups import counting
from ccc_django.groups.looking import look_at
from ccc_django.models import ConsumerGroup
from ccc_django.worker.background import Background
from ccc_django.worker.counting import Count
from ccc_django.worker.leases import Leases
from ccc_django.worker.stopping import Stopping
from ccc_django.worker.waiting import Waiting

TURN = 0.5  # seconds that a group has before the next one
FIRST_PAUSE = 0.05  # seconds until an idle group is looked at again, twice as many each time
LONGEST_PAUSE, UNCALLED_PAUSE = 4.0, 3.0  # up to so many; and where nobody calls
LONGEST_TROUBLE = 30.0  # seconds until a database that fails is tried again


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a worker ends by itself."""

    until_empty: bool = False
    max_messages: int | None = None
    max_seconds: float | None = None


@dataclass(slots=True)
class Served:
    """A group as its worker sees it: when it is looked at again, what was done for it, what is still to be acked."""

    consumer: AnyConsumer
    count: Count = field(default_factory=Count)
    look_at: float = 0.0
    pause: float = FIRST_PAUSE
    troubles: int = 0
    held: Claim | None = None

    @property
    def name(self) -> str:
        """The group's name."""
        return self.consumer.group_name()

    def found_nothing(self) -> None:
        """Look again later, and later each time; but not later than when a partition will be ready."""
        now, due = time.monotonic(), look_at(self.name).due_at
        self.look_at = now + self.pause
        if due is not None:  # what is due and cannot be claimed is in somebody's transaction
            self.look_at = min(self.look_at, max(due, now + FIRST_PAUSE))
        self.pause = min(2 * self.pause, LONGEST_PAUSE if conf.listen else UNCALLED_PAUSE)

    def is_called(self) -> None:
        """Look now; but a stopped group has nothing to do, whatever is appended, and what fails is not hurried."""
        if look_at(self.name).is_active and not self.troubles:
            self.look_at, self.pause = 0.0, FIRST_PAUSE

    def found_something(self) -> None:
        """Look again soon."""
        self.look_at, self.pause, self.troubles = 0.0, FIRST_PAUSE, 0


def unique_name(prefix: str = "") -> str:
    """A name that no other worker has, in no other container."""
    return f"{prefix or socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}"


class Worker:
    """Consumes for some groups until it is told to stop, or has reached a limit."""

    def __init__(
        self,
        consumers: Iterable[AnyConsumer],
        *,
        stopping: Stopping,
        name: str = "",
        batch_size: int = 100,
        limits: Limits | None = None,
        between: Callable[[], None] = lambda: None,
        parent: int | None = None,
    ) -> None:
        self.name = unique_name(name)
        self.served = [Served(consumer) for consumer in consumers]
        self.stopping = stopping
        self.batch_size = batch_size
        self.limits = limits or Limits()
        self.between = between  # called between two turns: to reload, to show
        self.parent = parent  # the process that supervises this one, if any does
        self.leases = Leases()
        self.of_topics: list[str] = []
        self.started_at = time.monotonic()

    @property
    def handled(self) -> int:
        """Messages that are done."""
        return sum(served.count.handled for served in self.served)

    def progress(self) -> dict[str, dict[str, Any]]:
        """What was done, by group."""
        return {served.name: served.count.as_json() for served in self.served}

    def run(self) -> None:
        """Consume."""
        for served in self.served:
            declare(served.consumer)
        self._find_topics()
        handled = [served.consumer.handled_types() for served in self.served]
        types = sorted({name for names in handled for name in names}) if all(handled) else []  # none is any
        waiting = Waiting(types)
        background = Background(self)
        wording.started(worker=self.name, groups=", ".join(served.name for served in self.served))
        try:
            waiting.listen()
            background.start()
            while not self._is_over():
                if not self._turn():
                    self._rest(waiting)
                self.between()
        finally:
            for served in self.served:
                self._ack(served)
            waiting.close()
            self._count()
            connections[conf.database].close()
            background.end()

    def _is_over(self) -> bool:
        most, seconds = self.limits.max_messages, self.limits.max_seconds
        if most is not None and self.handled >= most:
            self.stopping.ask(f"{most} messages are done")
        if seconds is not None and time.monotonic() - self.started_at >= seconds:
            self.stopping.ask(f"{seconds:g} seconds are over")
        return self.stopping()

    def _turn(self) -> bool:
        """Let each group that is due work for a while; whether any had something to do."""
        worked = False
        for served in self.served:
            if not self._is_over() and time.monotonic() >= served.look_at:
                worked |= self._serve(served)
        if settings.DEBUG:
            reset_queries()
        return worked

    def _rest(self, waiting: Waiting) -> None:
        """Nobody has anything to do until somebody is due, or is called."""
        if self.limits.until_empty and all(map(self._is_empty, self.served)):
            self.stopping.ask(self._how_it_ended())
            return
        due = min((served.look_at for served in self.served), default=time.monotonic() + LONGEST_PAUSE)
        if waiting.wait(due - time.monotonic(), self._is_over):
            for served in self.served:
                served.is_called()

    def _how_it_ended(self) -> str:
        """What was stopped waits for somebody, and is not done."""
        seen = [groups.status(each.name) for each in self.served]
        waiting = [each.name for each in seen if each.pending or (each.lag and each.status != "active")]
        return f"nothing else can be done; {', '.join(waiting)} waits for somebody" if waiting else "everything is done"

    def _is_empty(self, served: Served) -> bool:
        try:
            return not groups.is_active(served.name) or groups.is_empty(served.name)
        except Error:
            return False

    def _serve(self, served: Served) -> bool:
        """Claim and handle for a turn; a database that fails is tried again later."""
        try:
            worked = self._claim_and_handle(served)
        except Exception as error:  # noqa: BLE001 - the process goes on, whatever it is
            self._trouble(served, error)
            return False
        if worked:
            served.found_something()
        else:
            served.found_nothing()
            served.troubles = 0
        return worked

    def _claim_and_handle(self, served: Served) -> bool:
        deadline = time.monotonic() + TURN
        worked = False
        while time.monotonic() < deadline and not self._is_over():
            try:
                claim = self._claimed(served)
            except ClaimLost:
                served.count.lost += 1
                served.held, worked = None, True
                continue
            except Exception:
                self._ack(served)  # what is done is done, whatever the next claim met
                raise
            served.held = None
            if claim is None:
                return worked
            worked, served.held = True, self._handled(served, claim)
        self._ack(served)
        return worked

    def _ack(self, served: Served) -> None:
        """What is done is acked, on a new connection if the old one has ended; if that fails too, at the next claim."""
        if served.held is None:
            return
        try:
            if getattr(db.session(), "closed", False):
                db.connection().close()
            repeating(partial(groups.ack, served.held))
        except ClaimLost:
            served.count.lost += 1
        except Error as error:
            wording.not_acked(group=served.name, partition=served.held.partition_key, error=wording.line_of(error))
            return
        served.held = None

    def _find_topics(self) -> None:
        """Which groups have heartbeats; they are sent at once, for workers that only look now and then."""
        names = [served.name for served in self.served]
        with suppress(Error):
            of_topics = ConsumerGroup.objects.filter(name__in=names, topics__isnull=False)
            self.of_topics = [*of_topics.values_list("name", flat=True)]
            self.beat()

    def beat(self) -> None:
        """The groups of topics are there; what has died goes on."""
        if self.of_topics:
            topics.beat(self.of_topics)

    def _count(self) -> None:
        """Write down what was counted so far; it is for people only."""
        with suppress(Error):
            counting.write()

    def _claimed(self, served: Served) -> Claim | None:
        options = served.consumer.options
        limit = options.batch_size or self.batch_size
        if self.limits.max_messages is not None:
            limit = min(limit, self.limits.max_messages - self.handled)
        return groups.claim_next(served.name, worker=self.name, limit=limit, lease=options.lease, ack=served.held)

    def _handled(self, served: Served, claim: Claim) -> Claim | None:
        """Handle a claim; what is still to be acked of it."""
        with self.leases.holding(claim, served.consumer.options) as holding:
            outcome = runner.run(served.consumer, claim, stop=lambda: self._is_over() or holding.is_lost, may_hold=True)
        served.count.lost += outcome.is_lost
        if outcome.error is not None:
            self._say_why(served, claim, outcome)
            close_old_connections()
        served.count.add(len(outcome.steps))
        return outcome.held

    def _say_why(self, served: Served, claim: Claim, outcome: runner.Outcome) -> None:
        message = claim.messages[min(len(outcome.steps), len(claim.messages) - 1)]
        what: dict[str, Any] = {"group": served.name, "message_type": message.type, "position": message.position}
        error = wording.line_of(outcome.error) if outcome.error else ""
        if outcome.excuses:
            wording.put_off(**what, times=outcome.excuses, error=error)
        else:
            served.count.failed += 1
            most = claim.retry.max_attempts or "any number"
            wording.failed(**what, attempt=claim.attempt, most=most, error=error)

    def _trouble(self, served: Served, error: Exception) -> None:
        """Say it in one line, and try again later, and later each time."""
        pause = min(LONGEST_TROUBLE, FIRST_PAUSE * 2**served.troubles)
        served.troubles += 1
        served.look_at = time.monotonic() + pause
        wording.troubled(group=served.name, error=wording.line_of(error), seconds=pause)
        db.connection().close()
