"""Freeze: nothing enters the log within a block, and what tries is named where it happens."""

import re
import threading
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction

from ccc_django import consumers, store
from ccc_django.errors import LogFrozen
from ccc_django.models import ScheduledMessage, StoredMessage
from ccc_django.store import append, append_on_commit, promote, schedule
from ccc_django.testing import drain, freeze_log
from tests.consuming import take
from tests.domain import CourseCreated
from tests.testing.places import everywhere

pytestmark = everywhere

LATER = datetime(2030, 1, 1, tzinfo=UTC)


def created(name: str = "Algebra") -> CourseCreated:
    return CourseCreated(course_name=name)


def says(verb: str):
    """The error that names the message and what was to be done with it."""
    return re.escape(f"The log is frozen, and CourseCreated(course_name='Algebra') was to be {verb}.")


WAYS = {
    "appended": [
        lambda: store.append(created()),
        lambda: append([created(), created("Logic")]),  # whoever has imported the function itself
        lambda: store.append(created(), guard=None),
    ],
    "scheduled": [lambda: store.schedule(created(), at=LATER), lambda: schedule([created()], at=LATER)],
    "appended after the commit": [
        lambda: store.append_on_commit(created()),
        lambda: append_on_commit([created()]),
    ],
}


@pytest.mark.parametrize(("verb", "way"), [(verb, way) for verb, ways in WAYS.items() for way in ways])
def test_every_way_into_the_log_is_closed(place, verb, way):
    with pytest.raises(LogFrozen, match=f"^{says(verb)}$") as caught, freeze_log():
        way()
    assert isinstance(caught.value, AssertionError)
    assert "<lambda>" in [entry.name for entry in caught.traceback], "it is seen where it happened"
    assert not StoredMessage.objects.exists()
    assert not ScheduledMessage.objects.exists()


def test_what_becomes_due_is_not_promoted(place):
    store.schedule(created(), at=datetime.now(UTC) - timedelta(hours=1))
    with pytest.raises(LogFrozen, match=re.escape("The log is frozen, and course.created became due.")), freeze_log():
        promote()
    assert promote() == 1


def test_reading_and_doing_nothing_are_allowed(place):
    store.append(created())
    with freeze_log():
        assert [message.course_name for message in store.stream()] == ["Algebra"]
        assert store.append([]) == []
        assert store.schedule([], at=LATER) == []
        store.append_on_commit([])
        assert promote() == 0


def test_afterwards_everything_is_as_before(place):
    with pytest.raises(LogFrozen), freeze_log():
        store.append(created())
    with pytest.raises(ZeroDivisionError), freeze_log():
        raise ZeroDivisionError
    store.append(created())
    store.schedule(created(), at=datetime.now(UTC))
    assert promote() == 1
    with transaction.atomic():
        store.append_on_commit(created())


def test_code_that_swallows_the_error_fails_at_the_end_of_the_block(place):
    """An error that only the place itself sees would let the test pass."""
    with pytest.raises(LogFrozen, match=f"^{says('appended')}$"), freeze_log(), suppress(Exception):
        store.append(created())


def test_another_error_of_the_block_is_what_is_seen(place):
    with pytest.raises(ZeroDivisionError), freeze_log():
        with suppress(LogFrozen):
            store.append(created())
        raise ZeroDivisionError


def test_blocks_can_be_nested(place):
    with pytest.raises(LogFrozen), freeze_log():
        with freeze_log():
            pass
        store.append(created())
    store.append(created())


def test_an_inner_block_that_caught_something_leaves_the_outer_one_frozen(place):
    def inner() -> None:
        with pytest.raises(LogFrozen), freeze_log():
            store.append(created())

    with pytest.raises(LogFrozen), freeze_log():
        inner()
    store.append(created())


def test_blocks_of_two_threads_may_overlap(place):
    """Whoever puts back what it found would thaw the log of the other, or leave it frozen for ever."""
    began, may_end = threading.Event(), threading.Event()

    def freeze() -> None:
        with suppress(LogFrozen), freeze_log():  # it hears of what is tried meanwhile
            began.set()
            may_end.wait(20)

    other = threading.Thread(target=freeze)
    with freeze_log():
        other.start()
        assert began.wait(20)
    with pytest.raises(LogFrozen):
        store.append(created())
    may_end.set()
    other.join(20)
    store.append(created())


def test_other_threads_are_frozen_too(place):
    def append_elsewhere() -> None:
        with suppress(LogFrozen):
            store.append(created())
        connection.close()

    with pytest.raises(LogFrozen, match=says("appended")), freeze_log():
        other = threading.Thread(target=append_elsewhere)
        other.start()
        other.join(20)


def test_it_decorates_functions(place):
    @freeze_log()
    def careful() -> None:
        store.append(created())

    for _ in range(2):
        with pytest.raises(LogFrozen):
            careful()
    store.append(created())


def test_commands_and_consumers_are_stopped_as_well(place, offered):
    with pytest.raises(LogFrozen, match=r"TakeSeat.* was to be appended"), freeze_log():
        consumers.handle(take("joe"))
    store.append(take("joe"))
    with pytest.raises(LogFrozen, match=r"SeatTaken.* was to be appended"), freeze_log():
        drain()
