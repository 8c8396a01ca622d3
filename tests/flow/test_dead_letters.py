"""Dead letters in bulk: found by what is true of them, decided upon a thousand at a time, in the order of the log."""

from datetime import UTC, datetime, timedelta
from typing import Annotated

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ccc_django import Event, Indexed, Retry, dead_letters, groups, store
from ccc_django.dead_letters import deciding
from ccc_django.errors import NoPartition, UnknownGroup
from ccc_django.models import DeadLetter, Offset
from ccc_django.models.dead_letter import LetterStatus
from tests.domain import CourseClosed, CourseCreated

pytestmark = pytest.mark.django_db(transaction=True)

HANDLED = [CourseCreated, CourseClosed]
ALGEBRA = {"course_name": "Algebra"}


def registered(name: str = "courses", **options) -> str:
    retry = Retry(max_attempts=1)
    return groups.register(name, partition_by="course_name", handled_types=HANDLED, retry=retry, **options).name


def give_up(*messages, group: str = "courses", error: str = "no") -> list[int]:
    """Messages that become dead letters; their positions."""
    stored = store.append(messages)
    while claim := groups.claim_next(group, worker="w"):
        groups.release(claim, error=ValueError(error))
    return [message.position for message in stored]


def created(*names):
    return [CourseCreated(course_name=name) for name in names]


def delivered(group: str = "courses") -> list[tuple[str, int]]:
    found = []
    while claim := groups.claim_next(group, worker="w"):
        found += [(claim.partition_value["course_name"], message.position) for message in claim.messages]
        groups.ack(claim)
    return found


def found(**wanted) -> list[int]:
    return [letter.position for letter in dead_letters.find(**wanted)]


# find


def test_letters_are_found_by_what_is_true_of_them():
    registered()
    registered("others")
    algebra, history = give_up(*created("Algebra", "History"), error="The mailer is down")
    closed = give_up(CourseClosed(course_name="Algebra"))[0]
    assert found(group="courses") == [algebra, history, closed]
    assert found(type="course.closed") == [closed]
    assert found(error="MAILER") == [algebra, history]
    assert found(partition=ALGEBRA) == [algebra, closed]
    assert found(group="courses", partition=ALGEBRA, error="mailer") == [algebra]
    assert found(group="others") == []
    assert found() == [algebra, history, closed]


def test_letters_are_found_by_when_they_were_given_up():
    registered()
    positions = give_up(*created("Algebra", "History", "Physics"))
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    for number, letter in enumerate(DeadLetter.objects.order_by("position")):
        DeadLetter.objects.filter(pk=letter.pk).update(created_at=noon + timedelta(hours=number))
    assert found(since=noon + timedelta(hours=1)) == positions[1:]
    assert found(until=noon + timedelta(hours=1)) == positions[:1]
    assert found(since=noon, until=noon + timedelta(hours=2)) == positions[:2]


def test_open_letters_are_found_unless_a_status_or_ids_are_given():
    registered()
    positions = give_up(*created("Algebra", "History"))
    first, second = DeadLetter.objects.order_by("position")
    dead_letters.discard(first)
    assert found() == positions[1:]
    assert found(status="discarded") == positions[:1]
    assert found(status="any") == positions
    assert found(ids=[first.pk, second.pk]) == positions
    assert found(ids=[first.pk, second.pk], status="open") == positions[1:]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"group": "nobody"}, "no consumer group"),
        ({"since": datetime(2026, 1, 31)}, "time zone"),  # noqa: DTZ001 - it is refused
        ({"until": datetime(2026, 1, 31)}, "time zone"),  # noqa: DTZ001 - it is refused
        ({"status": "lost"}, "no status: open, replaying"),
        ({"group": "courses", "partition": {"user_id": "joe"}}, "partitions by course_name"),
    ],
)
def test_what_cannot_be_true_of_any_letter_is_refused(wrong, says):
    registered()
    with pytest.raises((ValueError, UnknownGroup), match=says):
        dead_letters.find(**wrong)


# replay and discard


def test_many_letters_are_replayed_in_a_fixed_number_of_statements():
    registered()
    counts = []
    for size in (5, 60):
        give_up(*created(*(f"c{n % (size // 2)}" for n in range(size))))
        with CaptureQueriesContext(connection) as queries:
            assert dead_letters.replay(dead_letters.find()) == size
        counts.append(len(queries))
        assert len(delivered()) == size
    assert counts[0] == counts[1] <= 12


@pytest.mark.parametrize("way", ["newest first", "a queryset", "a list"])
def test_batches_are_in_the_order_of_the_log_whatever_order_was_asked_for(monkeypatch, way):
    """Workers go on between two batches: what comes later in a partition must not be on its way first."""
    registered()
    positions = give_up(*created(*"ABCABCABC"))
    monkeypatch.setattr(deciding, "BATCH", 2)
    on_their_way = []

    def note(done: int) -> None:
        waiting = DeadLetter.objects.filter(status=LetterStatus.REPLAYING).order_by("position")
        on_their_way.append([letter.position for letter in waiting])
        assert done == min(2 * len(on_their_way), 9)

    letters = {
        "newest first": DeadLetter.objects.order_by("-position"),
        "a queryset": dead_letters.find(),
        "a list": list(DeadLetter.objects.order_by("partition_id", "-id")),
    }
    assert dead_letters.replay(letters[way], progress=note) == 9
    assert on_their_way == [positions[:2], positions[:4], positions[:6], positions[:8], positions]
    came = delivered()
    by_course = {name: [position for course, position in came if course == name] for name in "ABC"}
    assert by_course == {"A": positions[::3], "B": positions[1::3], "C": positions[2::3]}


def test_whoever_was_interrupted_goes_on_where_it_was(monkeypatch):
    registered()
    give_up(*created(*"AAAAA"))
    monkeypatch.setattr(deciding, "BATCH", 2)

    def interrupt(done: int) -> None:
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        dead_letters.replay(dead_letters.find(), progress=interrupt)
    assert dead_letters.replay(dead_letters.find()) == 3
    assert Offset.objects.get().replays == 5
    assert len(delivered()) == 5


def test_letters_of_several_groups_are_replayed_each_to_its_own():
    registered()
    registered("others")
    positions = give_up(*created("Algebra", "History"))
    while claim := groups.claim_next("others", worker="w"):
        groups.release(claim, error=ValueError("no"))
    assert dead_letters.replay(dead_letters.find()) == 4
    assert sorted(position for _, position in delivered()) == positions
    assert sorted(position for _, position in delivered("others")) == positions


def test_letters_before_and_behind_the_place_of_their_partition_are_told_apart():
    registered()
    positions = give_up(*created("Algebra", "Algebra", "History"))
    assert dead_letters.discard(dead_letters.find()) == 3
    groups.seek("courses", to=positions[1], partition=ALGEBRA)
    assert dead_letters.replay(dead_letters.find(status="discarded")) == 3
    statuses = [letter.status for letter in DeadLetter.objects.order_by("position")]
    assert statuses == [LetterStatus.REPLAYING, LetterStatus.COMING, LetterStatus.REPLAYING]
    assert sorted(position for _, position in delivered()) == positions, "each comes once"


def test_the_first_of_some_letters_can_be_decided_upon():
    registered()
    positions = give_up(*created("Algebra", "History", "Physics"))
    assert dead_letters.discard(dead_letters.find()[:1]) == 1
    assert dead_letters.replay(dead_letters.find()[:1]) == 1
    assert [position for _, position in delivered()] == [positions[1]]


# letters without a partition


@pytest.fixture
def too_wide(no_consumers):
    """A letter that belongs to too many partitions, behind two that can be replayed."""

    class CoursesMerged(Event, type="courses.merged"):
        course_name: Annotated[list[str], Indexed]

    retry = Retry(max_attempts=1)
    groups.register(
        "courses", partition_by="course_name", handled_types=[*HANDLED, CoursesMerged], retry=retry, most_partitions=2
    )
    give_up(*created("Algebra", "History"), CoursesMerged(course_name=["a", "b", "c"]))
    return DeadLetter.objects.order_by("position").last()


def test_nothing_is_replayed_if_one_of_the_letters_cannot_be(too_wide, monkeypatch):
    monkeypatch.setattr(deciding, "BATCH", 1)
    with pytest.raises(NoPartition):
        dead_letters.replay(dead_letters.find())
    assert DeadLetter.objects.open().count() == 3


def test_a_preview_names_those_that_cannot_be_replayed(too_wide):
    seen = dead_letters.preview("replay", dead_letters.find())
    assert (seen.count, seen.of, seen.without_partition) == (2, (("courses", "course.created", 2),), 1)
    assert seen.sentence.startswith("2 will be delivered again.\n  2 of courses: course.created\n1 cannot be, because")
    assert f"courses.merged @ {too_wide.position} (id {too_wide.pk}). Register" in seen.sentence
    assert dead_letters.replay(dead_letters.decidable("replay", dead_letters.find())) == 2
    assert [letter.pk for letter in dead_letters.find()] == [too_wide.pk]


def test_a_preview_of_a_discard_counts_what_is_open(too_wide):
    dead_letters.discard(dead_letters.find()[:1])
    seen = dead_letters.preview("discard", dead_letters.find(status="any"))
    assert seen.sentence == "2 will be discarded.\n  1 of courses: course.created\n  1 of courses: courses.merged"
    assert dead_letters.preview("discard", dead_letters.find(), limit=1).count == 1
    assert dead_letters.preview("replay", dead_letters.find(status="any"), limit=5).count == 2, "discarded ones too"
