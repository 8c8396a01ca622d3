"""Claim: what a process remembers saves work and hides nothing; the ack of one claim may travel with the next."""

import time
from datetime import date, timedelta
from enum import Enum
from uuid import UUID, uuid4

import pytest
from django.db import connection, transaction
from django.db.models.query import RawQuerySet
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ccc_django import Event, Guard, groups, indexes, registry, store, where
from ccc_django.errors import AppendConflict, ClaimLost, UnknownGroup
from ccc_django.groups.looking import look_at
from ccc_django.models import Offset, StoredMessage
from tests.domain import CourseClosed, CourseCreated, UserJoinedCourse, UserRegistered

pytestmark = pytest.mark.django_db(transaction=True)

HANDLED = [CourseCreated, UserRegistered, UserJoinedCourse, CourseClosed]


@pytest.fixture
def courses():
    return groups.register("courses", partition_by="course_name", handled_types=HANDLED).name


def claim(name="courses", **options):
    return groups.claim_next(name, worker="w-1", **options)


def course(*names):
    return store.append([CourseCreated(course_name=name) for name in names])


# merged acks


def test_the_ack_of_one_claim_travels_with_the_next(courses):
    first, second = course("Algebra", "History")
    held = claim()
    with CaptureQueriesContext(connection) as queries:
        following = claim(ack=held)
    assert following.messages == [second]
    names = [
        query["sql"] for query in queries if "-- ack_claim" in query["sql"] or "-- claim_partition" in query["sql"]
    ]
    assert names == ["-- ack_claim", "-- claim_partition"]
    assert claim(ack=following) is None
    assert [offset.last_position for offset in Offset.objects.order_by("id")] == [first.position, second.position]


def test_an_ack_that_was_lost_claims_nothing(courses):
    course("Algebra", "History")
    lost = claim()
    Offset.objects.filter(pk=lost.offset_id).update(token=1)
    with pytest.raises(ClaimLost):
        claim(ack=lost)
    other = Offset.objects.exclude(pk=lost.offset_id).get()
    assert (other.claimed_by, other.attempts, other.blocked_until) == ("", 0, None)
    assert claim().attempt == 1


def test_an_ack_is_done_also_when_nothing_is_left(courses):
    course("Algebra")
    assert claim(ack=claim()) is None
    assert Offset.objects.get().next_position is None


def test_an_ack_of_another_group_travels_as_well(courses):
    groups.register("others", partition_by="course_name", handled_types=HANDLED)
    course("Algebra")
    held = claim("others")
    assert claim(courses, ack=held).group == courses
    assert claim("others") is None


def test_a_merged_ack_goes_on_in_the_same_partition(courses):
    stored = course("Algebra", "Algebra", "Algebra")
    held, delivered = None, []
    while held := claim(limit=1, ack=held):
        delivered += held.messages
    assert delivered == stored


# what a process remembers


def test_an_idle_poll_is_one_statement_that_takes_no_lock(courses):
    course("Algebra")
    groups.ack(claim())
    assert claim() is None
    with CaptureQueriesContext(connection) as queries:
        assert claim() is None
    assert [query["sql"] for query in queries] == ["-- look_at_group"]


def test_what_comes_back_below_the_floor_is_found_at_once_by_whoever_gave_it_back(courses):
    course("Algebra", "History", "Music")
    first, second = claim(), claim()
    groups.release(first)
    assert claim().partition_value == first.partition_value
    groups.ack(second)
    assert claim().partition_value == {"course_name": "Music"}


@pytest.mark.postgres
@pytest.mark.parametrize("advance_at", [0.0, float("inf")], ids=["slow handlers", "fast ones"])
def test_what_somebody_else_gives_back_below_the_floor_is_found_within_a_second(courses, advance_at):
    course("Algebra", *(f"c{n}" for n in range(50)))
    first = claim()
    for _ in range(5):
        groups.ack(claim())
    Offset.objects.filter(pk=first.offset_id).update(blocked_until=None, token=0)  # as another process would
    look_at(courses).whole_at = look_at(courses).advance_at = float("inf")
    assert claim().offset_id != first.offset_id, "it is below the floor"
    look_at(courses).whole_at, look_at(courses).advance_at = 0.0, advance_at
    assert claim().offset_id == first.offset_id


@pytest.mark.postgres
def test_what_lies_below_the_floor_is_found_when_nothing_else_is(courses):
    course("Algebra", "History")
    first = claim()
    groups.ack(claim())
    Offset.objects.filter(pk=first.offset_id).update(blocked_until=None, token=0)
    assert claim().offset_id == first.offset_id


@pytest.mark.postgres
def test_a_look_from_the_beginning_that_takes_long_is_taken_less_often(courses):
    look = look_at(courses)
    look.looked(0.001)
    assert 0.9 < look.whole_at - time.monotonic() <= 1.0
    look.looked(1.0)
    assert 19 < look.whole_at - time.monotonic() <= 20


def test_a_group_of_the_same_name_is_not_the_same(courses):
    course(*(f"c{n}" for n in range(5)))
    for _ in range(5):
        groups.ack(claim())
    groups.delete(courses)
    groups.register(courses, partition_by="course_name", handled_types=HANDLED)
    assert claim().partition_value == {"course_name": "c0"}
    groups.delete(courses)
    with pytest.raises(UnknownGroup):
        claim()


def test_of_those_whose_time_is_over_the_earliest_is_first(courses):
    course("Algebra", "History")
    first, second = claim(), claim()
    for offset, seconds in ((second, 9), (first, 5)):  # the later one has waited longer
        Offset.objects.filter(pk=offset.offset_id).update(
            blocked_until=Offset.objects.get(pk=offset.offset_id).claimed_at - timedelta(seconds=seconds)
        )
    assert claim().partition_value == first.partition_value


def test_a_claim_commits_before_its_messages_are_fetched(courses, monkeypatch):
    course("Algebra")
    seen = []

    def fetched(*_args, **_options):
        seen.append(Offset.objects.get().claimed_by)
        raise KeyboardInterrupt

    monkeypatch.setattr("ccc_django.models.fetching.rows", fetched)
    with pytest.raises(KeyboardInterrupt):
        claim()
    assert seen == ["w-1"]
    monkeypatch.undo()
    again = claim()
    assert again.attempt == 1, "it was given back, which is no failed attempt"


def test_partitions_with_nothing_to_deliver_are_passed_over(courses):
    stored = course(*(f"c{n}" for n in range(20)))
    groups.advance(courses)
    StoredMessage.objects.filter(position__lt=stored[-1].position).delete()
    assert claim().messages == [stored[-1]]
    assert claim() is None
    assert Offset.objects.filter(next_position__isnull=True).count() == 19


def test_a_claim_in_a_transaction_is_undone_with_it(courses):
    course("Algebra", "History")
    with pytest.raises(RuntimeError), transaction.atomic():
        claim()
        raise RuntimeError
    assert claim().partition_value == {"course_name": "Algebra"}


def test_one_call_passes_over_some_partitions_and_the_next_goes_on(courses, monkeypatch):
    monkeypatch.setattr("ccc_django.groups.claiming.MOST_EMPTY", 3)
    stored = course(*(f"c{n}" for n in range(5)))
    groups.advance(courses)
    StoredMessage.objects.filter(position__lt=stored[-1].position).delete()
    assert claim() is None
    assert claim().messages == [stored[-1]]


def test_a_group_that_was_stopped_until_a_time_is_claimed_again_by_itself(courses):
    course("Algebra")
    groups.stop(courses, until=timezone.now() + timedelta(seconds=2))
    assert claim() is None
    time.sleep(2.05)
    assert claim().messages


def test_values_are_not_what_another_class_would_make_of_them(monkeypatch):
    monkeypatch.setattr(registry, "_classes", {})

    class Numbered(Event, type="claim.numbered"):
        uid: int

    class Named(Event, type="claim.named"):
        uid: str

    groups.register("users", partition_by="uid", handled_types=[Named, Numbered])
    store.append(Named(uid="10"))
    claimed = claim("users")
    assert claimed.partition_value == {"uid": "10"}
    store.append(Numbered(uid=10))
    store.append(Named(uid="11"), guard=claimed.guard)
    store.append(Named(uid="10"))
    with pytest.raises(AppendConflict):
        store.append(Named(uid="11"), guard=claimed.guard)


def test_values_are_as_the_messages_declare_them(monkeypatch):
    monkeypatch.setattr(registry, "_classes", {})

    class Level(Enum):
        EASY = "easy"

    class Held(Event, type="claim.held"):
        day: date
        room: UUID
        level: Level
        number: int

    groups.register("days", partition_by=["day", "room", "level", "number"], handled_types=["nobody.knows", Held])
    held = Held(day=date(2026, 7, 1), room=uuid4(), level=Level.EASY, number=3)
    [stored] = store.append(held)
    claimed = claim("days")
    assert claimed.partition_value == {"day": held.day, "room": held.room, "level": Level.EASY, "number": 3}
    assert claimed.partition_key == f'{{"day":"2026-07-01","level":"easy","number":3,"room":"{held.room}"}}'
    assert list(StoredMessage.objects.fetch(claimed.partition_value, types=[Held.type]).messages()) == [stored]
    groups.ack(claimed)
    groups.seek("days", to="beginning", partition=claimed.partition_value)
    assert claim("days").messages == [stored]


# querysets


def test_what_is_ready_is_a_queryset(courses):
    course("Algebra", "History", "Music")
    groups.advance(courses)
    assert Offset.objects.ready(courses).count() == 3
    held = claim()
    assert [offset.partition_key for offset in Offset.objects.ready(courses)] == [
        '{"course_name":"History"}',
        '{"course_name":"Music"}',
    ]
    assert Offset.objects.of_group(courses).ready(courses).filter(partition_key__contains="Music").get()
    Offset.objects.filter(pk=held.offset_id).update(blocked_until=held.messages[0].envelope.appended_at)
    assert Offset.objects.ready(courses).first().pk == held.offset_id, "its time is over"
    groups.stop(courses)
    assert not Offset.objects.ready(courses).exists()


def test_a_claim_is_a_raw_queryset_that_writes_when_it_is_read(courses):
    course("Algebra")
    groups.advance(courses)
    claiming = Offset.objects.claim(courses, worker="w-1", lease=timedelta(seconds=60))
    assert isinstance(claiming, RawQuerySet)
    assert Offset.objects.get().claimed_by == ""
    [offset] = claiming
    assert (offset.partition_key, offset.attempts) == ('{"course_name":"Algebra"}', 1)
    assert Offset.objects.get().token == offset.token > 0
    assert list(Offset.objects.claim(courses, worker="w-2", lease=timedelta(seconds=60))) == []


def test_fetch_is_a_queryset_that_can_be_chained():
    stored = store.append(
        [
            CourseCreated(course_name="Algebra"),
            UserRegistered(user_id="joe", name="Joe"),
            UserJoinedCourse(course_name="Algebra", user_id="joe"),
            UserJoinedCourse(course_name="Algebra", user_id="jake"),
            UserJoinedCourse(course_name="History", user_id="joe"),
            CourseClosed(course_name="Algebra"),
        ]
    )
    belongs = [stored[n] for n in (0, 1, 2, 5)]
    types = [each.type for each in HANDLED]
    found = StoredMessage.objects.fetch({"course_name": "Algebra", "user_id": "joe"}, types=types)
    assert list(found.messages()) == belongs
    assert list(found.of_types(["course.closed"]).messages()) == [stored[5]]
    assert list(found.filter(correlation_id=stored[1].correlation_id).messages()) == [stored[1]]
    values = {"course_name": "Algebra", "user_id": "joe"}
    some = StoredMessage.objects.fetch(values, types=types, after=stored[0].position, upto=stored[5].position, limit=2)
    assert list(some.messages()) == [stored[1], stored[2]]
    whole = StoredMessage.objects.fetch({}, types=["course.created"])
    assert list(whole.messages()) == [stored[0]]
    assert not StoredMessage.objects.fetch(values, types=["nobody.knows"]).exists()


def test_conflicts_are_a_queryset_that_can_be_chained(courses):
    course("Algebra")
    guard = claim().guard
    assert not StoredMessage.objects.conflicts(guard).exists()
    stored = store.append([CourseClosed(course_name="Algebra"), CourseClosed(course_name="History")])
    found = StoredMessage.objects.conflicts(guard)
    assert list(found.messages()) == [stored[0]]
    assert not found.of_types(["course.created"]).exists()
    assert not StoredMessage.objects.conflicts(guard.moved_past(stored)).exists()


def test_conflicts_of_filters_and_whole_types(courses):
    first, second = course("Algebra", "History")
    by_filter = Guard(filter=where(type=CourseCreated, course_name="History"), after=0)
    assert list(StoredMessage.objects.conflicts(by_filter).messages()) == [second]
    indexes.declare("payload_hash", ["course_name", "user_id"])
    [joined] = store.append(UserJoinedCourse(course_name="History", user_id="joe"))
    by_index = Guard(filter=where(course_name="History", user_id="joe"), after=0)
    assert list(StoredMessage.objects.conflicts(by_index).messages()) == [joined]
    of_type = Guard(filter=where(type=CourseCreated), after=first.position)
    assert list(StoredMessage.objects.conflicts(of_type).messages()) == [second]
    everything = Guard(filter=where(), after=first.position, seen=frozenset({second.position}))
    assert list(StoredMessage.objects.conflicts(everything).messages()) == [joined]


# status


def test_status_says_where_a_group_stands(courses):
    assert claim() is None
    empty = groups.status(courses)
    assert (empty.lag, empty.pending, empty.claims, empty.oldest_pending_age) == (0, 0, 0, None)
    first, second, _ = course("Algebra", "History", "Music")
    before = groups.status(courses)
    assert (before.lag, before.partitions) == (3, 0), "not advanced yet"
    held = claim()
    StoredMessage.objects.filter(pk=first.position).update(appended_at=first.envelope.appended_at - timedelta(hours=1))
    status = groups.status(courses)
    assert (status.name, status.status, status.head) == ("courses", "active", store.head())
    assert (status.partitions, status.pending, status.claims, status.failures) == (3, 3, 1, 0)
    assert (status.low_watermark, status.lag) == (first.position - 1, 3)
    assert timedelta(minutes=59) < status.oldest_pending_age < timedelta(minutes=61)
    groups.release(held, error=ValueError("no"))
    assert (groups.status(courses).failures, groups.status(courses).claims) == (1, 0)
    groups.retry(courses)
    while held := claim():
        groups.ack(held)
    done = groups.status(courses)
    assert (done.lag, done.pending, done.failures, done.oldest_pending_age) == (0, 0, 0, None)
    groups.stop(courses, reason="holidays")
    stopped = groups.status(courses)
    assert (stopped.status, stopped.error_context, stopped.dead_letters) == ("stopped", "holidays", 0)
    groups.stop(courses, until=second.envelope.appended_at)
    assert groups.status(courses).status == "active", "its time has come"
    with pytest.raises(UnknownGroup):
        groups.status("nobody")
