"""Commands at once inside of transactions: whoever waits holds nothing that others wait for."""

import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction

from ccc_django import consumers, groups, store
from ccc_django.consumers import handling
from ccc_django.consumers.declaring import declare
from ccc_django.errors import PartitionBusy
from ccc_django.sql import statement
from tests.consuming import SeatsOffered, SeatTaken, TakeSeat, drain

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]

COURSES = ["Algebra", "Logic"]


@pytest.fixture(autouse=True)
def courses(seating):
    declare(seating)
    store.append([SeatsOffered(course_name=course, seats=2) for course in COURSES])


def ask(course: str, seconds: float = 5) -> None:
    with transaction.atomic():
        consumers.handle(TakeSeat(course_name=course, user_id="joe"), timeout=timedelta(seconds=seconds))


def at_once(*tasks: Callable[[], Any]) -> float:
    """Each on a connection of its own; how long all of them took."""
    failures = []

    def run(task: Callable[[], Any]) -> None:
        try:
            task()
        except BaseException as error:  # noqa: BLE001 - the test shows it
            failures.append(error)
        finally:
            connection.close()

    started = time.monotonic()
    threads = [threading.Thread(target=run, args=[task]) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert failures == []
    return time.monotonic() - started


def test_two_whose_bounds_lie_before_both_positions_do_not_wait_for_each_other(monkeypatch):
    groups.advance("seating")  # both partitions are known
    barrier, original, met = threading.Barrier(2), store.append, []

    def append(messages, **given):
        """Both say where they start before either takes a position."""
        if isinstance(messages[0], TakeSeat):
            with connection.cursor() as cursor:
                cursor.execute(f"WITH {statement('bound', 'postgresql')} SELECT count(*) FROM bound")
            if messages[0].course_name not in met:  # once
                met.append(messages[0].course_name)
                barrier.wait(10)
        return original(messages, **given)

    monkeypatch.setattr(store, "append", append)
    assert at_once(*(lambda course=course: ask(course) for course in COURSES)) < 4
    assert sorted(met) == COURSES
    assert len(list(store.stream(type=SeatTaken))) == 2


def test_two_that_make_partitions_do_not_wait_for_each_other(monkeypatch):
    append, find_or_make = store.append, handling.find_or_make

    def late(messages, **given):
        if getattr(messages[0], "course_name", "") == "Algebra":
            time.sleep(0.2)
        return append(messages, **given)

    def later(name, partition):
        if partition.value == {"course_name": "Logic"}:
            time.sleep(0.5)
        find_or_make(name, partition)

    monkeypatch.setattr(store, "append", late)
    monkeypatch.setattr(handling, "find_or_make", later)
    assert at_once(*(lambda course=course: ask(course) for course in COURSES)) < 4
    assert len(list(store.stream(type=SeatTaken))) == 2


def test_a_slow_append_elsewhere_is_waited_for_and_the_command_is_in_the_log(seating):
    done, held = threading.Event(), threading.Event()

    def slow() -> None:
        with transaction.atomic():
            store.append(SeatsOffered(course_name="Algebra", seats=1))
            done.set()
            held.wait(10)

    def hasty() -> None:
        assert done.wait(10)
        with transaction.atomic(), pytest.raises(PartitionBusy, match="an append elsewhere is not committed yet"):
            consumers.handle(TakeSeat(course_name="Logic", user_id="joe"), timeout=timedelta(seconds=0.3))
        held.set()

    at_once(slow, hasty)
    drain(seating)
    assert [event.user_id for event in store.stream(type=SeatTaken)] == ["joe"]


@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize("inside", [True, False])
def test_nobody_waits_longer_than_asked_for_a_transaction_that_stays_open(is_known, inside):
    """With ATOMIC_REQUESTS a request that has asked stays open until its response is made."""
    if is_known:
        consumers.handle(TakeSeat(course_name="Algebra", user_id="ann"))
    has_asked, may_end, taken = threading.Event(), threading.Event(), []

    def stay_open() -> None:
        with transaction.atomic():
            consumers.handle(TakeSeat(course_name="Algebra", user_id="joe"))
            has_asked.set()
            assert may_end.wait(30)

    def ask_meanwhile() -> None:
        assert has_asked.wait(10)
        started = time.monotonic()
        with transaction.atomic() if inside else nullcontext():
            with pytest.raises(PartitionBusy):
                consumers.handle(TakeSeat(course_name="Algebra", user_id="eve"), timeout=timedelta(seconds=0.5))
            taken.append(time.monotonic() - started)
            with connection.cursor() as cursor:
                cursor.execute("SELECT current_setting('lock_timeout')")
                taken.append(cursor.fetchone()[0])
        may_end.set()

    at_once(stay_open, ask_meanwhile)
    assert taken[0] < 5
    assert taken[1] == "0", "others wait as they did"
    consumers.handle(TakeSeat(course_name="Logic", user_id="eve"))
