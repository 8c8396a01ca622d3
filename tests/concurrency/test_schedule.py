"""Scheduled messages enter the log once, in the order of their times, whoever promotes them."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction

from ccc_django import store
from ccc_django.errors import Unstorable
from ccc_django.models import ScheduledMessage
from tests.concurrency.processes import assert_overlapped, together
from tests.domain import CourseCreated, TermStarted

pytestmark = pytest.mark.django_db(transaction=True)

PAST = datetime(2026, 1, 1, tzinfo=UTC)


def names() -> list[str]:
    return [message.course_name for message in store.stream()]


def test_messages_wait_for_their_time():
    store.schedule(CourseCreated(course_name="later"), at=datetime.now(UTC) + timedelta(hours=1))
    store.schedule([CourseCreated(course_name="due")], at=datetime.now(UTC))
    assert names() == []
    assert store.promote() == 1
    assert store.promote() == 0
    assert names() == ["due"]
    assert str(ScheduledMessage.objects.get()).startswith("course.created at")


def test_what_is_due_when_it_is_scheduled_is_promoted_at_once():
    """Also where the database's clock is coarser than Python's."""
    with transaction.atomic():  # faster than its tick
        for _ in range(200):
            store.schedule(CourseCreated(course_name="due"), at=datetime.now(UTC))
            assert store.promote() == 1


def test_order_is_by_time_and_then_by_scheduling():
    store.schedule(CourseCreated(course_name="third"), at=PAST + timedelta(seconds=2))
    store.schedule([CourseCreated(course_name="first"), CourseCreated(course_name="second")], at=PAST)
    assert store.promote(limit=2) == 2
    assert store.promote() == 1
    assert names() == ["first", "second", "third"]


def test_a_scheduled_message_is_found_like_any_other():
    event = CourseCreated(course_name="Algebra", metadata={"tags": ["vip"]}, topic="courses")
    store.schedule(event, at=PAST)
    store.promote()
    [found] = store.read(CourseCreated.to_conditions(course_name="Algebra")).messages
    assert found == event
    assert found.key_pairs == event.key_pairs


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(Unstorable, match="time zone"):
        store.schedule(TermStarted(), at=datetime(2026, 1, 1))  # noqa: DTZ001


def test_scheduling_is_a_part_of_the_callers_transaction():
    with transaction.atomic():
        store.schedule(TermStarted(), at=PAST)
        transaction.set_rollback(True)
    assert store.promote() == 0


def test_several_promoters_lose_and_double_nothing(proof):
    count = 2_000 if proof else 300
    for number in range(count):
        store.schedule(CourseCreated(course_name=f"{number:05}"), at=PAST + timedelta(seconds=number))

    def promote():
        while ScheduledMessage.objects.exists():
            store.retrying(tries=20)(store.promote)(limit=20)

    assert_overlapped(together(*[promote] * 4))
    assert names() == [f"{number:05}" for number in range(count)]
