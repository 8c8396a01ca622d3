"""Overview: how groups are doing, as everybody who operates them sees it."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ccc_django import Retry, groups, maintenance, store, testing
from ccc_django.errors import UnknownGroup
from ccc_django.instrumentation.overview import overview
from ccc_django.instrumentation.troubles import troubles
from ccc_django.models import Sample, StoredMessage, Worker
from tests.domain import CourseCreated

pytestmark = pytest.mark.django_db(transaction=True)


def registered(name: str) -> str:
    retry = Retry(max_attempts=2, first_pause=timedelta(0), longest_pause=timedelta(0))
    return groups.register(name, partition_by="course_name", handled_types=[CourseCreated], retry=retry).name


def claim(name: str):
    return groups.claim_next(name, worker="w")


def works(name: str, rate: float, **times) -> None:
    progress = {"courses": {"handled": 1, "failed": 0, "lost": 0, "rate": rate}}
    Worker.objects.create(name=name, host="h", pid=1, progress=progress, **times)


def test_a_group_is_shown_as_its_status_and_its_workers_say():
    registered("courses")
    stored = store.append([CourseCreated(course_name=name) for name in "ABCD"])
    StoredMessage.objects.update(appended_at=timezone.now() - timedelta(minutes=5))
    groups.ack(claim("courses"))
    held = claim("courses")
    groups.release(claim("courses"), error=ValueError("it is tried again"))
    [seen] = overview()
    assert (seen.name, seen.kind, seen.status, seen.error_context) == ("courses", "ordered", "active", "")
    assert (seen.partitions, seen.pending, seen.in_flight) == (4, 3, 1)
    assert (seen.failures, seen.dead_letters) == (1, 0)
    groups.ack(held)
    assert overview()[0].in_flight == 0
    assert seen.lag == stored[-1].position - stored[0].position
    assert timedelta(minutes=5) <= seen.oldest_age < timedelta(minutes=15)


def test_failures_are_partitions_that_failed_last_and_open_dead_letters():
    registered("courses")
    store.append([CourseCreated(course_name=name) for name in "AB"])
    for _ in range(3):  # the first is given up, the second has another attempt
        groups.release(claim("courses"), error=ValueError("no"))
    [seen] = overview(["courses"])
    assert (seen.failures, seen.dead_letters) == (2, 1)
    maintenance.sample()
    assert Sample.objects.get().failures == seen.failures


def test_the_rate_is_what_the_workers_that_are_there_say():
    registered("courses")
    works("one", 1.25)
    works("two", 2.5)
    works("gone", 100.0, beaten_at=timezone.now() - timedelta(hours=1))
    [seen] = overview()
    assert seen.rate == pytest.approx(3.8, abs=0.06)
    maintenance.sample()
    assert Sample.objects.get().rate == 3.75


def test_a_group_of_which_nothing_is_known_has_no_age_and_no_rate():
    testing.clear()  # the head of the log is where it ever was
    registered("courses")
    [seen] = overview()
    assert (seen.lag, seen.partitions, seen.oldest_age, seen.rate) == (0, 0, None, 0.0)


def test_any_number_of_groups_are_looked_at_together():
    counts = []
    for size in (1, 12):
        for number in range(size):
            registered(f"g{number:02}")
        with CaptureQueriesContext(connection) as queries:
            assert [seen.name for seen in overview()] == [f"g{number:02}" for number in range(size)]
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_some_groups_are_looked_at_by_name():
    for name in ("a", "b", "c"):
        registered(name)
    assert [seen.name for seen in overview(["c", "a"])] == ["a", "c"]
    with pytest.raises(UnknownGroup, match="nobody"):
        overview(["a", "nobody"])


def test_what_is_wrong_in_a_group_is_told_by_partition():
    retry = Retry(max_attempts=5, first_pause=timedelta(hours=1), longest_pause=timedelta(hours=1))
    groups.register("failing", partition_by="course_name", handled_types=[CourseCreated], retry=retry)
    store.append([CourseCreated(course_name=name) for name in ("Algebra", "Geometry", "Logic")])
    groups.release(claim("failing"), error=ValueError("no"))
    groups.stop("failing", partition={"course_name": "Logic"}, reason="asked to")
    paused, stopped = troubles("failing")
    assert (paused.partition, paused.state, paused.attempts) == ('{"course_name":"Algebra"}', "pauses", 1)
    assert paused.error == "ValueError: no"
    assert paused.until > timezone.now()
    assert (stopped.partition, stopped.state, stopped.until) == ('{"course_name":"Logic"}', "stopped", None)
    assert stopped.error == "asked to"
    with pytest.raises(UnknownGroup):
        troubles("nobody")
