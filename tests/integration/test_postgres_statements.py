"""Our statements travel by libpq: what psycopg would do for us must hold all the same."""

import os
import signal
import threading
import time

import pytest
from django.db import InternalError, OperationalError, connection, transaction
from hypothesis import given
from hypothesis import strategies as st

from ccc_django import Guard, db, postgres, store
from ccc_django.errors import AppendInterrupted
from ccc_django.postgres import parameter
from ccc_django.sql import numbered
from tests.concurrency.processes import fork, in_background
from tests.domain import CourseCreated, TermStarted

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]

texts = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))


@given(st.lists(texts), st.lists(st.integers(-(2**63), 2**63 - 1)), st.lists(st.booleans()))
def test_the_server_reads_arrays_as_they_were_given(words, numbers, truths):
    with connection.cursor() as cursor:
        literals = [parameter(each).decode() for each in (words, numbers, truths)]
        cursor.execute("SELECT %s::text[], %s::bigint[], %s::boolean[]", literals)
        assert cursor.fetchone() == (words, numbers, truths)


def append_and_hold(pipe, name: str) -> None:
    with transaction.atomic():
        guard = store.read(CourseCreated.to_conditions(course_name=name)).guard
        store.append(CourseCreated(course_name=name), guard=guard)
        pipe.send(True)
        time.sleep(60)


def test_a_failure_before_a_statement_was_prepared_does_no_harm():
    here, there = fork.Pipe()
    with in_background(append_and_hold, there, "Algebra"):
        assert here.poll(20)
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = 50")
        with pytest.raises(AppendInterrupted):
            store.append(CourseCreated(course_name="Algebra"))
        store.append(CourseCreated(course_name="Geometry"))
    connection.close()
    assert [message.course_name for message in store.read().messages] == ["Geometry"]


def test_a_server_process_that_ends_is_an_error_and_nothing_is_stored():
    with pytest.raises((OperationalError, InternalError)), transaction.atomic():
        store.append(TermStarted())
        end_our_server_process()
        store.append(TermStarted())
    assert store.append(TermStarted())[0].position == store.head()
    assert len(list(store.stream())) == 1


def end_our_server_process() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        pid = cursor.fetchone()[0]
    other = connection.copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    other.close()


def test_an_append_that_waits_can_be_interrupted_from_the_keyboard():
    here, there = fork.Pipe()
    with in_background(append_and_hold, there, "Algebra"):
        assert here.poll(20)
        threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
        started = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            store.append(CourseCreated(course_name="Algebra"))
        assert time.monotonic() - started < 10
        store.append(CourseCreated(course_name="Geometry"))
    assert [message.course_name for message in store.read().messages] == ["Geometry"]


def test_a_thread_that_waits_for_a_lock_lets_its_holder_go_on():
    guard = Guard(conditions=tuple(CourseCreated.to_conditions(course_name="Algebra")), after=2**60)

    def append() -> None:
        with transaction.atomic():
            store.append(CourseCreated(course_name="Algebra"), guard=guard)
            time.sleep(0.05)  # Python goes on here only if the others let it
        connection.close()

    threads = [threading.Thread(target=append, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(list(store.stream())) == 4


class TimeIsUp(Exception):
    """What a task runner raises from a signal handler."""


def test_a_journey_that_is_cut_short_leaves_no_results_for_the_next():
    def raise_it(*_):
        raise TimeIsUp

    here, there = fork.Pipe()
    before = signal.signal(signal.SIGALRM, raise_it)
    try:
        with in_background(append_and_hold, there, "Algebra"):
            assert here.poll(20)
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(TimeIsUp):
                store.append(CourseCreated(course_name="Algebra"))
            with pytest.raises(OperationalError, match="closed"):
                store.head()
            connection.close()
            store.append(CourseCreated(course_name="Geometry"))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert [message.course_name for message in store.read().messages] == ["Geometry"]


def planned(name: str, **parameters: object) -> str:
    """The plan that a prepared statement of this connection follows now, with the same parameters as ever."""
    prepared = postgres._prepared[connection.connection][name].decode()
    given = [parameters[each] for each in numbered(name)[1]]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN EXECUTE {prepared} ({', '.join(['%s'] * len(given))})", given)
        return "\n".join(line for (line,) in cursor.fetchall())


def test_a_plan_that_was_made_while_a_table_was_small_is_made_anew_by_whoever_has_waited(monkeypatch):
    monkeypatch.setattr(postgres, "SLOW", 3600.0)
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE ccc_messages SET (autovacuum_enabled = off)")
        store.append(CourseCreated(course_name="Algebra"))
        cursor.execute("VACUUM ANALYZE ccc_messages")
        for _ in range(8):
            db.rows("messages_at", positions=[1])
        store.append([CourseCreated(course_name=str(number)) for number in range(3_000)])
        assert "Seq Scan" in planned("messages_at", positions="{1}"), "it is kept while the table grows"
        monkeypatch.setattr(postgres, "SLOW", 0.0)
        db.rows("messages_at", positions=[1])
        db.rows("messages_at", positions=[1])
        assert "Seq Scan" not in planned("messages_at", positions="{1}")
        cursor.execute("ALTER TABLE ccc_messages RESET (autovacuum_enabled)")
