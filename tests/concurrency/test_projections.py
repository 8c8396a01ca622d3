"""A rebuild while a projection is built: neither waits for the other for ever, and nothing is counted twice."""

import threading
import time

import pytest
from django.db import connection

from ccc_django import store
from ccc_django.consumers import projections, states
from ccc_django.consumers.declaring import declare
from tests.consuming import Roster, SeatTaken, drain

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]


@pytest.fixture
def roster(no_consumers):
    class CourseRoster(Roster, group="roster", partition_by=["course_name"]):
        pass

    declare(CourseRoster)
    return CourseRoster


@pytest.mark.parametrize("pause", [0.3, 1.5])  # before and after PostgreSQL looks for deadlocks
def test_a_rebuild_and_a_batch_that_is_being_committed(roster, monkeypatch, pause):
    """The batch has stored its state and is about to ack; the rebuild has fenced it and wants the state."""
    store.append(SeatTaken(course_name="Algebra", user_id="a"))
    drain(roster)
    store.append(SeatTaken(course_name="Algebra", user_id="b"))
    saved, outcomes, save = threading.Event(), [], states.save

    def slow(*args) -> None:
        save(*args)
        if not saved.is_set():
            saved.set()
            time.sleep(pause)

    monkeypatch.setattr(states, "save", slow)

    def build() -> None:
        outcomes.extend(drain(roster, most=1))
        connection.close()

    thread = threading.Thread(target=build)
    thread.start()
    assert saved.wait(10)
    projections.rebuild("roster")
    thread.join(10)
    assert [outcome.error for outcome in outcomes] == [None]
    drain(roster)
    assert projections.state("roster", course_name="Algebra") == ["a", "b"]
