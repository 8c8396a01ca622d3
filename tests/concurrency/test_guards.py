"""Two decisions on the same facts cannot both win, and nobody waits for a stranger."""

import random
import time
from contextlib import suppress

import pytest
from django.db import connection, connections, transaction

from ccc_django import Condition, Event, Guard, store
from ccc_django.errors import AppendConflict, AppendInterrupted, WrongIsolation
from ccc_django.models import KeyPair, StoredMessage
from tests.concurrency.processes import assert_overlapped, fork, in_background, together
from tests.domain import CourseClosed, CourseCreated, TermStarted, UserJoinedCourse

pytestmark = pytest.mark.django_db(transaction=True)


class SeatTaken(Event, type="concurrency.seat_taken"):
    course_name: str
    user_id: str | None = None


def conditions(course, user=None):
    names = {"course_name": course} | ({"user_id": user} if user else {})
    return [
        condition
        for each in (CourseCreated, CourseClosed, UserJoinedCourse, SeatTaken)
        for condition in each.to_conditions(**names)
    ]


def race(wanted, event, rounds, start):
    """Decide on the same facts as everybody else, in every round at the same moment; which rounds were won."""

    def task():
        won = []
        for number in range(rounds):
            start.wait(60)
            context = store.read(wanted(number))
            if any(isinstance(message, SeatTaken) for message in context.messages):
                continue
            try:
                store.append(event(number), guard=context.guard)
            except AppendConflict:
                continue
            won.append(number)
        return won

    return task


def seat(course, user=None):
    return lambda number: SeatTaken(course_name=f"{course} {number}", user_id=user)


@pytest.mark.parametrize("known", [False, True])
def test_of_sixteen_racers_exactly_one_wins(known, proof):
    """Also when the value has never been seen before."""
    rounds = 200 if proof else 15
    if known:
        store.append([CourseCreated(course_name=f"Algebra {n}") for n in range(rounds)])
    racer = race(lambda n: conditions(f"Algebra {n}"), seat("Algebra"), rounds, fork.Barrier(16))
    reports = together(*[racer] * 16)
    assert_overlapped(reports)
    assert sorted(number for report in reports for number in report.result) == list(range(rounds))
    assert StoredMessage.objects.filter(message_type=SeatTaken.type).count() == rounds


def test_several_conditions_and_partial_messages_as_the_conflict(proof):
    """One half decides for (course, user), the other appends what carries only the course."""
    rounds = 200 if proof else 15
    start = fork.Barrier(16)
    composite = race(lambda n: conditions(f"Algebra {n}", "joe"), seat("Algebra", "joe"), rounds, start)
    partial = race(lambda n: conditions(f"Algebra {n}"), seat("Algebra"), rounds, start)
    reports = together(*[composite] * 8, *[partial] * 8)
    assert_overlapped(reports)
    assert sorted(number for report in reports for number in report.result) == list(range(rounds))


def test_plain_appends_are_seen_by_guards(proof):
    """What was allowed must have been allowed by the log as it stood: replay it and see."""
    rounds = 100 if proof else 25

    def decide():
        for number in range(rounds):
            close_unless_joined(f"Algebra {number}")

    def join():
        dice = random.Random()
        for number in range(rounds):
            time.sleep(dice.random() * 0.002)
            store.append(UserJoinedCourse(course_name=f"Algebra {number}", user_id="joe"))

    assert_overlapped(together(decide, decide, join, join))
    joined = set()
    for message in store.stream():
        if isinstance(message, UserJoinedCourse):
            joined.add(message.course_name)
        else:
            assert message.course_name not in joined, "closed although somebody had joined before"


def close_unless_joined(course: str) -> None:
    context = store.read(conditions(course))
    if not any(isinstance(message, UserJoinedCourse) for message in context.messages):
        with suppress(AppendConflict):
            store.append(CourseClosed(course_name=course), guard=context.guard)


def test_unrelated_guards_do_not_conflict():
    def decide(course):
        def task():
            for _ in range(10):
                store.append(CourseClosed(course_name=course), guard=store.read(conditions(course)).guard)

        return task

    assert_overlapped(together(*(decide(f"Course {n}") for n in range(8))))
    assert StoredMessage.objects.count() == 80


def hold(pipe, course: str, seconds: float) -> None:
    with transaction.atomic():
        store.append(UserJoinedCourse(course_name=course, user_id="slow"))
        pipe.send(True)
        pipe.poll(seconds)


@pytest.mark.postgres
def test_an_open_append_delays_no_other_that_has_nothing_to_do_with_it():
    """Also when both use an attribute value that is new to the dictionary."""
    guard = store.read(conditions("History")).guard
    here, there = fork.Pipe()
    with in_background(hold, there, "Algebra", 60):
        assert here.poll(20)
        started = time.monotonic()
        store.append(UserJoinedCourse(course_name="Algebra", user_id="slow"))
        store.append(UserJoinedCourse(course_name="Algebra", user_id="ann"))
        store.append(UserJoinedCourse(course_name="History", user_id="slow"), guard=guard)
        store.append([UserJoinedCourse(course_name=f"c{n}", user_id="slow") for n in range(500)])
        assert time.monotonic() - started < 1.5
        here.send("enough")
    assert KeyPair.objects.filter(name="course_name", value="s:Algebra").count() >= 1


@pytest.mark.postgres
def test_a_guard_waits_for_an_open_append_of_what_it_looks_at():
    guard = store.read(conditions("Algebra")).guard
    here, there = fork.Pipe()
    with in_background(hold, there, "Algebra", 1.0):
        assert here.poll(20)
        started = time.monotonic()
        with pytest.raises(AppendConflict):
            store.append(CourseClosed(course_name="Algebra"), guard=guard)
        assert time.monotonic() - started > 0.5


@pytest.mark.postgres
def test_the_lost_conflict():
    """A takes its position first and stays open; B commits a higher one; C reads, and decides; A commits."""
    store.append(TermStarted())
    here, there = fork.Pipe()
    with in_background(hold, there, "Algebra", 60) as process:
        assert here.poll(20)
        [later] = store.append(UserJoinedCourse(course_name="Algebra", user_id="ann"))
        context = store.read(conditions("Algebra"))
        assert [message.position for message in context.messages] == [later.position]
        here.send("commit")
        process.join(20)
        with pytest.raises(AppendConflict) as conflict:
            store.append(CourseClosed(course_name="Algebra"), guard=context.guard)
        assert conflict.value.positions < [later.position]


@pytest.mark.postgres
@pytest.mark.parametrize("level", ["REPEATABLE READ", "SERIALIZABLE"])
def test_other_isolation_levels_are_refused(level):
    guard = store.read(conditions("Algebra")).guard
    for refused in (lambda: store.append(TermStarted(), guard=guard), store.head, lambda: store.read(conditions("A"))):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
            with pytest.raises(WrongIsolation, match=level):
                refused()
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET TRANSACTION ISOLATION LEVEL {level}")
        store.append(TermStarted())
    assert StoredMessage.objects.count() == 1


def crossing(first: str, second: str, tries: list):
    """Two transactions that lock the same two values in opposite order."""

    @store.retrying(tries=10)
    def decide():
        tries.append(1)
        with transaction.atomic():
            for course in (first, second):
                store.append(CourseClosed(course_name=course), guard=guard_on(course))
                time.sleep(0.3 if len(tries) == 1 else 0)

    def task():
        decide()
        return len(tries)

    return task


def guard_on(course: str) -> Guard:
    return Guard(conditions=(Condition("course.created", "course_name", course),), after=0)


@pytest.mark.postgres
def test_a_deadlock_is_named_and_the_decorator_recovers():
    reports = together(crossing("Algebra", "History", []), crossing("History", "Algebra", []))
    assert_overlapped(reports)
    assert max(report.result for report in reports) > 1, "one of them was interrupted"
    assert StoredMessage.objects.count() == 4, "and all of it is there, once"


@pytest.mark.postgres
def test_a_lock_time_out_is_named_and_spoils_the_callers_transaction():
    here, there = fork.Pipe()
    with in_background(hold, there, "Algebra", 60):
        assert here.poll(20)
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL lock_timeout = '100ms'")
            with pytest.raises(AppendInterrupted, match=r"the outermost transaction must run again"):
                store.append(CourseClosed(course_name="Algebra"), guard=guard_on("Algebra"))
            assert connection.needs_rollback
    assert not StoredMessage.objects.filter(message_type="course.closed").exists()


@pytest.mark.sqlite
def test_sqlite_that_stays_locked_is_an_interruption():
    here, there = fork.Pipe()
    with in_background(hold, there, "Algebra", 60):
        assert here.poll(20)
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout = 100")
        with pytest.raises(AppendInterrupted):
            store.append(TermStarted())
    connections.close_all()
    assert [message.type for message in store.append(TermStarted())] == ["term.started"]


@pytest.mark.postgres
def test_twenty_thousand_appends_in_one_transaction(proof):
    count = 20_000 if proof else 2_000
    with transaction.atomic():
        for number in range(count):
            store.append(UserJoinedCourse(course_name=f"c{number}", user_id=f"u{number}"))
        with connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()")
            assert cursor.fetchone()[0] <= 70
    assert StoredMessage.objects.count() == count


@pytest.mark.postgres
def test_many_connections_do_not_exhaust_the_lock_table(proof):
    clients, batches = (90, 30) if proof else (60, 3)  # the short form shares the server with other tests

    def append():
        with transaction.atomic():
            for number in range(batches):
                store.append([UserJoinedCourse(course_name=f"c{number}-{n}", user_id=f"u{n}") for n in range(100)])
        return True

    assert all(report.result for report in together(*[append] * clients, timeout=600))
    assert StoredMessage.objects.count() == clients * batches * 100


@pytest.mark.postgres
def test_a_bulk_append_and_a_guard_exclude_each_other():
    """With more than 64 locks an append takes the bulk lock, which every guarded append shares."""
    guard = store.read(conditions("Algebra")).guard
    here, there = fork.Pipe()

    def bulk(pipe):
        with transaction.atomic():
            store.append([UserJoinedCourse(course_name="Algebra", user_id=f"u{n}") for n in range(200)])
            pipe.send(True)
            pipe.poll(1.0)

    with in_background(bulk, there):
        assert here.poll(20)
        with pytest.raises(AppendConflict):
            store.append(CourseClosed(course_name="Algebra"), guard=guard)
