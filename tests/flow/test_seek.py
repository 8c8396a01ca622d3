"""Seek and reset: partitions are put to another position, back or forth."""

from datetime import UTC, datetime, timedelta

import pytest

from ccc_django import dead_letters, groups, store
from ccc_django.errors import ClaimLost, UnknownGroup
from ccc_django.models import ConsumerGroup, DeadLetter, Offset, StoredMessage
from ccc_django.retry import Retry
from tests.domain import CourseClosed, CourseCreated, UserJoinedCourse

pytestmark = pytest.mark.django_db(transaction=True)

HANDLED = [CourseCreated, CourseClosed, UserJoinedCourse]


@pytest.fixture(params=["course_name", ["course_name", "user_id"], []], ids=["one", "two", "none"])
def group(request):
    """A group with one attribute, with two, or with none."""
    return groups.register("g", partition_by=request.param, handled_types=HANDLED).name


@pytest.fixture
def courses():
    return groups.register("g", partition_by="course_name", handled_types=HANDLED).name


def joined(count: int, course="Algebra", user="joe"):
    return store.append([UserJoinedCourse(course_name=course, user_id=user) for _ in range(count)])


def claim(**options):
    return groups.claim_next("g", worker="w", **options)


def handled(limit=100) -> list[tuple[int, bool]]:
    """Positions, and whether each was replayed, until nothing is left."""
    found = []
    while claimed := claim(limit=limit):
        found += [(message.position, claimed.replaying) for message in claimed.messages]
        groups.ack(claimed)
    return found


def positions(messages, *, replaying=False):
    return [(message.position, replaying) for message in messages]


def test_a_position_is_the_first_that_is_delivered(group):
    stored = joined(5)
    assert groups.seek(group, to=stored[2].position) == stored[2].position
    assert handled() == positions(stored[2:])


def test_the_end_delivers_what_comes_from_now_on_also_to_partitions_that_are_found_later(group):
    joined(3)
    assert groups.seek(group, to="end") == store.head() + 1
    assert handled() == []
    later = joined(2) + joined(1, "History", "jake")
    assert sorted(handled()) == positions(later)


def test_the_beginning_delivers_everything_and_says_what_was_acked_before(group):
    stored = joined(4)
    groups.ack(claim(limit=3))
    groups.seek(group, to="beginning")
    assert handled(limit=2) == positions(stored[:3], replaying=True) + positions(stored[3:])


def test_what_was_skipped_and_never_acked_is_not_replayed(group):
    stored = joined(4)
    groups.seek(group, to="end")
    assert handled() == []
    groups.seek(group, to="beginning")
    assert handled() == positions(stored), "nobody has handled them before"


def test_a_mixed_batch_is_split(group):
    stored = joined(4)
    groups.ack(claim(limit=2))
    groups.reset(group)
    first = claim()
    assert (positions(first.messages), first.replaying) == (positions(stored[:2]), True)
    groups.ack(first)
    second = claim()
    assert (positions(second.messages), second.replaying) == (positions(stored[2:]), False)


def test_a_time_is_the_first_message_that_was_appended_at_or_after_it(group):
    stored = joined(3)
    moment = datetime(2020, 1, 1, tzinfo=UTC)
    StoredMessage.objects.update(appended_at=moment)
    StoredMessage.objects.filter(position__gte=stored[1].position).update(appended_at=moment + timedelta(days=1))
    assert groups.seek(group, to=moment + timedelta(hours=1)) == stored[1].position
    assert handled() == positions(stored[1:])
    assert groups.seek(group, to=moment + timedelta(days=9)) == store.head() + 1


def test_the_time_of_a_message_is_its_place(group):
    stored = joined(2)
    assert groups.seek(group, to=stored[0].envelope.appended_at) == stored[0].position
    assert handled() == positions(stored)


def test_back_and_forth_loses_nothing(group):
    stored = joined(3)
    assert handled() == positions(stored)
    groups.seek(group, to="end")
    more = joined(3)
    groups.seek(group, to=more[-1].position + 1)
    assert handled() == []
    groups.seek(group, to=stored[1].position)
    assert handled() == positions(stored[1:], replaying=True) + positions(more)


def test_what_concerns_a_partition_and_came_before_it_is_delivered_if_it_is_after_the_start():
    groups.register("g", partition_by=["course_name", "user_id"], handled_types=HANDLED)
    store.append(CourseCreated(course_name="Algebra"))
    groups.seek("g", to="end")
    assert claim() is None
    closed = store.append(CourseClosed(course_name="Algebra"))
    assert claim() is None
    assert handled() == []
    assert joined(1)
    assert [position for position, _ in handled()] == [closed[0].position, store.head()]


def test_a_reset_goes_back_to_the_start_also_after_a_seek(group):
    stored = joined(2)
    groups.seek(group, to="end")
    assert handled() == []
    groups.reset(group)
    assert handled() == positions(stored)


def test_after_a_reset_no_progress_no_claim_and_no_open_work_is_left(group):
    joined(3)
    held = claim()
    groups.reset(group)
    offset = Offset.objects.get()
    assert (offset.last_position, offset.next_position, offset.claimed_by, offset.attempts) == (0, None, "", 0)
    with pytest.raises(ClaimLost):
        groups.ack(held)
    groups.reset(group, forget=True)
    assert not Offset.objects.exists()
    assert len(handled()) == 3


def test_one_partition_moves_and_the_others_stay(courses):
    first, second = joined(2), joined(2, "History")
    handled()
    assert groups.seek(courses, to=first[1].position, partition={"course_name": "Algebra"}) == first[1].position
    assert handled() == positions(first[1:], replaying=True)
    groups.seek(courses, to="beginning", partition={"course_name": "History"})
    assert handled() == positions(second, replaying=True)
    groups.seek(courses, to="end", partition={"course_name": "History"})
    later = joined(1, "History")
    assert handled() == positions(later)


def test_a_partition_that_is_not_known_yet_can_be_put_somewhere(courses):
    before = joined(1)
    groups.seek(courses, to="end", partition={"course_name": "Algebra"})
    assert handled() == []
    after = joined(1)
    assert handled() == positions(after)
    groups.seek(courses, to="beginning", partition={"course_name": "Algebra"})
    assert handled() == positions(before + after, replaying=True), "at or below what was acked"


def test_a_partition_that_was_put_before_the_place_of_its_group_begins_at_its_own(courses):
    stored = joined(3)
    groups.seek(courses, to="end")
    groups.seek(courses, to="beginning", partition={"course_name": "Algebra"})
    later = joined(1)
    assert handled() == positions(stored + later)


def test_what_is_looked_for_in_vain_is_no_progress(courses):
    groups.register(courses, partition_by="course_name", handled_types=[CourseCreated], replace=True)
    [closed] = store.append(CourseClosed(course_name="Algebra"))
    assert handled() == []
    groups.seek(courses, to="beginning", partition={"course_name": "Algebra"})
    assert handled() == []
    groups.register(courses, partition_by="course_name", handled_types=[CourseClosed])
    assert handled() == positions([closed]), "nobody has handled it before"


def test_a_partition_can_be_put_somewhere_while_many_are_being_woken(monkeypatch):
    monkeypatch.setattr("ccc_django.groups.marking.MOST_MARKED", 2)
    groups.register("g", partition_by=["course_name", "user_id"], handled_types=HANDLED)
    store.append([UserJoinedCourse(course_name="Algebra", user_id=f"u{n}") for n in range(5)])
    handled()
    closed, again = store.append(
        [CourseClosed(course_name="Algebra"), UserJoinedCourse(course_name="Algebra", user_id="u4")]
    )
    assert groups.advance("g")
    groups.seek("g", to=closed.position, partition={"course_name": "Algebra", "user_id": "u4"})
    assert sorted(handled()) == positions([closed] * 5 + [again])


def test_seeking_one_partition_fences_its_claim_alone(courses):
    joined(1)
    joined(1, "History")
    moved, other = claim(), claim()
    groups.seek(courses, to="beginning", partition=moved.partition_value)
    with pytest.raises(ClaimLost):
        groups.ack(moved)
    groups.ack(other)
    assert claim().partition_value == moved.partition_value


@pytest.mark.parametrize("to", [0, -1, True, 1.5, "middle", None, datetime(2020, 1, 1)])  # noqa: DTZ001
def test_a_place_that_is_none_changes_nothing(courses, to):
    joined(1)
    held = claim()
    with pytest.raises(ValueError, match="time zone"):
        groups.seek(courses, to=to)
    groups.ack(held)


def test_a_partition_by_other_attributes_is_refused(courses):
    with pytest.raises(ValueError, match="course_name"):
        groups.seek(courses, to="end", partition={"user_id": "joe"})
    with pytest.raises(UnknownGroup):
        groups.seek("nobody", to="end")


def test_dead_letters_behind_the_new_place_are_delivered_with_the_rest(group):
    names = ConsumerGroup.objects.get().partition_by
    groups.register(group, partition_by=names, handled_types=HANDLED, retry=Retry(max_attempts=1))
    stored = joined(2)
    groups.release(claim(), error=ValueError("no"))
    handled()
    groups.seek(group, to="beginning")
    assert DeadLetter.objects.get().status == "coming"
    given_up, *others = positions(stored, replaying=True)
    assert handled() == [(given_up[0], False), *others], "what was given up was not done, and is not replayed"
    groups.reset(group)
    groups.release(claim(), error=ValueError("no"))
    assert DeadLetter.objects.get().status == "open", "the same letter, once more"
    dead_letters.replay(DeadLetter.objects.all())
    groups.seek(group, to="end")
    assert DeadLetter.objects.get().status == "open", "it is not on its way any more"
    assert claim() is None


def test_a_seek_while_many_are_being_woken_starts_anew(monkeypatch):
    monkeypatch.setattr("ccc_django.groups.marking.MOST_MARKED", 2)
    groups.register("g", partition_by=["course_name", "user_id"], handled_types=HANDLED)
    store.append([UserJoinedCourse(course_name="Algebra", user_id=f"u{n}") for n in range(5)])
    handled()
    [closed] = store.append(CourseClosed(course_name="Algebra"))
    assert groups.advance("g")
    assert ConsumerGroup.objects.get().marking_upto
    groups.seek("g", to=closed.position)
    assert not ConsumerGroup.objects.get().marking_upto
    assert handled() == positions([closed] * 5)
