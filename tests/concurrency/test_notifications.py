"""Notifications: after the commit, to those who wait; a hint and nothing more."""

import threading
import time

import pytest
from django.db import connections, transaction

from ccc_django import notifications, store
from tests.domain import CourseCreated, TermStarted

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def nothing_announced(monkeypatch):
    monkeypatch.setattr(notifications, "_announced", {})
    monkeypatch.setattr(notifications, "LOOK_AGAIN", 0)


def later(task) -> threading.Thread:
    def run():
        time.sleep(0.2)
        task()
        connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def test_waiting_ends_when_something_comes():
    thread = later(lambda: store.append(TermStarted()))
    started = time.monotonic()
    assert notifications.wait(["term.started"], timeout=20)
    assert time.monotonic() - started < 10
    thread.join()


def test_waiting_ends_when_the_time_is_over():
    started = time.monotonic()
    assert not notifications.wait(timeout=0.2)
    assert 0.15 < time.monotonic() - started < 5


@pytest.mark.postgres
def test_only_the_types_that_are_waited_for_count():
    with notifications.listening(["term.started"]) as listener:
        store.append(CourseCreated(course_name="Algebra"))
        assert not listener.wait(0.3)
        store.append(TermStarted())
        assert listener.wait(5)


@pytest.mark.postgres
def test_an_append_that_is_rolled_back_notifies_nobody():
    with notifications.listening() as listener:
        with transaction.atomic():
            store.append(TermStarted())
            transaction.set_rollback(True)
        assert not listener.wait(0.3)
        with transaction.atomic():
            store.append(TermStarted())
            assert not listener.wait(0.3), "not before the outermost commit"
        assert listener.wait(5)


@pytest.mark.postgres
def test_many_appends_make_few_calls():
    with notifications.listening() as listener:
        with transaction.atomic():
            for _ in range(100):
                store.append(TermStarted())
        assert listener.wait(5)
        assert not listener.wait(0.3)


@pytest.mark.postgres
def test_a_call_about_too_many_types_is_about_any(monkeypatch):
    monkeypatch.setattr(notifications, "MOST_BYTES", 3)
    with notifications.listening(["course.created"]) as listener:
        store.append(TermStarted())
        assert listener.wait(5)


@pytest.mark.postgres
def test_a_call_that_fails_does_not_fail_the_append(monkeypatch, caplog):
    monkeypatch.setattr(notifications, "CHANNEL", "x" * 100)  # PostgreSQL refuses such a name
    with notifications.listening():
        assert store.append(TermStarted())
    assert "Listeners were not notified" in caplog.text


@pytest.mark.postgres
def test_notifications_can_be_turned_off(settings):
    settings.CCC_NOTIFY = False
    with notifications.listening() as listener:
        store.append(TermStarted())
        assert not listener.wait(0.3)


@pytest.mark.sqlite
def test_a_poller_looks_only_at_what_is_new():
    with notifications.listening() as listener:
        assert not listener.wait(0.1)
        store.append(TermStarted())
        assert listener.wait(1)
        assert not listener.wait(0.1)
