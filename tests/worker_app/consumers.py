"""Consumers whose effects and journals a checker can look at; what they do is said by environment variables."""

import json
import os
import time
from datetime import timedelta
from pathlib import Path

from django.db import connection

from ccc_django import Command, Decider, Event, Projector, Retry, RunAfterCommit, consumer, decides, evolves
from ccc_django.envelope import uuid7
from tests.worker_app.models import Effect

SECONDS = float(os.environ.get("CCC_TEST_HANDLER_SECONDS", "0"))
LEASE = timedelta(seconds=float(os.environ.get("CCC_TEST_LEASE", "60")))
LIMIT = timedelta(seconds=float(os.environ.get("CCC_TEST_TIME_LIMIT", "300")))
ATTEMPTS = int(os.environ["CCC_TEST_ATTEMPTS"]) if "CCC_TEST_ATTEMPTS" in os.environ else None
JOURNALS = os.environ.get("CCC_TEST_JOURNALS")
POISON = os.environ.get("CCC_TEST_POISON", "")


class Worked(Event, type="worked"):
    """Something to handle."""

    course_name: str
    user_id: str


class Do(Command, type="do"):
    """Something to decide."""

    course_name: str


class Done(Event, type="done"):
    """What a command has led to, and how many have before it."""

    course_name: str
    number: int


class Announced(Event, type="announced"):
    """Something that concerns every partition of a course."""

    course_name: str


def journal(kind: str, *what: object, group: str = "") -> None:
    """Write down what this process does, at once; in a folder of the group's own, if it has one."""
    if JOURNALS:
        folder = Path(JOURNALS) / group
        folder.mkdir(exist_ok=True)
        with (folder / str(os.getpid())).open("a") as lines:
            print(json.dumps([kind, *what]), file=lines, flush=True)


def backend() -> int:
    """Who we are for the database."""
    if connection.vendor == "sqlite":
        return os.getpid()
    return connection.connection.info.backend_pid


@consumer(
    group="batches",
    partition_by=["course_name", "user_id"],
    handles=[Worked, Announced],
    batch=True,
    lease=LEASE,
    time_limit=LIMIT,
    retry=Retry(max_attempts=None, first_pause=timedelta(seconds=0.05)),
)
def in_batches(messages, claim):
    """Handles a batch in one transaction."""
    number, now = str(uuid7()), time.time()
    positions = [message.position for message in messages]
    journal("claimed", number, backend(), claim.partition_key, positions, now - 0.05, now)
    try:
        for position in positions:
            Effect.objects.create(
                group_name=claim.group, partition=claim.partition_key, position=position, worker=claim.worker
            )
            time.sleep(SECONDS)
    finally:  # also if it has failed: then the partition is free, and others may have it
        journal("acking", number, time.time())
    yield RunAfterCommit(lambda: journal("acked", number))


@consumer(
    group="singles",
    partition_by=["user_id"],
    handles=[Worked],
    lease=LEASE,
    time_limit=LIMIT,
    retry=Retry(max_attempts=ATTEMPTS or 3, first_pause=timedelta(seconds=0.05), longest_pause=timedelta(seconds=0.1)),
)
def one_by_one(message, claim):
    """Handles each message in a transaction of its own."""
    if POISON and message.user_id == POISON:
        raise ValueError("this one is poison")
    number, now = str(uuid7()), time.time()
    journal("claimed", number, backend(), claim.partition_key, [message.position], now - 0.05, now, group="singles")
    try:
        Effect.objects.create(
            group_name=claim.group, partition=claim.partition_key, position=message.position, worker=claim.worker
        )
        time.sleep(SECONDS)
    finally:
        journal("acking", number, time.time(), group="singles")
    yield RunAfterCommit(lambda: journal("acked", number, group="singles"))


class Deciding(
    Decider,
    group="deciding",
    partition_by=["course_name"],
    lease=LEASE,
    retry=Retry(max_attempts=ATTEMPTS, first_pause=timedelta(seconds=0.05)),
):
    """Each command leads to one event, with the next number."""

    state_type = int

    @evolves(Done)
    def done(self, number, event):
        return number + 1

    @decides(Do)
    def do(self, number, command):
        time.sleep(SECONDS)
        yield Done(course_name=command.course_name, number=number + 1)


class Tally(
    Projector,
    group="tally",
    partition_by=["user_id"],
    lease=LEASE,
    retry=Retry(max_attempts=ATTEMPTS, first_pause=timedelta(seconds=0.05)),
):
    """The positions that have come, in their order."""

    state_type = list

    @evolves(Worked)
    def worked(self, positions, event):
        time.sleep(SECONDS)
        return [*positions, event.position]


@consumer(group="quiet", partition_by=["user_id"], handles=[Worked], lease=LEASE)
def quiet(message):
    """Does nothing, or says when it was called."""
    if "CCC_TEST_PRINT" in os.environ:
        print(os.environ["CCC_TEST_PRINT"])  # noqa: T201 - as handlers do
    journal("called", message.position, time.time())
    time.sleep(SECONDS)
