"""Nobody who follows the log by position ever misses a message, whatever the writers do."""

import os
import random
import signal
import threading
import time
from contextlib import suppress
from itertools import count

import pytest
from django.contrib.auth.models import Group
from django.db import connection, connections, transaction

from ccc_django import Event, store
from tests.concurrency.processes import assert_overlapped, fork, in_background, together
from tests.domain import CourseCreated, TermStarted

pytestmark = pytest.mark.django_db(transaction=True)


class Counted(Event, type="concurrency.counted"):
    writer: int
    number: int


def write(writer: int, most: int) -> list[tuple[int, int]]:
    """Append in every way there is; what was committed."""
    dice, kept = random.Random(writer), []
    number = 0
    while number < most:
        size = min(dice.choice([1, 1, 1, 2, 5]), most - number)
        batch = [Counted(writer=writer, number=number + n) for n in range(size)]
        if append_somehow(batch, dice.random()):
            kept += [(writer, event.number) for event in batch]
        number += size
    return kept


def append_somehow(batch: list[Event], way: float) -> bool:
    if way < 0.6:
        store.append(batch)
        return True
    with transaction.atomic():
        if way < 0.7:  # a savepoint that is rolled back, and the same again
            with transaction.atomic():
                store.append([Counted(writer=-1, number=0), TermStarted()])
                transaction.set_rollback(True)
        store.append(batch)
        if way < 0.85:
            time.sleep(0.002)  # stays open while others commit
        if way > 0.95:
            transaction.set_rollback(True)
    return way <= 0.95


def follow(expected: int, stop: object) -> list[tuple[int, int]]:
    """Read up to head, again and again, and never look back."""
    after, seen = 0, []
    while True:
        finished = stop.value == expected
        head = store.head()
        messages = store.read(after=after, upto=head).messages
        seen += [(message.writer, message.number) for message in messages if isinstance(message, Counted)]
        after = max(after, head)
        if finished:
            return seen


def write_until_killed(writer: int, journal, seconds: float) -> None:
    """Append, saying before and after each commit what it is about, until SIGKILL comes, some time after the first."""
    for number in count(step=2):
        if number == 2:
            threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGKILL)).start()
        batch = [Counted(writer=writer, number=number), Counted(writer=writer, number=number + 1)]
        journal.send((False, number))
        with transaction.atomic():
            store.append(batch)
            time.sleep(0.001)
        journal.send((True, number))


def kill_writers(first: int, victims: int) -> dict[int, tuple[set[int], set[int]]]:
    """Start writers that die, one after another; the numbers that each has committed, and those that it may have."""
    connections.close_all()
    dice, journals = random.Random(first), {}
    for writer in range(first, first + victims):
        here, there = fork.Pipe()
        process = fork.Process(target=write_until_killed, args=(writer, there, dice.uniform(0.01, 0.2)))
        process.start()
        there.close()
        journals[writer] = read_journal(here)
        process.join()
        assert process.exitcode == -signal.SIGKILL
    return journals


def read_journal(pipe) -> tuple[set[int], set[int]]:
    begun, done = set(), set()
    with suppress(EOFError, ConnectionResetError):
        while True:
            committed, number = pipe.recv()
            (done if committed else begun).update({number, number + 1})
    return done, begun


def test_a_follower_sees_every_message_once_and_in_order(proof):
    writers, number, killers, victims = 8, 5_000 if proof else 150, 2, 25 if proof else 3
    stop = fork.Value("i", 0)

    def counted(work, *args):
        def task():
            result = work(*args)
            with stop.get_lock():
                stop.value += 1
            return result

        return task

    writing = [counted(write, writer, number) for writer in range(writers)]
    killing = [counted(kill_writers, 100 * (1 + killer), victims) for killer in range(killers)]
    reports = together(*writing, *killing, lambda: follow(writers + killers, stop), timeout=900)
    assert_overlapped(reports)
    seen = reports[-1].result
    assert len(seen) == len(set(seen)), "each once"
    for writer in {writer for writer, _ in seen}:
        numbers = [number for who, number in seen if who == writer]
        assert numbers == sorted(numbers), "in order"
    kept = {each for report in reports[:writers] for each in report.result}
    assert {each for each in seen if each[0] < writers} == kept, "all that was committed, and nothing else"
    journals = {writer: both for report in reports[writers:-1] for writer, both in report.result.items()}
    for writer, (done, begun) in journals.items():
        numbers = {number for who, number in seen if who == writer}
        assert done <= numbers <= begun, "what was committed, and at most the commit that was cut short"
        assert {number - number % 2 for number in numbers} | {number | 1 for number in numbers} == numbers, "whole"
    assert all(done for done, _ in journals.values())


def append_and_wait(pipe, wait: float) -> None:
    with transaction.atomic():
        store.append(CourseCreated(course_name="slow"))
        pipe.send(True)
        time.sleep(wait)


def test_a_writer_that_dies_leaves_nothing_and_holds_nothing_back():
    before = store.append(TermStarted())[0].position
    for _ in range(5):
        here, there = fork.Pipe()
        with in_background(append_and_wait, there, 60) as process:
            assert here.poll(20)
            os.kill(process.pid, signal.SIGKILL)
        [stored] = store.append(TermStarted())
        deadline = time.monotonic() + 20
        while store.head() < stored.position:
            assert time.monotonic() < deadline
    assert store.read(CourseCreated.to_conditions(course_name="slow")).messages == []
    assert store.head() >= before


@pytest.mark.postgres
def test_head_waits_for_an_open_append_and_for_nothing_else():
    [first] = store.append(TermStarted())
    here, there = fork.Pipe()
    with in_background(append_and_wait, there, 3):
        assert here.poll(20)
        started = time.monotonic()
        [second] = store.append(TermStarted())
        assert time.monotonic() - started < 1, "an open append delays no other"
        assert store.head() == first.position
        assert store.read(after=0).messages[-1].position == second.position, "reads are not cut"
        while store.head() < second.position:
            assert time.monotonic() - started < 20
            time.sleep(0.05)
        assert time.monotonic() - started > 1


def write_a_group_and_wait(pipe, wait: float) -> None:
    with transaction.atomic():
        Group.objects.create(name="teachers")
        pipe.send(True)
        time.sleep(wait)


@pytest.mark.postgres
def test_open_transactions_of_the_application_do_not_hold_the_head_back():
    here, there = fork.Pipe()
    with in_background(write_a_group_and_wait, there, 3):
        assert here.poll(20)
        [stored] = store.append(TermStarted())
        assert store.head() == stored.position


@pytest.mark.postgres
@pytest.mark.parametrize("value", [None, 2**31 - 2, 2**40])
def test_the_sequence_may_be_anywhere(value):
    with connection.cursor() as cursor:
        cursor.execute("ALTER SEQUENCE ccc_messages_position_seq RESTART")
        assert store.head() == 0
        if value:
            cursor.execute("SELECT setval('ccc_messages_position_seq', %s)", [value])
            assert store.head() == value
    first = (value or 0) + 1
    here, there = fork.Pipe()
    with in_background(append_and_wait, there, 60):
        assert here.poll(20)
        assert store.head() == first - 1
        stored = store.append([TermStarted(), TermStarted()])
        assert [message.position for message in stored] == [first + 1, first + 2]
        assert store.head() == first - 1
    with connection.cursor() as cursor:
        cursor.execute("SELECT setval('ccc_messages_position_seq', 1000)")
