"""Workers, appenders and kills: every partition gets all that belongs to it, in order, from one worker at a time."""

import json
import os
import random
import signal
import threading
import time
from collections import defaultdict
from contextlib import suppress
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from django.db import connection, connections, transaction

from ccc_django import Retry, groups, store
from ccc_django.errors import ClaimLost
from ccc_django.models import ConsumerGroup, Offset
from tests.concurrency.processes import assert_overlapped, fork, together
from tests.domain import CourseClosed, CourseCreated, UserJoinedCourse

pytestmark = pytest.mark.django_db(transaction=True)

COURSES, USERS = [f"c{n}" for n in range(4)], [f"u{n}" for n in range(4)]
HANDLED = [CourseCreated, CourseClosed, UserJoinedCourse]


def registered() -> ConsumerGroup:
    return groups.register(
        "enrolment",
        partition_by=["course_name", "user_id"],
        handled_types=HANDLED,
        retry=Retry(max_attempts=None),  # kills use attempts up
    )


def append_for(seconds: float, number: int) -> int:
    dice, count = random.Random(number), 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        course, user = dice.choice(COURSES), dice.choice(USERS)
        events = [
            UserJoinedCourse(course_name=course, user_id=user),
            dice.choice([CourseCreated, CourseClosed])(course_name=course),
        ]
        with transaction.atomic():
            count += len(store.append(events[: dice.choice([1, 1, 2])]))
            time.sleep(dice.choice([0, 0, 0.003]))
        time.sleep(0.002)
    return count


def work(journal: Path, worker: str, stop: float) -> None:
    """Claim, write down what was done, ack; what was written before a lost claim is done again by somebody else."""
    with journal.open("a") as lines:
        while time.time() < stop:
            claim = groups.claim_next("enrolment", worker=worker, limit=5, lease=timedelta(seconds=0.5))
            if claim is None:
                time.sleep(0.01)
                continue
            started = time.time()
            what = [claim.partition_key, [message.position for message in claim.messages], started]
            print(json.dumps(["handled", *what, time.time()]), file=lines, flush=True)
            time.sleep(0.002)
            with suppress(ClaimLost):
                groups.ack(claim)
                print(json.dumps(["acked", *what, time.time()]), file=lines, flush=True)


def killed_workers(folder: Path, number: int, seconds: float) -> int:
    """One worker after another, each killed at some moment; how many there were."""
    connections.close_all()
    dice, stop, count = random.Random(number), time.time() + seconds, 0
    while time.time() < stop:
        worker = f"w-{number}-{count}"
        process = fork.Process(target=work, args=(folder / worker, worker, stop))
        process.start()
        process.join(dice.uniform(0.2, 0.8))
        if process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
        process.join()
        count += 1
    return count


def belongs(message, value: dict[str, str]) -> bool:
    """The rule, for a message that has been read from the log."""
    carried = {name: getattr(message, name) for name in value if hasattr(message, name)}
    return bool(carried) and all(value[name] == each for name, each in carried.items())


def test_workers_that_are_killed_lose_nothing_and_repeat_nothing_that_was_acked(tmp_path, proof):
    registered()
    seconds = 60 if proof else 4
    workers = [lambda n=n: killed_workers(tmp_path, n, seconds + 1) for n in range(4)]
    appenders = [lambda n=n: append_for(seconds, n) for n in range(4)]
    reports = together(*workers, *appenders)
    assert_overlapped(reports)
    assert sum(report.result for report in reports[:4]) > 4, "some were killed"
    time.sleep(0.6)  # the last leases
    work(tmp_path / "last", "last", time.time() + 3)
    log = store.read().messages
    assert len(log) == sum(report.result for report in reports[4:])
    journal = defaultdict(list)
    for path in tmp_path.iterdir():
        for line in path.read_text().splitlines():
            kind, key, *rest = json.loads(line)
            journal[kind, key].append(rest)
    for offset in Offset.objects.all():
        key = offset.partition_key
        expected = [message.position for message in log if belongs(message, json.loads(key))]
        assert {each for positions, _, _ in journal["handled", key] for each in positions} == {*expected}, (
            "all, no others"
        )
        assert offset.last_position >= expected[-1], "everything was acked"
        batches = sorted(journal["acked", key], key=lambda batch: batch[2])
        acked = [position for positions, _, _ in batches for position in positions]
        assert acked == sorted({*acked}), "in order, and never after an ack"
        for before, after in pairwise(batches):
            assert before[1] < after[1], "one worker at a time"
            assert before[2] <= after[2]


@pytest.fixture
def claimed():
    """A claim of one message, while another has come and is not marked yet."""
    registered()
    store.append(UserJoinedCourse(course_name="c0", user_id="u0"))
    claim = groups.claim_next("enrolment", worker="w-1")
    [later] = store.append(UserJoinedCourse(course_name="c0", user_id="u0"))
    return claim, later


def advance() -> None:
    groups.advance("enrolment")


def in_thread(task, held: threading.Event | None = None, done: threading.Event | None = None) -> threading.Thread:
    """A task on a connection of its own; in a transaction that stays open until it is told."""

    def run() -> None:
        with transaction.atomic():
            task()
            if done:
                done.set()
            if held:
                held.wait(10)
        connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.mark.postgres
@pytest.mark.parametrize("first", ["ack", "mark"])
@pytest.mark.parametrize("waits", [True, False])
def test_no_wake_up_is_lost_between_ack_and_mark(claimed, first, waits):
    """At every interleaving of the two statements: one after the other, and one waiting for the other."""
    claim, later = claimed
    tasks = {"ack": lambda: groups.ack(claim), "mark": advance}
    second = "mark" if first == "ack" else "ack"
    held, done = threading.Event(), threading.Event()
    one = in_thread(tasks[first], held, done)
    assert done.wait(10)
    if not waits:
        held.set()
        one.join(10)
    other = in_thread(tasks[second])
    time.sleep(0.2)
    assert other.is_alive() == waits
    held.set()
    one.join(10)
    other.join(10)
    again = groups.claim_next("enrolment", worker="w-2")
    assert [message.position for message in again.messages] == [later.position]
