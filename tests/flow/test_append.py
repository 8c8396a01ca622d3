"""Append: all or none, in the caller's transaction, at a fixed number of statements."""

import logging

import pytest
from django.contrib.auth.models import Group
from django.db import IntegrityError, connection, transaction
from django.test import TestCase
from django.test.utils import CaptureQueriesContext

from ccc_django import Event, store
from ccc_django.errors import AppendConflict, DuplicateMessage, EmptyGuard
from ccc_django.guards import Guard
from ccc_django.models import KeyPair, MessageKeyPair, Shape, StoredMessage
from ccc_django.restoring import restore
from tests.domain import CourseCreated, JoinCourse, TermStarted, UserJoinedCourse

pytestmark = pytest.mark.django_db


def algebra() -> CourseCreated:
    return CourseCreated(course_name="Algebra")


def test_appended_messages_have_growing_positions():
    stored = store.append([algebra(), TermStarted(), JoinCourse(course_name="Algebra", user_id="joe")])
    positions = [message.position for message in stored]
    assert positions == sorted(set(positions))
    assert all(message.envelope.appended_at for message in stored)
    assert [*store.stream()] == stored


def test_one_message_or_many_or_none():
    assert store.append(algebra())[0].course_name == "Algebra"
    assert len(store.append(algebra() for _ in range(3))) == 3
    assert store.append([]) == []
    assert len([*store.stream()]) == 4


def test_the_original_message_stays_as_it_was():
    event = algebra()
    [stored] = store.append(event)
    assert event.position is None
    assert stored.position
    assert stored == event, "the place in the log is not a part of what a message says"


def test_the_index_has_an_entry_for_each_pair_and_the_dictionaries_one_of_each():
    store.append([UserJoinedCourse(course_name="Algebra", user_id=user) for user in ("joe", "ann", "joe")])
    assert MessageKeyPair.objects.count() == 6
    assert sorted(str(pair) for pair in KeyPair.objects.all()) == [
        "course_name = Algebra",
        "user_id = ann",
        "user_id = joe",
    ]
    assert [str(shape) for shape in Shape.objects.all()] == ["user.joined_course(course_name, user_id)"]
    store.append([algebra(), TermStarted()])
    assert KeyPair.objects.count() == 3
    assert Shape.objects.count() == 2
    assert str(MessageKeyPair.objects.first()).endswith(f"@ {MessageKeyPair.objects.first().position}")


def test_every_message_knows_the_shape_that_its_entries_have(db: None) -> None:
    store.append([CourseCreated(course_name="Algebra"), UserJoinedCourse(course_name="Algebra", user_id="ada")])
    shapes = dict(MessageKeyPair.objects.values_list("position", "shape"))
    assert dict(StoredMessage.objects.values_list("position", "shape")) == shapes
    assert {*shapes.values()} == {*Shape.objects.values_list("digest", flat=True)}


def test_a_batch_of_any_size_takes_a_fixed_number_of_statements():
    store.append(TermStarted())  # what is declared is looked up once a process
    counts = []
    for size in (1, 10, 1000):
        with CaptureQueriesContext(connection) as statements:
            store.append([UserJoinedCourse(course_name=f"c{n}", user_id="joe") for n in range(size)])
        counts.append(len(statements))
    assert 0 < counts[0] == counts[1] == counts[2]


def test_a_large_batch_is_one_transaction(proof):
    count = 100_000 if proof else 5_001
    stored = store.append([UserJoinedCourse(course_name=f"c{n % 7}", user_id=f"u{n}") for n in range(count)])
    assert len(stored) == StoredMessage.objects.count() == count
    assert MessageKeyPair.objects.count() == 2 * count
    too_many = [UserJoinedCourse(course_name="x", user_id=f"u{n}") for n in range(5_000)]
    with pytest.raises(DuplicateMessage):
        store.append([*too_many, stored[0].with_payload(user_id="other")])
    assert StoredMessage.objects.count() == count


def test_append_is_a_part_of_the_callers_transaction():
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        Group.objects.create(name="teachers")
        store.append(algebra())
        assert [*store.stream()]
        1 / 0
    assert not Group.objects.exists()
    assert not StoredMessage.objects.exists()
    assert not MessageKeyPair.objects.exists()
    assert not KeyPair.objects.exists()


def test_a_failed_append_leaves_the_callers_transaction_usable():
    [stored] = store.append(algebra())
    guard = store.read(CourseCreated.to_conditions(course_name="Algebra")).guard
    store.append(algebra())
    with transaction.atomic():
        Group.objects.create(name="teachers")
        with pytest.raises(DuplicateMessage):
            store.append(stored.with_payload(course_name="History"))
        with pytest.raises(AppendConflict):
            store.append(algebra(), guard=guard)
        store.append(TermStarted())
    assert Group.objects.exists()
    assert [message.type for message in store.stream()] == ["course.created", "course.created", "term.started"]


def test_a_savepoint_that_rolls_back_takes_its_appends_along():
    with transaction.atomic():
        store.append(algebra())
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            store.append(TermStarted())
            1 / 0
        store.append(algebra())
    assert [message.type for message in store.stream()] == ["course.created", "course.created"]


def test_the_same_message_again_is_the_stored_one():
    event = algebra()
    [first] = store.append(event)
    assert store.append(event) == [first]
    assert store.append(event)[0].position == first.position
    assert store.append([event, event])[1].position == first.position
    assert StoredMessage.objects.count() == 1


def test_a_repeated_batch_stores_what_is_missing():
    known, new = algebra(), algebra()
    [first] = store.append(known)
    stored = store.append([known, new])
    assert stored[0].position == first.position
    assert stored[1].position > first.position
    assert StoredMessage.objects.count() == 2


def test_a_guarded_append_can_be_repeated():
    """The answer was lost on the way: the same append again finds its own messages, and that is no conflict."""
    guard = store.read(CourseCreated.to_conditions(course_name="Algebra")).guard
    event = algebra()
    [first] = store.append(event, guard=guard)
    assert store.append(event, guard=guard)[0].position == first.position
    stored = store.append([event, algebra()], guard=guard)
    assert stored[0].position == first.position
    with pytest.raises(AppendConflict):
        store.append(algebra(), guard=guard)


@pytest.mark.parametrize(
    "change",
    [
        lambda event: event.with_payload(course_name="History"),
        lambda event: event.with_metadata(by="ann"),
        lambda event: algebra().correlate(event),
        lambda event: JoinCourse(course_name="Algebra", user_id="joe", id=event.id),
    ],
)
def test_one_id_with_two_contents_is_an_error(change):
    event = algebra()
    store.append(event)
    with pytest.raises(DuplicateMessage, match=str(event.id)):
        store.append(change(event))
    with pytest.raises(DuplicateMessage, match="Two messages of this append"):
        store.append([event, change(event)])
    assert StoredMessage.objects.count() == 1


def test_other_integrity_errors_are_not_swallowed():
    row = {"message_id": algebra().id, "message_type": "x", "payload": {}, "metadata": {}}
    with pytest.raises(IntegrityError), transaction.atomic():
        StoredMessage.objects.create(**row, created_at=algebra().created_at)


def test_a_message_without_a_class_cannot_be_appended():
    event = algebra()
    unknown = restore(event.envelope, '{"nom": "Algebra"}')
    with pytest.raises(TypeError, match=r"course.created cannot be appended: the payload does not fit"):
        store.append(unknown)


def test_a_guard_without_conditions_is_an_error():
    with pytest.raises(EmptyGuard):
        Guard(conditions=(), after=0)


def test_messages_without_attributes_need_no_index():
    store.append([TermStarted(), TermStarted()])
    assert not MessageKeyPair.objects.exists()
    assert not Shape.objects.exists()


class Sent(Event, type="append.sent"):
    text: str


@pytest.mark.parametrize(
    "text", ['"', "\\", "{}", "{a,b}", "NULL", "", " ", "'", "%s", "%(x)s", "a\nb", "$1", "é🎓", ";--"]
)
def test_hostile_values_pass_through_every_column(text):
    [stored] = store.append(Sent(text=text, topic=text, metadata={"tags": [text], text: text}))
    [found] = store.read(Sent.to_conditions(text=text)).messages
    assert found == stored
    assert KeyPair.objects.filter(value=f"s:{text}").count() == 2


@pytest.mark.parametrize("text", ["x" * 1_000_000, "\\" * 400_000, "é\n'" * 150_000], ids=["plain", "escaped", "mixed"])
def test_a_megabyte_is_found_and_guarded_like_any_other_value(text):
    conditions = Sent.to_conditions(text=text)
    guard = store.read(conditions).guard
    [stored] = store.append(Sent(text=text), guard=guard)
    assert store.read(conditions).messages == [stored]
    with pytest.raises(AppendConflict):
        store.append(Sent(text=text), guard=guard)
    assert store.read(Sent.to_conditions(text=text[:-1])).messages == []


@pytest.mark.django_db(transaction=True)
def test_append_on_commit_waits_for_the_commit(caplog):
    caplog.set_level(logging.WARNING)
    with transaction.atomic():
        store.append_on_commit(algebra())
        assert not StoredMessage.objects.exists()
    assert StoredMessage.objects.count() == 1
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        store.append_on_commit([algebra()])
        1 / 0
    assert StoredMessage.objects.count() == 1
    store.append_on_commit(algebra())
    assert StoredMessage.objects.count() == 2


class InsideOfDjangosTestCase(TestCase):
    """A test's own transaction hides nothing from the test."""

    def test_own_appends_are_visible(self):
        [stored] = store.append(algebra())
        assert store.head() >= stored.position
        result = store.read(CourseCreated.to_conditions(course_name="Algebra"))
        assert result.messages == [stored]
        with transaction.atomic():
            [second] = store.append(algebra(), guard=result.guard)
            assert store.head() >= second.position
        with pytest.raises(AppendConflict):
            store.append(algebra(), guard=result.guard)
        store.append(algebra(), guard=result.guard.moved_past([second]))
