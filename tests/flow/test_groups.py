"""Consumer groups: partitions found by attribute values, claimed by workers, in order."""

import time
from datetime import datetime, timedelta
from typing import Annotated

import pytest
from django.db import transaction
from django.utils import timezone

from ccc_django import Condition, Event, Retry, Unindexed, groups, indexes, registry, store
from ccc_django.errors import AppendConflict, ClaimLost, PartitionChanged, UnknownGroup
from ccc_django.groups import looking
from ccc_django.models import ConsumerGroup, Offset, OffsetKeyPair, StoredMessage
from tests.domain import CourseClosed, CourseCreated, TermStarted, UserJoinedCourse, UserRegistered

pytestmark = pytest.mark.django_db(transaction=True)

HANDLED = [CourseCreated, UserRegistered, UserJoinedCourse, CourseClosed]


@pytest.fixture
def courses():
    """A group with one attribute."""
    return groups.register("courses", partition_by="course_name", handled_types=HANDLED).name


@pytest.fixture
def enrolment():
    """A group with two attributes."""
    return groups.register("enrolment", partition_by=["user_id", "course_name"], handled_types=HANDLED).name


def claim(group, worker="w-1", **options):
    return groups.claim_next(group, worker=worker, **options)


def handle_all(group) -> list[tuple[dict, list]]:
    """Claim and ack until nothing is left."""
    handled = []
    while claimed := claim(group):
        handled.append((claimed.partition_value, claimed.messages))
        groups.ack(claimed)
    return handled


def joined(course, user):
    return UserJoinedCourse(course_name=course, user_id=user)


# life cycle


def test_a_group_is_registered_once(courses):
    again = groups.register("courses", partition_by=["course_name"], handled_types=["term.started"])
    assert ConsumerGroup.objects.count() == 1
    assert again.status == "active"
    assert again.handled_types == sorted({"term.started", *(each.type for each in HANDLED)})
    replaced = groups.register("courses", partition_by="course_name", handled_types=HANDLED, replace=True)
    assert replaced.handled_types == sorted(each.type for each in HANDLED)


def test_an_active_group_can_be_stopped_and_started(courses):
    assert groups.is_active(courses)
    assert not groups.is_active("nobody")
    groups.stop(courses, reason="holidays")
    assert not groups.is_active(courses)
    assert ConsumerGroup.objects.get().error_context == "holidays"
    groups.start(courses)
    assert groups.is_active(courses)
    groups.stop(courses, until=timezone.now() - timedelta(seconds=1))
    assert groups.is_active(courses), "its time has come"


def test_what_is_unknown_is_an_error():
    for verb in (groups.start, groups.stop, groups.reset, groups.delete):
        with pytest.raises(UnknownGroup, match=r"groups\.register"):
            verb("nobody")
    with pytest.raises(UnknownGroup):
        claim("nobody")


def test_after_a_reset_everything_is_delivered_again_as_replayed(courses):
    store.append([CourseCreated(course_name="Algebra"), CourseCreated(course_name="History")])
    before = handle_all(courses)
    store.append(CourseClosed(course_name="Algebra"))
    running = claim(courses)
    groups.reset(courses)
    with pytest.raises(ClaimLost):
        groups.ack(running)
    assert {*Offset.objects.values_list("last_position", "next_position", "claimed_by")} == {(0, None, "")}
    first = claim(courses)
    assert (first.replaying, first.messages) == (True, before[0][1])
    groups.ack(first)
    second = claim(courses)
    assert (second.replaying, second.messages) == (True, before[1][1])
    groups.ack(second)
    third = claim(courses)
    assert (third.replaying, [type(each) for each in third.messages]) == (False, [CourseClosed])
    groups.reset(courses, forget=True)
    assert Offset.objects.count() == OffsetKeyPair.objects.count() == 0


def test_a_group_with_progress_is_not_partitioned_anew(courses):
    assert groups.register("courses", partition_by=["user_id"], handled_types=HANDLED).partition_by == ["user_id"]
    store.append(joined("Algebra", "joe"))
    claim(courses)
    with pytest.raises(PartitionChanged, match="first delete it"):
        groups.register("courses", partition_by=["course_name"], handled_types=HANDLED)
    groups.delete("courses")
    assert Offset.objects.count() == ConsumerGroup.objects.count() == 0


# one attribute


def test_nothing_is_claimed_when_nothing_is_pending(courses):
    assert claim(courses) is None
    store.append([TermStarted(), UserRegistered(user_id="joe", name="Joe")])
    assert claim(courses) is None


def test_a_claim_has_everything_that_a_worker_needs(courses):
    stored = store.append([CourseCreated(course_name="Algebra"), joined("Algebra", "joe"), joined("History", "joe")])
    claimed = claim(courses)
    assert claimed.partition_value == {"course_name": "Algebra"}
    assert claimed.partition_key == '{"course_name":"Algebra"}'
    assert claimed.messages == stored[:2]
    assert claimed.position == stored[1].position
    assert (claimed.attempt, claimed.replaying) == (1, False)
    assert claimed.key_pair_ids == (stored[0].key_pairs[0].id,)
    assert claimed.offset_id == Offset.objects.get(partition_key=claimed.partition_key).pk


def test_a_second_worker_gets_another_partition_and_a_third_none(courses):
    store.append([CourseCreated(course_name="Algebra"), CourseCreated(course_name="History")])
    one, other = claim(courses, "w-1"), claim(courses, "w-2")
    assert one.partition_value != other.partition_value
    assert claim(courses, "w-3") is None


def test_only_handled_types_are_delivered():
    groups.register("closings", partition_by="course_name", handled_types=[CourseClosed])
    stored = store.append([CourseCreated(course_name="Algebra"), CourseClosed(course_name="Algebra")])
    assert claim("closings").messages == stored[1:]
    store.append(CourseCreated(course_name="History"))
    assert claim("closings") is None
    assert Offset.objects.count() == 2, "partitions come from messages of any type"


def test_the_partition_with_the_earliest_pending_message_is_first(courses):
    store.append([CourseCreated(course_name=name) for name in ("Algebra", "History", "Physics")])
    handle_all(courses)
    store.append([CourseClosed(course_name=name) for name in ("Physics", "Algebra")])
    assert [value["course_name"] for value, _ in handle_all(courses)] == ["Physics", "Algebra"]


def test_a_stopped_group_gets_nothing(courses):
    store.append(CourseCreated(course_name="Algebra"))
    groups.stop(courses)
    assert claim(courses) is None
    groups.start(courses)
    assert claim(courses)


def test_new_partitions_appear_on_later_calls(courses):
    store.append(CourseCreated(course_name="Algebra"))
    assert len(handle_all(courses)) == 1
    store.append(CourseCreated(course_name="History"))
    assert handle_all(courses)[0][0] == {"course_name": "History"}


def test_a_batch_has_a_limit_and_the_rest_comes_next(courses):
    stored = store.append([joined("Algebra", f"u{n}") for n in range(5)])
    first = claim(courses, limit=2)
    assert (first.messages, first.next_position) == (stored[:2], stored[2].position)
    groups.ack(first)
    second = claim(courses, limit=3)
    assert (second.messages, second.next_position) == (stored[2:], None)


def test_no_attribute_means_one_partition_with_the_whole_log():
    groups.register("audit", partition_by=[], handled_types=[CourseCreated, TermStarted])
    stored = store.append([CourseCreated(course_name="Algebra"), TermStarted(), joined("Algebra", "joe")])
    claimed = claim("audit")
    assert claimed.messages == stored[:2]
    assert claimed.partition_value == {}
    assert claimed.guard.conditions == (Condition("course.created"), Condition("term.started"))
    assert claim("audit") is None


# guards


def test_a_guard_names_the_attributes_that_each_type_has(enrolment):
    store.append(joined("Algebra", "joe"))
    assert {*claim(enrolment).guard.conditions} == {
        Condition("course.created", "course_name", "Algebra"),
        Condition("course.closed", "course_name", "Algebra"),
        Condition("user.registered", "user_id", "joe"),
        Condition("user.joined_course", "course_name", "Algebra"),
        Condition("user.joined_course", "user_id", "joe"),
    }


def test_a_guard_finds_conflicts_and_nothing_else(enrolment):
    store.append(joined("Algebra", "joe"))
    guard = claim(enrolment).guard
    store.append([joined("Algebra", "jake"), CourseClosed(course_name="History"), TermStarted()])
    [stored] = store.append(TermStarted(), guard=guard)
    store.append(CourseClosed(course_name="Algebra"))
    with pytest.raises(AppendConflict) as conflict:
        store.append(TermStarted(), guard=guard)
    assert conflict.value.types == ["course.closed"]
    assert stored.position < conflict.value.positions[0]


# two attributes: conditional AND


WALK_THROUGH = [  # whether each belongs to {course_name: Algebra, user_id: joe}
    (CourseCreated(course_name="Algebra"), True),
    (joined("Algebra", "joe"), True),
    (joined("Algebra", "jake"), False),
    (CourseClosed(course_name="Algebra"), True),
    (UserRegistered(user_id="joe", name="Joe"), True),
    (joined("History", "joe"), False),
]


def test_the_walk_through(enrolment):
    """What carries one attribute must match it, what carries both must match both."""
    created, algebra, jake, closed, registered, history = store.append([message for message, _ in WALK_THROUGH])
    found = {(value["course_name"], value["user_id"]): messages for value, messages in handle_all(enrolment)}
    assert found == {
        ("Algebra", "joe"): [created, algebra, closed, registered],
        ("Algebra", "jake"): [created, jake, closed],
        ("History", "joe"): [registered, history],
    }


@pytest.mark.parametrize(("message", "is_in"), WALK_THROUGH, ids=str)
def test_fetch_mark_and_guard_agree_on_every_row_of_the_walk_through(enrolment, message, is_in):
    store.append(joined("Algebra", "joe"))
    handled = claim(enrolment)
    groups.ack(handled)
    [stored] = store.append(message)
    while groups.advance(enrolment):
        pass
    offset = Offset.objects.get(pk=handled.offset_id)
    assert (offset.next_position == stored.position) == is_in, "mark"
    fetched = StoredMessage.objects.fetch(
        handled.partition_value, types=[each.type for each in HANDLED], after=handled.position
    )
    assert list(fetched.messages()) == ([stored] if is_in else []), "fetch"
    assert StoredMessage.objects.conflicts(handled.guard).exists() == is_in, "guard"
    delivered = [messages for value, messages in handle_all(enrolment) if value == handled.partition_value]
    assert delivered == ([[stored]] if is_in else [])
    if is_in:
        with pytest.raises(AppendConflict):
            store.append(TermStarted(), guard=handled.guard)
    else:
        store.append(TermStarted(), guard=handled.guard)


def test_a_message_with_some_attributes_makes_no_partition_and_wakes_those_that_share_its_values(enrolment):
    store.append([CourseCreated(course_name="Algebra"), UserRegistered(user_id="joe", name="Joe")])
    assert claim(enrolment) is None
    assert Offset.objects.count() == 0
    store.append([joined("Algebra", "joe"), joined("Algebra", "ann"), joined("History", "joe")])
    assert len(handle_all(enrolment)) == 3
    [closed] = store.append(CourseClosed(course_name="Algebra"))
    woken = handle_all(enrolment)
    assert [value["user_id"] for value, _ in woken] == ["joe", "ann"]
    assert [messages for _, messages in woken] == [[closed], [closed]]


def test_different_composite_partitions_are_claimed_in_parallel(enrolment):
    store.append([joined("Algebra", "joe"), joined("Algebra", "ann")])
    assert {claim(enrolment, worker).partition_value["user_id"] for worker in ("w-1", "w-2")} == {"joe", "ann"}


# ack, release, renew


def test_an_ack_goes_on_behind_what_was_acked(courses):
    stored = store.append([joined("Algebra", f"u{n}") for n in range(3)])
    first = claim(courses)
    groups.ack(first, position=stored[0].position)
    assert claim(courses).messages == stored[1:]


def test_a_release_gives_the_same_messages_again(courses):
    store.append(CourseCreated(course_name="Algebra"))
    first = claim(courses)
    groups.release(first)
    again = claim(courses)
    assert (again.messages, again.attempt) == (first.messages, 1)
    groups.release(again, error=ValueError("no"))
    assert claim(courses) is None, "there is a pause after a failure"
    offset = Offset.objects.get()
    assert (offset.error, offset.attempts) == ("ValueError: no", 1)


def test_an_expired_claim_can_be_taken_over_and_its_old_holder_changes_nothing(courses):
    store.append(CourseCreated(course_name="Algebra"))
    old = claim(courses, "w-1", lease=timedelta(seconds=-1))
    new = claim(courses, "w-2")
    assert new.messages == old.messages
    for verb in (groups.ack, groups.release, groups.renew):
        with pytest.raises(ClaimLost, match="w-1 no longer holds"):
            verb(old)
    groups.renew(new)
    groups.ack(new)
    with pytest.raises(ClaimLost):
        groups.ack(new)
    assert claim(courses) is None


@pytest.mark.parametrize("verb", [groups.ack, groups.release, groups.renew])
def test_whoever_lost_a_claim_undoes_what_it_wrote_with_it(courses, verb):
    store.append(CourseCreated(course_name="Algebra"))
    old = claim(courses, "w-1", lease=timedelta(seconds=-1))
    new = claim(courses, "w-2")
    before = store.head()
    with pytest.raises(ClaimLost), transaction.atomic():
        store.append(TermStarted())
        verb(old)
    assert store.read(after=before).messages == []
    groups.ack(new)


def test_leases_are_measured_by_the_clock_and_not_by_the_transaction(courses):
    store.append(CourseCreated(course_name="Algebra"))
    with transaction.atomic():
        claim(courses, lease=timedelta(seconds=2))
        assert claim(courses) is None
        time.sleep(2.05)
        assert claim(courses).attempt == 2, "its time is over, though the transaction is the same"


def test_a_new_handled_type_is_delivered_from_the_last_position_on():
    groups.register("courses", partition_by="course_name", handled_types=[CourseCreated])
    store.append([CourseClosed(course_name="Algebra"), CourseCreated(course_name="Algebra")])
    handle_all("courses")
    [closed] = store.append(CourseClosed(course_name="Algebra"))
    assert handle_all("courses") == []
    groups.register("courses", partition_by="course_name", handled_types=[CourseClosed])
    assert [messages for _, messages in handle_all("courses")] == [[closed]]


def test_a_new_group_on_an_old_log_handles_every_partition(monkeypatch):
    monkeypatch.setattr("ccc_django.groups.advancing.BATCH", 100)
    count = 500
    store.append([CourseCreated(course_name=f"c{n}") for n in range(count)])
    groups.register("late", partition_by="course_name", handled_types=[CourseCreated])
    assert len(handle_all("late")) == count


def test_a_claim_from_before_a_new_type_is_fenced_so_that_nothing_is_skipped():
    groups.register("courses", partition_by="course_name", handled_types=[UserJoinedCourse])
    events = [joined("Algebra", "a"), CourseClosed(course_name="Algebra"), joined("Algebra", "b")]
    first, closed, second = store.append(events)
    claimed = claim("courses", limit=1)
    assert (claimed.messages, claimed.next_position) == ([first], second.position)
    groups.register("courses", partition_by="course_name", handled_types=[CourseClosed])
    with pytest.raises(ClaimLost):
        groups.ack(claimed)
    assert claim("courses").messages == [first, closed, second]


def test_a_group_that_was_partitioned_by_mistake_finds_everything_afterwards():
    store.append([CourseCreated(course_name="Algebra")])
    groups.register("courses", partition_by="cours_name", handled_types=HANDLED)
    assert claim("courses") is None
    groups.register("courses", partition_by="course_name", handled_types=HANDLED)
    assert claim("courses")


def test_bad_arguments_change_nothing(courses):
    stored = store.append([joined("Algebra", f"u{n}") for n in range(3)])
    with pytest.raises(ValueError, match="one message at least"):
        claim(courses, limit=0)
    with pytest.raises(ValueError, match="worker has a name"):
        claim(courses, worker="")
    with pytest.raises(ValueError, match="time zone"):
        groups.stop(courses, until=datetime(2026, 1, 1))  # noqa: DTZ001
    with pytest.raises(ValueError, match="one type"):
        groups.register(courses, partition_by="course_name", handled_types=[], replace=True)
    with pytest.raises(ValueError, match="partitions by course_name"):
        groups.retry(courses, partition={"user_id": "joe"})
    claimed = claim(courses, limit=2)
    for position in (stored[2].position, stored[0].position - 2):
        with pytest.raises(ValueError, match="not in this batch"):
            groups.ack(claimed, position=position)
    groups.ack(claimed, position=stored[0].position - 1)
    assert claim(courses).messages == stored


def test_an_index_that_was_declared_makes_no_partitions(courses, monkeypatch):
    monkeypatch.setattr(registry, "_classes", {})

    class Note(Event, type="groups.note"):
        course_name: Annotated[str, Unindexed]

    groups.register("courses", partition_by="course_name", handled_types=[Note])
    indexes.declare("payload", ["course_name"])
    store.append(Note(course_name="Algebra"))
    assert claim(courses) is None
    assert Offset.objects.count() == 0


def test_what_comes_while_a_partition_is_in_hand_is_in_the_next_batch(courses):
    [first] = store.append(CourseCreated(course_name="Algebra"))
    claimed = claim(courses)
    [second] = store.append(CourseClosed(course_name="Algebra"))
    with pytest.raises(AppendConflict):
        store.append(TermStarted(), guard=claimed.guard)
    groups.release(claimed)
    looking.forget()  # as a worker that has not looked at the log just now
    again = claim(courses)
    assert again.messages == [first, second]
    store.append(TermStarted(), guard=again.guard)


def test_a_partition_that_fails_for_years_can_still_be_released(courses):
    groups.register(courses, partition_by="course_name", handled_types=HANDLED, retry=Retry(max_attempts=None))
    store.append(CourseCreated(course_name="Algebra"))
    claim(courses, lease=timedelta(seconds=-1))
    Offset.objects.update(attempts=5_000)
    groups.release(claim(courses), error=ValueError("lone \ud800 surrogate"))
    assert "surrogate" in Offset.objects.get().error


def test_types_without_a_class_are_guarded_by_what_is_known_of_them(courses, monkeypatch):
    store.append([CourseCreated(course_name="Algebra"), TermStarted()])
    groups.register("courses", partition_by="course_name", handled_types=["nobody.knows", TermStarted])
    monkeypatch.setattr(registry, "_classes", {})
    assert {*claim(courses).guard.conditions} >= {
        Condition("nobody.knows"),
        Condition("course.created", "course_name", "Algebra"),
    }
