"""Races of handle(): everybody is answered, in an order that a single process could have made; no wake-up is lost."""

import threading
import time
from datetime import timedelta

import pytest
from django.db import connection, transaction

from ccc_django import CommandRejected, consumers, groups, store
from ccc_django.claims import Claim
from ccc_django.consumers.declaring import declare
from ccc_django.errors import ClaimLost, DomainError
from ccc_django.groups.claiming import claim_named
from ccc_django.groups.seeking import find_or_make
from ccc_django.models import Offset
from ccc_django.partitions import partition_of
from tests.concurrency.processes import assert_overlapped, together
from tests.concurrency.test_groups import step
from tests.consuming import Greet, SeatsOffered, SeatTaken, TakeSeat, drain
from tests.domain import CourseClosed, UserJoinedCourse

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_consumers")]

PROCESSES, SEATS = 4, 12


def ask(number: int, times: int) -> list[tuple[int, str]]:
    """What became of several commands, one after the other; each by its position."""
    answers = []
    for n in range(times):
        command = TakeSeat(course_name="Algebra", user_id=f"u{n}" if n % 2 else f"u{number}-{n}")
        try:
            [taken] = consumers.handle(command, timeout=timedelta(seconds=60))
            answers.append((command.id, taken.user_id))
        except DomainError as refusal:
            answers.append((command.id, type(refusal).__name__))
    connection.close()
    return answers


def decided_in_order() -> dict[object, str]:
    """What one process alone would have answered, command by command in the order of the log."""
    taken, answers = [], {}
    for command in store.stream(type=TakeSeat):
        if command.user_id in taken:
            answers[command.id] = "AlreadyIn"
        elif len(taken) >= SEATS:
            answers[command.id] = "CourseFull"
        else:
            taken.append(command.user_id)
            answers[command.id] = command.user_id
    return answers


@pytest.mark.parametrize("with_worker", [False, True])
def test_commands_of_many_processes_are_answered_in_the_order_of_the_log(seating, with_worker, proof):
    store.append(SeatsOffered(course_name="Algebra", seats=SEATS))
    times = 40 if proof else 8
    tasks = [lambda number=number: ask(number, times) for number in range(PROCESSES)]
    if with_worker:
        tasks.append(lambda: work(seating, seconds=60 if proof else 2))
    reports = together(*tasks)
    assert_overlapped(reports)
    answers = dict(answer for report in reports[:PROCESSES] for answer in report.result)
    assert len(answers) == PROCESSES * times
    assert answers == decided_in_order()
    drain(seating)
    taken = [event.user_id for event in store.stream(type=SeatTaken)]
    assert len(taken) == SEATS
    assert [command.user_id for command in store.stream(type=Greet)] == taken, "each is reacted to once, in order"
    assert len(list(store.stream(type=CommandRejected))) == PROCESSES * times - SEATS
    assert groups.status("seating").lag == 0


def work(kind, seconds: float) -> list[object]:
    declare(kind)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        drain(kind, worker="worker")
        time.sleep(0.005)
    connection.close()
    return []


def test_one_command_of_many_processes_is_handled_once(seating):
    store.append(SeatsOffered(course_name="Algebra", seats=SEATS))
    command = TakeSeat(course_name="Algebra", user_id="joe")
    reports = together(*[lambda: [each.id for each in consumers.handle(command)] for _ in range(PROCESSES)])
    assert len({report.backend for report in reports}) == PROCESSES
    [taken] = store.stream(type=SeatTaken)
    assert [report.result for report in reports] == [[taken.id]] * PROCESSES


@pytest.fixture(params=["by all its attributes", "by one of them"])
def halfway(request):
    """A claim of two messages, while another has come that names the partition in full or in part, not marked yet."""
    groups.register(
        "enrolment", partition_by=["course_name", "user_id"], handled_types=[UserJoinedCourse, CourseClosed]
    )
    store.append([UserJoinedCourse(course_name="c0", user_id="u0") for _ in range(2)])
    claim = groups.claim_next("enrolment", worker="w-1")
    named = UserJoinedCourse(course_name="c0", user_id="u0"), CourseClosed(course_name="c0")
    [later] = store.append(named["one" in request.param])
    return claim, later


def first_done(claim: Claim) -> Claim:
    return groups.go_on(claim, position=claim.messages[0].position)


@pytest.mark.postgres
@pytest.mark.parametrize("first", ["go on", "mark"])
@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("ends", ["ack", "release", "expire"])
def test_no_wake_up_is_lost_between_progress_in_a_batch_and_mark(halfway, first, waits, ends):
    claim, later = halfway
    rest = []
    tasks = {"go on": lambda: rest.append(first_done(claim)), "mark": lambda: groups.advance("enrolment")}
    step(tasks.pop(first), *tasks.values(), waits=waits)
    assert groups.claim_next("enrolment", worker="w-2") is None, "it stays in hand"
    if ends == "ack":
        groups.ack(rest[0])
    elif ends == "release":
        groups.release(rest[0])
    else:
        Offset.objects.update(blocked_until="2020-01-01T00:00:00Z")
    delivered, found = [], groups.claim_next("enrolment", worker="w-2")
    while found:
        delivered += [message.position for message in found.messages]
        found = groups.claim_next("enrolment", worker="w-2", ack=found)
    left = [] if ends == "ack" else [claim.position]
    assert delivered == [*left, later.position]


VERBS = {
    "another claim": lambda claim: groups.claim_next("enrolment", worker="w-2"),
    "reset": lambda claim: groups.reset("enrolment"),
    "stop": lambda claim: groups.stop("enrolment"),
    "seek": lambda claim: groups.seek("enrolment", to=1, partition=claim.partition_value),
    "new type": lambda claim: groups.register(
        "enrolment", partition_by=["course_name", "user_id"], handled_types=["term.started"]
    ),
}


@pytest.mark.parametrize("verb", VERBS)
def test_progress_in_a_batch_that_was_lost_changes_nothing(halfway, verb):
    claim, _ = halfway
    Offset.objects.update(blocked_until="2020-01-01T00:00:00Z")  # the lease is over
    VERBS[verb](claim)
    before = list(Offset.objects.values())
    with pytest.raises(ClaimLost):
        first_done(claim)
    assert list(Offset.objects.values()) == before


@pytest.mark.parametrize("ends", [first_done, groups.ack, groups.release])
def test_a_partition_that_was_claimed_by_name_before_it_was_marked_is_fenced_too(ends):
    groups.register("enrolment", partition_by=["course_name"], handled_types=[CourseClosed])
    *_, last = store.append([CourseClosed(course_name="c0") for _ in range(2)])
    partition = partition_of({"course_name": "c0"})
    find_or_make("enrolment", partition)
    claim = claim_named("enrolment", partition, worker="w-1", upto=last.position)
    assert Offset.objects.get().next_position is None
    groups.stop("enrolment")
    groups.start("enrolment")
    with pytest.raises(ClaimLost):
        ends(claim)
    again = groups.claim_next("enrolment", worker="w-2")
    assert (again.messages, again.attempt) == (claim.messages, 1)


@pytest.mark.postgres
@pytest.mark.parametrize("verb", ["reset", "seek", "stop", "new type"])
@pytest.mark.parametrize("first", ["go on", "verb"])
def test_whoever_moves_or_stops_a_group_wins_over_progress_in_a_batch(halfway, first, verb):
    claim, _ = halfway
    done = []

    def go_on() -> None:
        try:
            done.append(first_done(claim))
        except ClaimLost:
            done.append(None)

    tasks = {"go on": go_on, "verb": lambda: VERBS[verb](claim)}
    step(tasks.pop(first), *tasks.values(), waits=True)
    assert (done[0] is None) == (first == "verb")
    with pytest.raises(ClaimLost):
        groups.ack(done[0] or claim)
    groups.start("enrolment")
    again = groups.claim_next("enrolment", worker="w-2")
    is_kept = first == "go on" and verb in {"stop", "new type"}
    assert again.messages[0] == claim.messages[1 if is_kept else 0]


@pytest.mark.postgres
def test_a_command_at_once_and_an_advance_wake_each_other_at_every_interleaving(seating):
    """The partition is made by handle(), while an advance that has seen its first message waits, or goes first."""
    for number, waits in enumerate([True, False] * 2):
        declare(seating)
        course = f"c{number}"
        store.append([SeatsOffered(course_name=course, seats=2), TakeSeat(course_name=course, user_id="ann")])
        held, done = threading.Event(), threading.Event()

        def handle(course=course, held=held, done=done) -> None:
            with transaction.atomic():
                consumers.handle(TakeSeat(course_name=course, user_id="joe"))
                done.set()
                held.wait(10)
            connection.close()

        thread = threading.Thread(target=handle)
        if number >= 2:
            groups.advance("seating")
        thread.start()
        assert done.wait(10)
        if not waits:
            held.set()
            thread.join(10)
        groups.advance("seating")
        held.set()
        thread.join(10)
        drain(seating)
        assert [e.user_id for e in store.stream(type=SeatTaken) if e.course_name == course] == ["ann", "joe"]
        assert groups.status("seating").lag == 0
    assert len(list(store.stream(type=Greet))) == 8
