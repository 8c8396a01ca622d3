"""Workers, appenders and kills: every partition gets all that belongs to it, in order, from one worker at a time."""

import json
import os
import random
import signal
import threading
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection, connections, transaction
from django.utils import timezone

from ccc_django import Retry, db, dead_letters, groups, store
from ccc_django.errors import ClaimLost
from ccc_django.groups import acking, lifecycle
from ccc_django.models import ConsumerGroup, DeadLetter, OffsetKeyPair
from tests.concurrency import checker
from tests.concurrency.processes import assert_overlapped, backend_id, fork, together
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
    """Claim, write down what is done, ack; what was written before a lost claim is done again by somebody else."""
    number, backend = time.time_ns(), backend_id()  # a journal may be continued
    held, merges = None, random.Random(worker).random() < 0.5
    with journal.open("a") as lines:

        def write(kind: str, *what: object) -> None:
            print(json.dumps([kind, number, *what]), file=lines, flush=True)

        while time.time() < stop:
            with suppress(ClaimLost):
                acked, held, asked_at = held, None, time.time()
                claim = groups.claim_next("enrolment", worker=worker, limit=5, lease=timedelta(seconds=0.5), ack=acked)
                if acked:
                    write("acked")
                if claim is None:
                    time.sleep(0.01)
                    continue
                number += 1
                positions = [message.position for message in claim.messages]
                write("claimed", backend, claim.partition_key, positions, asked_at, time.time())
                time.sleep(0.002)
                write("acking", time.time())
                if merges and time.time() < stop - 0.1:
                    held = claim
                    continue
                groups.ack(claim)
                write("acked")


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


def test_workers_that_are_killed_lose_nothing_and_repeat_nothing_that_was_acked(tmp_path, proof):
    registered()
    seconds = 60 if proof else 4
    workers = [lambda n=n: killed_workers(tmp_path, n, seconds + 1) for n in range(4)]
    appenders = [lambda n=n: append_for(seconds, n) for n in range(4)]
    reports = together(*workers, *appenders)
    assert_overlapped(reports)
    killed = sum(report.result for report in reports[:4])
    assert killed > 4, "some were killed"
    time.sleep(0.6)  # the last leases
    deadline = time.time() + 120
    while groups.status("enrolment").lag and time.time() < deadline:
        work(tmp_path / "last", "last", time.time() + 1)
    batches = checker.check(tmp_path, ["course_name", "user_id"], [each.type for each in HANDLED], lease=0.5)
    assert len({batch.backend for batch in batches}) == len({batch.worker for batch in batches}) > killed / 2
    assert len(checker.messages()) == sum(report.result for report in reports[4:])


@pytest.fixture(params=["by all its attributes", "by one of them"])
def claimed(request):
    """A claim of one message, while another has come that names the partition in full or in part, not marked yet."""
    registered()
    store.append(UserJoinedCourse(course_name="c0", user_id="u0"))
    claim = groups.claim_next("enrolment", worker="w-1")
    named = UserJoinedCourse(course_name="c0", user_id="u0"), CourseClosed(course_name="c0")
    [later] = store.append(named["one" in request.param])
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


def step(first, second, *, waits: bool) -> None:
    """One task in a transaction that stays open, and another that waits for it, or comes after it."""
    held, done = threading.Event(), threading.Event()
    one = in_thread(first, held, done)
    assert done.wait(10)
    if not waits:
        held.set()
        one.join(10)
    other = in_thread(second)
    if waits:
        time.sleep(0.3)
        assert other.is_alive(), "it waits for the first"
    else:
        other.join(10)
        assert not other.is_alive()
    held.set()
    one.join(10)
    other.join(10)


WAYS = [
    ("ack", "alone"),
    ("mark", "alone"),
    ("mark", "with the next claim"),
    ("ack", "in vain"),
    ("mark", "in vain"),
]


@pytest.mark.postgres
@pytest.mark.parametrize(("first", "acks"), WAYS)
@pytest.mark.parametrize("waits", [True, False])
def test_no_wake_up_is_lost_between_ack_and_mark(claimed, first, acks, waits):
    """At every interleaving of the two statements: one after the other, and one waiting for the other."""
    claim, later = claimed
    again = []

    def ack() -> None:
        if acks == "alone":
            groups.ack(claim)
        elif acks == "in vain":
            acking.freed(claim, db.rows("pass_claim", **acking.fence(claim), position=claim.position))
        else:
            again.append(groups.claim_next("enrolment", worker="w-1", ack=claim))

    tasks = {"ack": ack, "mark": advance}
    step(tasks.pop(first), *tasks.values(), waits=waits)
    found = next(filter(None, again), None) or groups.claim_next("enrolment", worker="w-2")
    assert found.messages[-1].position == later.position
    assert len(found.messages) == (2 if acks == "in vain" else 1), "a search in vain is no progress"


@pytest.mark.postgres
@pytest.mark.parametrize("first", ["ack", "replay"])
@pytest.mark.parametrize("waits", [True, False])
def test_no_replay_is_lost_between_ack_and_replay(first, waits):
    groups.register(
        "enrolment", partition_by=["course_name", "user_id"], handled_types=HANDLED, retry=Retry(max_attempts=1)
    )
    store.append([UserJoinedCourse(course_name="c0", user_id="u0") for _ in range(2)])
    groups.release(groups.claim_next("enrolment", worker="w-1"), error=ValueError("no"))
    claim, letter = groups.claim_next("enrolment", worker="w-1"), DeadLetter.objects.get()
    tasks = {"ack": lambda: groups.ack(claim), "replay": lambda: dead_letters.replay(letter)}
    step(tasks.pop(first), *tasks.values(), waits=waits)
    assert groups.claim_next("enrolment", worker="w-2").dead_letter == letter.pk


VERBS = {
    "reset": lambda _: groups.reset("enrolment"),
    "seek one": lambda claim: groups.seek("enrolment", to=claim.messages[0].position, partition=claim.partition_value),
    "stop": lambda _: groups.stop("enrolment"),
    "fail": lambda _: lifecycle.fail(lifecycle.locked("enrolment"), reason="no"),
    "new type": lambda _: groups.register(
        "enrolment", partition_by=["course_name", "user_id"], handled_types=["term.started"]
    ),
}


@pytest.mark.postgres
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("first", ["ack", "verb"])
def test_whoever_moves_or_stops_a_group_wins_over_a_running_claim(claimed, first, verb):
    claim, later = claimed
    lost = []

    def ack() -> None:
        try:
            groups.ack(claim)
        except ClaimLost as error:
            lost.append(error)

    tasks = {"ack": ack, "verb": lambda: VERBS[verb](claim)}
    waits = first == "verb" or verb in {"reset", "seek one"}  # the others find nothing to free that is not in hand
    step(tasks.pop(first), *tasks.values(), waits=waits)
    assert len(lost) == (1 if first == "verb" else 0)
    groups.start("enrolment")
    again = groups.claim_next("enrolment", worker="w-2")
    repeated = first == "verb" or verb in {"reset", "seek one"}
    expected = [claim.messages[0].position, later.position] if repeated else [later.position]
    delivered = []
    while again:
        delivered += [message.position for message in again.messages]
        again = groups.claim_next("enrolment", worker="w-2", ack=again)
    assert delivered == expected


@pytest.mark.postgres
@pytest.mark.parametrize("verb", ["stop", "fail", "new type"])
def test_a_claim_that_nobody_can_see_yet_is_fenced_too(verb):
    registered()
    store.append(UserJoinedCourse(course_name="c0", user_id="u0"))
    advance()
    claims, held, done = [], threading.Event(), threading.Event()
    claiming = in_thread(lambda: claims.append(groups.claim_next("enrolment", worker="w-1")), held, done)
    assert done.wait(10)
    with transaction.atomic():
        VERBS[verb](None)
    held.set()
    claiming.join(10)
    with pytest.raises(ClaimLost):
        groups.ack(claims[0])
    groups.start("enrolment")
    assert groups.claim_next("enrolment", worker="w-2").attempt == 1, "it blocks nobody, and was no attempt"


@pytest.mark.postgres
def test_a_group_can_be_deleted_while_its_partitions_are_in_hand(claimed):
    claim, _ = claimed
    groups.delete("enrolment")
    for verb in (groups.ack, groups.release, groups.renew):
        with pytest.raises(ClaimLost):
            verb(claim)
    assert not OffsetKeyPair.objects.exists()


@pytest.mark.postgres
def test_what_is_not_final_yet_is_not_behind_a_time(claimed):
    """A slow append with a lower position comes after a seek to a time that was earlier."""
    moment = timezone.now()
    held, done = threading.Event(), threading.Event()
    slow = in_thread(lambda: store.append(UserJoinedCourse(course_name="c9", user_id="u9")), held, done)
    assert done.wait(10)
    [fast] = store.append(UserJoinedCourse(course_name="c9", user_id="u9"))
    assert groups.seek("enrolment", to=moment) == fast.position - 1
    held.set()
    slow.join(10)
    delivered = []
    while claim := groups.claim_next("enrolment", worker="w-2"):
        delivered += [message.position for message in claim.messages]
    assert delivered == [fast.position - 1, fast.position]


@pytest.mark.postgres
def test_replays_and_an_advance_do_not_wait_for_each_other_for_ever():
    registered()
    groups.register(
        "enrolment", partition_by=["course_name", "user_id"], handled_types=HANDLED, retry=Retry(max_attempts=1)
    )
    store.append([UserJoinedCourse(course_name="c0", user_id=f"u{n}") for n in range(6)])
    for _ in range(6):
        groups.release(groups.claim_next("enrolment", worker="w"), error=ValueError("no"))
    store.append([UserJoinedCourse(course_name="c0", user_id=f"u{n}") for n in reversed(range(6))])
    for _ in range(5):
        letters = list(DeadLetter.objects.all())
        replaying = in_thread(lambda letters=letters: dead_letters.replay(letters))
        advancing = in_thread(advance)
        replaying.join(10)
        advancing.join(10)
        assert not replaying.is_alive()
        assert not advancing.is_alive()
        assert dead_letters.discard([]) == 0
        DeadLetter.objects.update(status="open")
