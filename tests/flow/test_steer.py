"""Steer: one partition is stopped, started, reset or forgotten, and a preview says before what each verb will do."""

from datetime import timedelta

import pytest
from django.utils import timezone

from ccc_django import STOP_PARTITION, Retry, dead_letters, groups, store
from ccc_django.errors import ClaimLost, UnknownGroup, UnknownPartition
from ccc_django.groups import previewing, previews
from ccc_django.models import DeadLetter, Offset, OffsetKeyPair
from tests.domain import CourseClosed, CourseCreated, UserJoinedCourse

pytestmark = pytest.mark.django_db(transaction=True)

HANDLED = [CourseCreated, CourseClosed, UserJoinedCourse]
ALGEBRA, HISTORY = {"course_name": "Algebra"}, {"course_name": "History"}
JOE = {"course_name": "Algebra", "user_id": "joe"}


@pytest.fixture
def courses() -> str:
    return groups.register("g", partition_by="course_name", handled_types=HANDLED).name


@pytest.fixture
def enrolment() -> str:
    return groups.register("g", partition_by=["course_name", "user_id"], handled_types=HANDLED).name


def course(*names):
    return store.append([CourseCreated(course_name=name) for name in names])


def claim(**options):
    return groups.claim_next("g", worker="w", **options)


def handled() -> list[tuple[int, bool]]:
    """Positions, and whether each was replayed, until nothing is left."""
    found = []
    while claimed := claim():
        found += [(message.position, claimed.replaying) for message in claimed.messages]
        groups.ack(claimed)
    return found


def positions(messages, *, replaying=False):
    return [(message.position, replaying) for message in messages]


def offset(value=ALGEBRA) -> Offset:
    return Offset.objects.get(partition_key__contains=value["course_name"])


# stop and start


def test_a_stopped_partition_waits_for_somebody_and_the_others_go_on(courses):
    algebra, history = course("Algebra", "History")
    groups.advance(courses)
    groups.stop(courses, partition=ALGEBRA, reason="the book is wrong")
    assert handled() == positions([history])
    assert offset().is_stopped
    assert (offset().error, groups.status(courses).failures) == ("the book is wrong", 1)
    assert groups.is_empty(courses), "but for what waits for somebody"
    groups.start(courses, partition=ALGEBRA)
    assert handled() == positions([algebra])
    assert (offset().error, offset().is_stopped) == ("", False)


def test_what_comes_to_a_stopped_partition_waits_too(courses):
    course("Algebra")
    assert len(handled()) == 1
    groups.stop(courses, partition=ALGEBRA)
    later = course("Algebra", "Algebra")
    assert handled() == []
    groups.start(courses, partition=ALGEBRA)
    assert handled() == positions(later)


def test_stopping_a_partition_fences_its_claim_alone(courses):
    course("Algebra", "History")
    algebra, history = claim(), claim()
    groups.stop(courses, partition=ALGEBRA)
    groups.ack(history)
    for verb in (groups.ack, groups.release, groups.renew):
        with pytest.raises(ClaimLost):
            verb(algebra)
    assert offset().is_stopped, "whoever lost the claim frees nothing"
    groups.start(courses, partition=ALGEBRA)
    assert claim().attempt == 1


def test_a_partition_can_be_stopped_until_a_time(courses):
    [message] = course("Algebra")
    groups.advance(courses)
    groups.stop(courses, partition=ALGEBRA, until=timezone.now() + timedelta(hours=1))
    assert claim() is None
    assert not offset().is_stopped, "it goes on by itself"
    groups.stop(courses, partition=ALGEBRA, until=timezone.now() - timedelta(seconds=1))
    assert handled() == positions([message])


def test_a_group_that_is_started_leaves_its_stopped_partitions_alone(courses):
    _, history = course("Algebra", "History")
    groups.advance(courses)
    groups.stop(courses, partition=ALGEBRA)
    groups.stop(courses)
    groups.start(courses)
    assert handled() == positions([history])


def test_a_partition_that_a_failure_stopped_keeps_the_error_when_somebody_stops_it(courses):
    at_once = Retry(max_attempts=1, then=STOP_PARTITION)
    groups.register("g", partition_by="course_name", handled_types=HANDLED, retry=at_once)
    course("Algebra")
    groups.release(claim(), error=ValueError("no"))
    groups.stop(courses, partition=ALGEBRA)
    assert offset().error == "ValueError: no"
    groups.stop(courses, partition=ALGEBRA, reason="mine now")
    assert offset().error == "mine now"


def test_starting_leaves_a_partition_in_hand_to_its_worker(courses):
    course("Algebra")
    held = claim()
    groups.start(courses, partition=ALGEBRA)
    groups.ack(held)


# reset


def test_a_partition_is_reset_and_the_others_stay(courses):
    first, _, third = course("Algebra", "History", "Algebra")
    assert len(handled()) == 3
    groups.reset(courses, partition=ALGEBRA)
    assert handled() == positions([first, third], replaying=True)


def test_a_partition_that_is_reset_can_forget_that_it_was_there(courses):
    first, _, third = course("Algebra", "History", "Algebra")
    assert len(handled()) == 3
    groups.reset(courses, partition=ALGEBRA, forget=True)
    assert handled() == positions([first, third])


def test_resetting_a_partition_fences_its_claim(courses):
    course("Algebra")
    held = claim()
    groups.reset(courses, partition=ALGEBRA)
    with pytest.raises(ClaimLost):
        groups.ack(held)


# delete


def test_a_partition_that_was_forgotten_is_there_again_with_its_next_message_and_gets_everything(enrolment):
    first = store.append([UserJoinedCourse(**JOE), CourseCreated(course_name="Algebra")])
    assert handled() == positions(first)
    groups.delete(enrolment, partition=JOE)
    assert not Offset.objects.exists()
    assert not OffsetKeyPair.objects.exists()
    closed = store.append(CourseClosed(course_name="Algebra"))
    assert handled() == [], "it names the partition in part, and makes none"
    again = store.append(UserJoinedCourse(**JOE))
    assert handled() == positions([*first, *closed, *again]), "as for the first time, not as replayed"


def test_what_was_forgotten_comes_back_where_the_group_begins(courses):
    course("Algebra", "Algebra")
    second = course("Algebra")
    groups.seek(courses, to=second[0].position)
    assert handled() == positions(second)
    groups.delete(courses, partition=ALGEBRA)
    third = course("Algebra")
    assert handled() == positions([*second, *third])


def test_forgetting_a_partition_leaves_the_others_alone(enrolment):
    store.append([UserJoinedCourse(**JOE), UserJoinedCourse(course_name="Algebra", user_id="jake")])
    assert len(handled()) == 2
    groups.delete(enrolment, partition=JOE)
    created = course("Algebra")
    assert handled() == positions(created), "jake's is woken by what he shares with joe"


def test_a_claim_of_a_partition_that_was_forgotten_is_lost(courses):
    course("Algebra")
    held = claim()
    groups.delete(courses, partition=ALGEBRA)
    for verb in (groups.ack, groups.release, groups.renew):
        with pytest.raises(ClaimLost):
            verb(held)
    with pytest.raises(ClaimLost):
        groups.release(held, error=ValueError("no"))
    assert not DeadLetter.objects.exists()


def test_the_dead_letters_of_a_partition_are_forgotten_with_it(courses):
    groups.register("g", partition_by="course_name", handled_types=HANDLED, retry=Retry(max_attempts=1))
    course("Algebra", "History")
    for _ in range(2):
        groups.release(claim(), error=ValueError("no"))
    groups.delete(courses, partition=ALGEBRA)
    assert [letter.partition_key for letter in DeadLetter.objects.all()] == ['{"course_name":"History"}']


# strangers


@pytest.mark.parametrize("verb", [groups.start, groups.stop, groups.reset, groups.delete])
def test_a_partition_that_is_not_there_is_an_error_and_changes_nothing(courses, verb):
    course("Algebra")
    groups.advance(courses)
    before = [*Offset.objects.values()]
    with pytest.raises(UnknownPartition, match="History"):
        verb(courses, partition=HISTORY)
    with pytest.raises(ValueError, match="partitions by course_name"):
        verb(courses, partition={"user_id": "joe"})
    with pytest.raises(UnknownGroup):
        verb("nobody", partition=ALGEBRA)
    assert [*Offset.objects.values()] == before


# previews


def test_a_preview_changes_nothing_and_counts_what_a_reset_will_do(courses):
    groups.register("g", partition_by="course_name", handled_types=HANDLED, retry=Retry(max_attempts=1))
    course("Algebra", "Algebra", "History", "Physics", "Physics")
    groups.ack(claim(limit=1))  # one message of Algebra is done, the next given up
    groups.release(claim(), error=ValueError("no"))
    groups.stop(courses, partition=HISTORY)
    assert claim().partition_value == {"course_name": "Physics"}
    before = [*Offset.objects.order_by("pk").values()]
    seen = groups.preview("reset", courses)
    assert [*Offset.objects.order_by("pk").values()] == before
    assert (seen.partitions, seen.claims, seen.stopped, seen.dead_letters) == (3, 1, 1, 1)
    assert (seen.first, seen.again, seen.skipped) == (1, 2, 0)
    assert seen.sentence == (
        "g goes, with 3 partitions, to position 1. Up to 2 messages are delivered again, as replayed. 1 dead letter "
        "is delivered with the rest. 1 partition that waits goes on. 1 running claim is fenced: its worker can no "
        "longer ack."
    )


def test_what_a_preview_of_one_partition_counts_is_what_comes(courses):
    stored = course("Algebra", "History", "Algebra", "Algebra", "History")
    assert len(handled()) == 5
    seen = groups.preview("seek", courses, partition=ALGEBRA, to=stored[2].position)
    assert (seen.partitions, seen.again) == (1, 2)
    groups.seek(courses, partition=ALGEBRA, to=stored[2].position)
    assert len(handled()) == seen.again


def test_a_preview_says_what_a_seek_passes_over(courses):
    stored = course("Algebra", "History", "Algebra", "Algebra")
    groups.ack(claim(limit=1))
    assert groups.preview("seek", courses, to=stored[3].position).skipped == 2
    one = groups.preview("seek", courses, partition=ALGEBRA, to="end")
    assert (one.skipped, one.first) == (2, stored[3].position + 1)
    assert one.sentence == (
        f'{{"course_name":"Algebra"}} of g goes to position {one.first}. The log ends at {one.head}: what is there is '
        "not delivered. 2 messages are passed over, not done yet."
    )
    new = groups.preview("seek", courses, partition={"course_name": "Physics"}, to="beginning")
    assert (new.partitions, new.again, new.skipped) == (0, 0, 0), "a partition can be put somewhere before it is known"


def test_a_preview_of_a_delete_says_what_is_forgotten_and_how_it_comes_back(courses):
    groups.register("g", partition_by="course_name", handled_types=HANDLED, retry=Retry(max_attempts=1))
    course("Algebra", "Algebra")
    groups.release(claim(), error=ValueError("no"))
    assert groups.preview("delete", courses, partition=ALGEBRA).sentence == (
        '{"course_name":"Algebra"} of g is forgotten, with its progress and 1 open dead letter. It is there again when '
        "the next message names it in full: then everything from position 1 on is delivered as for the first time, not "
        "as replayed. 1 message is not delivered until then."
    )
    assert groups.preview("delete", courses).sentence == (
        "g is forgotten, with its progress in 1 partition and 1 open dead letter. If it is registered again, "
        "everything from position 1 on is delivered as for the first time, not as replayed. Up to 1 message is not "
        "delivered until then."
    )


def test_a_preview_of_a_start_says_what_stays_stopped(courses):
    course("Algebra", "History")
    groups.advance(courses)
    assert groups.preview("start", courses).sentence == "g is active already."
    for value in (ALGEBRA, HISTORY):
        groups.stop(courses, partition=value)
    groups.stop(courses)
    told = "Partitions of g can be claimed again. 2 partitions that were stopped stay so."
    assert groups.preview("start", courses).sentence == told
    one = '{"course_name":"Algebra"} of g is tried again at once. But g is stopped: start it too.'
    assert groups.preview("start", courses, partition=ALGEBRA).sentence == one
    groups.start(courses)
    groups.start(courses, partition=ALGEBRA)
    free = '{"course_name":"Algebra"} of g neither pauses nor is stopped.'
    assert groups.preview("start", courses, partition=ALGEBRA).sentence == free


def test_a_preview_of_a_stop_says_whose_work_is_fenced(courses):
    course("Algebra", "History")
    held = claim(), claim()
    told = "Nobody can claim partitions of g until it is started. 2 running claims are fenced: their workers can no"
    assert groups.preview("stop", courses).sentence == f"{told} longer ack, and their messages come again."
    groups.ack(held[0])
    assert groups.preview("stop", courses, partition=ALGEBRA).claims == 0
    assert groups.preview("stop", courses, partition=HISTORY).claims == 1


def test_a_preview_does_not_count_for_ever(courses, monkeypatch):
    monkeypatch.setattr(previewing, "MOST_COUNTED", 3)
    monkeypatch.setattr(previews, "MOST_COUNTED", 3)
    course(*["Algebra"] * 5)
    assert len(handled()) == 5
    assert groups.preview("reset", courses).again == 4
    assert "Perhaps more than 3 messages are delivered again" in groups.preview("reset", courses).sentence
    one = groups.preview("reset", courses, partition=ALGEBRA)
    assert one.again == 4
    assert "More than 3 messages are delivered again" in one.sentence


@pytest.mark.parametrize("wrong", [("seek", {}), ("reset", {"to": 3}), ("panic", {})])
def test_a_preview_of_nothing_that_there_is_is_refused(courses, wrong):
    verb, given = wrong
    with pytest.raises(ValueError, match="a seek, and nothing else, has a place"):
        groups.preview(verb, courses, **given)
    with pytest.raises(UnknownGroup):
        groups.preview("reset", "nobody")
    with pytest.raises(UnknownPartition):
        groups.preview("reset", courses, partition=ALGEBRA)


def test_a_letter_that_is_replayed_waits_in_a_stopped_partition(courses):
    groups.register("g", partition_by="course_name", handled_types=HANDLED, retry=Retry(max_attempts=1))
    course("Algebra")
    groups.release(claim(), error=ValueError("no"))
    groups.stop(courses, partition=ALGEBRA)
    assert dead_letters.replay(DeadLetter.objects.get()) == 1
    assert claim() is None
    groups.start(courses, partition=ALGEBRA)
    assert claim().dead_letter == DeadLetter.objects.get().pk
