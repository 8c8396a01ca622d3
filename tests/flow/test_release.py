"""Release: a partition that fails pauses by itself, and after the last attempt a policy decides."""

from datetime import timedelta
from typing import Annotated

import pytest
from django.db import transaction
from django.utils import timezone

from ccc_django import (
    DEAD_LETTER,
    STOP_GROUP,
    STOP_PARTITION,
    Event,
    Indexed,
    Retry,
    dead_letters,
    groups,
    registry,
    store,
)
from ccc_django.errors import ClaimLost, NoPartition
from ccc_django.models import ConsumerGroup, DeadLetter, Offset, StoredMessage, fetching
from tests.domain import CourseClosed, CourseCreated, TermStarted, UserJoinedCourse

pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE = timedelta(0)
OVER = timedelta(seconds=-1)


def registered(**retry) -> str:
    pauses = {"first_pause": AT_ONCE, "longest_pause": AT_ONCE}
    handled = [CourseCreated, CourseClosed, UserJoinedCourse]
    return groups.register(
        "courses", partition_by="course_name", handled_types=handled, retry=Retry(**pauses | retry)
    ).name


def claim(**options):
    return groups.claim_next("courses", worker="w-1", **options)


def course(*names):
    return store.append([CourseCreated(course_name=name) for name in names])


def fail(times: int = 1, message: str = "no"):
    for _ in range(times):
        groups.release(claim(), error=ValueError(message))


# pauses


def test_a_failing_partition_pauses_and_blocks_only_itself():
    registered(first_pause=timedelta(hours=1), longest_pause=timedelta(hours=1))
    course("Algebra", "History")
    fail()
    assert claim().partition_value == {"course_name": "History"}
    offset = Offset.objects.get(partition_key__contains="Algebra")
    assert offset.error == "ValueError: no"
    assert timedelta(minutes=40) < offset.blocked_until - timezone.now() <= timedelta(hours=1)


def test_pauses_double_up_to_a_longest_and_differ_a_little():
    retry = Retry(first_pause=timedelta(seconds=1), longest_pause=timedelta(seconds=10))
    for attempt, longest in {1: 1, 2: 2, 3: 4, 4: 8, 5: 10, 5_000: 10}.items():
        pauses = {retry.pause(attempt) for _ in range(50)}
        assert longest * 0.75 <= min(pauses) < max(pauses) <= longest


@pytest.mark.parametrize(
    "wrong",
    [{"max_attempts": 0}, {"then": "panic"}, {"first_pause": OVER}, {"longest_pause": timedelta(milliseconds=1)}],
)
def test_a_retry_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(ValueError, match=r"max_attempts|then|first_pause"):
        Retry(**wrong)


def test_a_group_remembers_its_retry_and_keeps_it_when_none_is_given():
    registered(max_attempts=3, then=STOP_GROUP)
    groups.register("courses", partition_by="course_name", handled_types=[CourseCreated])
    course("Algebra")
    assert claim().retry == Retry(max_attempts=3, then=STOP_GROUP, first_pause=AT_ONCE, longest_pause=AT_ONCE)


# attempts


def test_attempts_count_at_delivery_and_success_resets_them():
    registered(max_attempts=None)
    course("Algebra", "Algebra")
    fail(2)
    third = claim()
    assert third.attempt == 3
    groups.ack(third)
    assert claim().attempt == 1


def test_a_release_without_error_gives_the_attempt_back():
    registered(max_attempts=1)
    course("Algebra")
    for _ in range(3):
        claimed = claim()
        assert claimed.attempt == 1
        groups.release(claimed)
    assert not DeadLetter.objects.exists()


def test_after_a_failed_attempt_a_batch_is_one_message():
    registered()
    first, _ = course("Algebra", "Algebra")
    assert len(claim(lease=OVER).messages) == 2
    again = claim()
    assert again.messages == [first]
    groups.ack(again)
    assert len(claim().messages) == 1, "the rest"


def test_with_one_attempt_a_batch_is_one_message_from_the_start():
    registered(max_attempts=1)
    first, second = course("Algebra", "Algebra")
    claimed = claim()
    assert claimed.messages == [first]
    groups.release(claimed, error=ValueError("no"))
    assert claim().messages == [second]
    assert DeadLetter.objects.get().position == first.position


# policies


def test_the_message_becomes_a_dead_letter_and_the_partition_goes_on():
    registered(max_attempts=3, then=DEAD_LETTER)
    first, second = course("Algebra", "Algebra")
    fail(3, "it hurts")
    [letter] = DeadLetter.objects.open().of_group("courses")
    assert (letter.position, letter.message_id, letter.message_type) == (first.position, first.id, first.type)
    assert letter.partition_key == '{"course_name":"Algebra"}'
    assert (letter.attempts, letter.error) == (3, "ValueError: it hurts")
    claimed = claim()
    assert (claimed.messages, claimed.attempt) == ([second], 1)


def test_a_traceback_is_kept():
    registered(max_attempts=1)
    course("Algebra")
    with pytest.raises(RuntimeError) as caught:
        raise RuntimeError("deep \x00 inside")
    groups.release(claim(), error=caught.value)
    letter = DeadLetter.objects.get()
    assert "test_a_traceback_is_kept" in letter.traceback
    assert "deep \ufffd inside" in letter.error


def test_the_partition_stops_and_waits_for_somebody():
    registered(max_attempts=1, then=STOP_PARTITION)
    [stopped, other] = course("Algebra", "History")
    fail()
    assert claim().messages == [other]
    assert claim() is None
    assert Offset.objects.get(partition_key__contains="Algebra").is_stopped
    assert groups.status("courses").failures == 1
    assert groups.retry("courses", partition={"course_name": "nobody"}) == 0
    assert groups.retry("courses", partition={"course_name": "Algebra"}) == 1
    again = claim()
    assert (again.messages, again.attempt) == ([stopped], 1)


def test_the_group_stops_with_the_error():
    registered(max_attempts=2, then=STOP_GROUP)
    course("Algebra", "History")
    fail()
    other, failing = sorted((claim(), claim()), key=lambda each: "Algebra" in each.partition_key)
    groups.release(failing, error=ValueError("no"))
    group = ConsumerGroup.objects.get()
    assert group.status == "failed"
    assert "Algebra" in group.error_context
    assert "ValueError: no" in group.error_context
    assert not groups.is_active("courses")
    assert claim() is None
    with pytest.raises(ClaimLost):
        groups.ack(other)
    groups.start("courses")
    assert claim().attempt == 1, "it starts with fresh attempts"
    assert ConsumerGroup.objects.get().error_context == ""


def test_attempts_that_ended_without_a_word_count_too():
    registered(max_attempts=3)
    first, second = course("Algebra", "Algebra")
    for _ in range(3):
        claim(lease=OVER)
    assert claim().messages == [second]
    letter = DeadLetter.objects.get()
    assert letter.position == first.position
    assert letter.error == "AttemptsUsedUp: 3 attempts ended without ack or release"


@pytest.mark.parametrize("then", [DEAD_LETTER, STOP_PARTITION, STOP_GROUP])
def test_whoever_lost_the_claim_gives_nothing_up(then):
    registered(max_attempts=1, then=then)
    course("Algebra")
    lost = claim()
    groups.retry("courses")
    Offset.objects.update(token=1)  # somebody else's
    with pytest.raises(ClaimLost):
        groups.release(lost, error=ValueError("no"))
    assert not DeadLetter.objects.exists()
    assert groups.is_active("courses")
    assert Offset.objects.get().token == 1


# dead letters


def dead_letter() -> DeadLetter:
    registered(max_attempts=1)
    course("Algebra", "Algebra", "Algebra")
    fail()
    groups.ack(claim())
    return DeadLetter.objects.get()


def test_a_replayed_letter_is_delivered_again_to_its_partition_and_nothing_else_is():
    letter = dead_letter()
    groups.ack(claim())
    assert claim() is None
    assert dead_letters.replay(letter, by="ann", reason="mended") == 1
    again = claim()
    assert [message.position for message in again.messages] == [letter.position]
    assert again.partition_key == letter.partition_key
    assert (again.dead_letter, again.replaying) == (letter.pk, False)
    groups.ack(again)
    letter.refresh_from_db()
    assert (letter.status, letter.decided_by, letter.reason) == ("replayed", "ann", "mended")
    assert claim() is None
    assert Offset.objects.get().last_position > letter.position


def test_a_replayed_letter_comes_before_what_is_new_and_both_arrive():
    letter = dead_letter()
    dead_letters.replay([letter])
    first, second = claim(), None
    groups.ack(first)
    second = claim()
    groups.ack(second)
    positions = [claimed.messages[0].position for claimed in (first, second)]
    assert positions == [letter.position, letter.position + 2]
    assert claim() is None


def test_a_letter_that_is_replayed_while_its_partition_is_in_hand_is_not_forgotten():
    letter = dead_letter()
    held = claim()
    dead_letters.replay(letter)
    groups.ack(held)
    assert claim().dead_letter == letter.pk


def test_a_replayed_letter_that_fails_is_a_dead_letter_again():
    letter = dead_letter()
    groups.ack(claim())
    dead_letters.replay(letter)
    fail(1, "still")
    letter.refresh_from_db()
    assert (letter.status, letter.error, letter.attempts) == ("open", "ValueError: still", 2)
    assert claim() is None
    assert dead_letters.replay(DeadLetter.objects.open()) == 1
    claim(lease=OVER)
    assert claim() is None, "its worker was killed"
    letter.refresh_from_db()
    assert letter.status == "open"
    assert "nobody acked" in letter.error


def test_a_replayed_letter_that_is_given_back_stays_on_its_way():
    letter = dead_letter()
    dead_letters.replay(letter)
    groups.release(claim())
    assert claim().dead_letter == letter.pk


def test_a_discarded_letter_records_who_and_why():
    letter = dead_letter()
    assert dead_letters.discard(letter, by="ann", reason="test data") == 1
    letter.refresh_from_db()
    assert (letter.status, letter.decided_by, letter.reason) == ("discarded", "ann", "test data")
    assert letter.decided_at is not None
    assert dead_letters.discard(letter, by="bob") == 0
    assert dead_letters.replay(letter) == 1, "somebody may think again"


def test_a_merged_ack_ends_a_replay():
    letter = dead_letter()
    dead_letters.replay(letter)
    again = claim(ack=claim())
    assert again.dead_letter is None
    assert DeadLetter.objects.get().status == "replayed"


def test_a_message_of_too_many_partitions_becomes_a_dead_letter_and_the_rest_goes_on(monkeypatch):
    monkeypatch.setattr(registry, "_classes", {**registry._classes})

    class Sold(Event, type="release.sold"):
        course_name: Annotated[list[str], Indexed]
        user_id: Annotated[list[str], Indexed]

    def register(most):
        groups.register("sales", partition_by=["course_name", "user_id"], handled_types=[Sold], most_partitions=most)

    register(6)
    narrow = Sold(course_name=["a", "b"], user_id=["x", "y", "z"])
    wide = Sold(course_name=["a", "b", "c"], user_id=["x", "y", "z"])
    before, wide, after = store.append([narrow, wide, Sold(course_name=["a", "b"], user_id=["x", "y", "z"])])
    claims = [groups.claim_next("sales", worker="w") for _ in range(7)]
    assert [claimed.messages for claimed in claims[:6]] == [[before, after]] * 6
    assert claims[6] is None
    letter = DeadLetter.objects.get()
    assert (letter.position, letter.partition_key) == (wide.position, "")
    assert "more than 6 partitions" in letter.error
    with pytest.raises(NoPartition, match="most_partitions"):
        dead_letters.replay(letter)
    register(9)
    groups.seek("sales", to=letter.position)
    claims = [groups.claim_next("sales", worker="w") for _ in range(9)]
    assert sum(wide in claimed.messages for claimed in claims) == 9
    letter.refresh_from_db()
    assert letter.status == "replayed"
    with pytest.raises(ValueError, match="one at least"):
        register(0)


def test_what_was_delivered_once_is_not_lost_when_fewer_partitions_are_allowed(monkeypatch):
    monkeypatch.setattr(registry, "_classes", {**registry._classes})

    class Sold(Event, type="release.sold"):
        course_name: Annotated[list[str], Indexed]

    groups.register("sales", partition_by="course_name", handled_types=[Sold])
    [stored] = store.append(Sold(course_name=["a", "b", "c"]))
    groups.advance("sales")
    groups.register("sales", partition_by="course_name", handled_types=[Sold], most_partitions=2)
    assert [groups.claim_next("sales", worker="w").messages for _ in range(3)] == [[stored]] * 3


def test_another_limit_of_partitions_between_two_pages_starts_the_batch_anew(monkeypatch):
    monkeypatch.setattr(registry, "_classes", {**registry._classes})
    monkeypatch.setattr("ccc_django.groups.marking.MOST_MARKED", 2)

    class Merged(Event, type="release.merged"):
        course_name: Annotated[list[str], Indexed]

    def register(most):
        names = ["course_name", "user_id"]
        groups.register("g", partition_by=names, handled_types=[Merged, CourseClosed], most_partitions=most)

    register(100)
    store.append([UserJoinedCourse(course_name=name, user_id="joe") for name in "abcdefgh"])
    while groups.advance("g"):
        pass
    wide, *closed = store.append([Merged(course_name=[*"abcd"]), *(CourseClosed(course_name=n) for n in "efgh")])
    assert groups.advance("g")
    register(3)
    delivered = []
    while claimed := groups.claim_next("g", worker="w"):
        delivered += claimed.messages
    assert sorted(message.position for message in delivered) == [message.position for message in closed]
    assert DeadLetter.objects.get().position == wide.position


def test_one_partition_that_cannot_be_read_does_not_stop_the_others(monkeypatch):
    registered()
    course("Algebra", "History")
    fetched = fetching.rows

    def broken(types, names, pairs, **bounds):
        if bounds["upto"] == store.head() - 1:
            raise OSError("no")
        return fetched(types, names, pairs, **bounds)

    monkeypatch.setattr("ccc_django.models.fetching.rows", broken)
    registered(first_pause=timedelta(hours=1), longest_pause=timedelta(hours=1))
    with pytest.raises(OSError, match="no"):
        claim()
    assert claim().partition_value == {"course_name": "History"}
    assert claim() is None
    broken_one = Offset.objects.get(partition_key__contains="Algebra")
    assert (broken_one.error, broken_one.attempts) == ("OSError: no", 0)


def test_the_guard_of_a_replayed_letter_knows_how_far_the_partition_is():
    letter = dead_letter()
    groups.ack(claim())
    dead_letters.replay(letter)
    again = claim()
    assert again.messages[0].position == letter.position
    store.append(TermStarted(), guard=again.guard)


def test_nothing_done_of_a_replayed_letter_leaves_it_on_its_way():
    letter = dead_letter()
    dead_letters.replay(letter)
    groups.ack(claim(), position=letter.position - 1)
    assert claim().dead_letter == letter.pk


def test_a_letter_is_not_blamed_for_what_another_message_did():
    letter = dead_letter()
    claim(lease=OVER)
    dead_letters.replay(letter)
    assert claim().dead_letter == letter.pk


def test_a_discarded_letter_before_which_the_partition_was_put_comes_with_the_rest():
    letter = dead_letter()
    dead_letters.discard(letter)
    groups.seek("courses", to="beginning")
    assert dead_letters.replay(letter) == 1
    letter.refresh_from_db()
    assert letter.status == "coming"
    positions = []
    while claimed := claim():
        positions += [message.position for message in claimed.messages]
        groups.ack(claimed)
    assert positions == [letter.position, letter.position + 1, letter.position + 2]


def test_a_letter_of_a_partition_that_was_forgotten_is_not_replayed():
    letter = dead_letter()
    dead_letters.discard(letter)
    groups.reset("courses", forget=True)
    assert dead_letters.replay(letter) == 0
    letter.refresh_from_db()
    assert letter.status == "discarded"


def test_a_letter_whose_message_is_gone_says_so():
    letter = dead_letter()
    groups.ack(claim())
    StoredMessage.objects.filter(pk=letter.position).delete()
    dead_letters.replay(letter)
    assert claim() is None
    letter.refresh_from_db()
    assert (letter.status, letter.error) == ("open", "LookupError: the message is not in the log any more")


def test_an_error_is_an_exception():
    registered()
    course("Algebra")
    with pytest.raises(TypeError, match="the exception itself"):
        groups.release(claim(), error="no")


def test_a_release_without_error_keeps_the_last_one():
    registered(max_attempts=None)
    course("Algebra")
    fail()
    groups.release(claim())
    assert Offset.objects.get().error == "ValueError: no"


def test_giving_up_is_undone_with_the_transaction_around_it():
    registered(max_attempts=1)
    course("Algebra")
    claimed = claim()
    with pytest.raises(RuntimeError), transaction.atomic():
        groups.release(claimed, error=ValueError("no"))
        raise RuntimeError
    assert not DeadLetter.objects.exists()
    groups.ack(claimed)
