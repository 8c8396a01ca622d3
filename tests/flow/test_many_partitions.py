"""Many partitions: a new group finds all of an old log, and a popular value costs no more than a rare one."""

import statistics
import time
from collections import defaultdict

import pytest

from ccc_django import groups, store
from ccc_django.models import Offset
from tests.domain import CourseClosed, CourseCreated, UserJoinedCourse

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = ["course_name", "user_id"]
HANDLED = [CourseCreated, CourseClosed, UserJoinedCourse]


def joined(course: str, user: str) -> UserJoinedCourse:
    return UserJoinedCourse(course_name=course, user_id=user)


def fill(count: int) -> None:
    """A popular course, and between its users those of small ones."""
    for first in range(0, count, 10_000):
        numbers = range(first, min(first + 10_000, count))
        store.append([joined("popular" if n % 10 else f"small-{n // 100}", f"u{n}") for n in numbers])


def cycles(count: int) -> dict[bool, float]:
    """The median time to claim, fetch and ack a partition of the popular course, and of a small one."""
    times = defaultdict(list)
    for _ in range(count):
        started = time.perf_counter()
        claim = groups.claim_next("enrolment", worker="w")
        groups.ack(claim)
        times[claim.partition_value["course_name"] == "popular"].append(time.perf_counter() - started)
    return {is_popular: statistics.median(taken) for is_popular, taken in times.items()}


def test_a_new_group_on_an_old_log_with_ten_thousand_partitions_handles_all_of_them():
    count = 10_000
    store.append([joined(f"c{n % 100}", f"u{n}") for n in range(count)])
    groups.register("enrolment", partition_by=NAMES, handled_types=HANDLED)
    handled, claim = set(), None
    while claim := groups.claim_next("enrolment", worker="w", ack=claim):
        assert len(claim.messages) == 1
        handled.add(claim.partition_key)
    assert len(handled) == count
    assert not Offset.objects.ready("enrolment").exists()


def test_a_popular_value_costs_no_more_than_a_rare_one_and_one_message_wakes_all_its_partitions(proof):
    count = 222_230 if proof else 10_000  # nine of ten are in the popular course
    groups.register("enrolment", partition_by=NAMES, handled_types=HANDLED)
    fill(count)
    while groups.advance("enrolment"):
        pass
    taken = cycles(1_000)
    assert taken[True] < 1.5 * taken[False], taken
    handled = Offset.objects.filter(next_position__isnull=True).count()
    assert handled == 1_000
    store.append([CourseClosed(course_name="popular"), *(CourseClosed(course_name=f"small-{n}") for n in range(10))])
    while groups.advance("enrolment"):
        pass
    popular = Offset.objects.filter(partition_key__contains="popular")
    assert popular.exclude(next_position=None).count() == popular.count() >= int(count * 0.9)
    groups.seek("enrolment", to=store.head() - 10)
    while groups.advance("enrolment"):
        pass
    assert Offset.objects.ready("enrolment").count() == popular.count() + 10 * 10
    closed = [groups.claim_next("enrolment", worker="w") for _ in range(50)]
    assert all([message.type for message in claim.messages] == ["course.closed"] for claim in closed)
