"""Read: by conditions, by type, by trace, everything, in both directions, and always to an end."""

from typing import Annotated
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st

from ccc_django import Condition, Event, Indexed, store
from ccc_django.errors import AppendConflict, EmptyGuard
from ccc_django.models import KeyPair, MessageKeyPair, Shape, StoredMessage
from tests.domain import CourseClosed, CourseCreated, JoinCourse, TermStarted, UserJoinedCourse, UserRegistered

pytestmark = pytest.mark.django_db


@pytest.fixture
def log():
    """The walk-through: what belongs to Algebra and joe, and what only looks like it."""
    return store.append(
        [
            CourseCreated(course_name="Algebra"),
            UserRegistered(user_id="joe", name="Joe"),
            UserJoinedCourse(course_name="Algebra", user_id="joe"),
            UserJoinedCourse(course_name="Algebra", user_id="jake"),
            UserJoinedCourse(course_name="History", user_id="joe"),
            CourseClosed(course_name="Algebra"),
            TermStarted(),
        ]
    )


TYPES = [CourseCreated, UserRegistered, UserJoinedCourse, CourseClosed]


def conditions(**values):
    return [condition for each in TYPES for condition in each.to_conditions(**values)]


def test_conditional_and_row_by_row(log):
    result = store.read(conditions(course_name="Algebra", user_id="joe"))
    assert result.messages == [log[0], log[1], log[2], log[5]]
    assert [message.position for message in result.messages] == [log[n].position for n in (0, 1, 2, 5)]


def test_one_attribute_alone(log):
    assert store.read(conditions(course_name="Algebra")).messages == [log[0], log[2], log[3], log[5]]
    assert store.read(conditions(user_id="joe")).messages == [log[1], log[2], log[4]]


def test_several_values_of_one_name_are_alternatives(log):
    wanted = conditions(course_name="Algebra") + conditions(course_name="History")
    assert store.read(wanted).messages == [log[0], log[2], log[3], log[4], log[5]]


def test_a_condition_without_an_attribute_is_about_the_whole_type(log):
    assert store.read([Condition("term.started"), *CourseCreated.to_conditions(course_name="Algebra")]).messages == [
        log[0],
        log[6],
    ]


def test_by_type(log):
    assert store.read(type=UserJoinedCourse).messages == log[2:5]
    assert store.read(type="user.joined_course").messages == log[2:5]
    assert store.read(type=[CourseCreated, "term.started"]).messages == [log[0], log[6]]
    assert store.read(type=JoinCourse).messages == []


def test_everything(log):
    result = store.read()
    assert result.messages == log
    assert result.position == store.head() == log[-1].position
    assert result.guard is None


@pytest.mark.parametrize(
    "wanted", [{}, {"type": [*TYPES, TermStarted]}, {"conditions": conditions(course_name="Algebra")}]
)
def test_bounds_limits_and_directions(log, wanted):
    everything = store.read(**wanted).messages
    middle = everything[1].position
    assert store.read(**wanted, after=middle).messages == everything[2:]
    assert store.read(**wanted, upto=middle).messages == everything[:2]
    assert store.read(**wanted, limit=2).messages == everything[:2]
    assert store.read(**wanted, backwards=True).messages == everything[::-1]
    assert store.read(**wanted, backwards=True, limit=2).messages == everything[:-3:-1]
    assert store.read(**wanted, after=middle, limit=1, backwards=True).messages == everything[-1:]
    assert store.read(**wanted, limit=0).messages == []


def test_by_trace(log):
    command = JoinCourse(course_name="Algebra", user_id="ann")
    trace = store.append([command, command.correlate(UserJoinedCourse(course_name="Algebra", user_id="ann"))])
    assert store.read(correlation_id=command.id).messages == trace
    assert store.read(correlation_id=command.id, type=UserJoinedCourse).messages == trace[1:]
    assert store.read(correlation_id=uuid4()).messages == []


def test_a_cut_read_gives_no_guard(log):
    wanted = conditions(course_name="Algebra")
    assert store.read(wanted).guard
    assert store.read(wanted, backwards=True).guard
    assert store.read(wanted, limit=100).guard is None
    assert store.read(wanted, upto=100).guard is None


def test_values_that_no_message_has_guard_all_the_same():
    guard = store.read(CourseCreated.to_conditions(course_name="Never seen")).guard
    store.append(CourseCreated(course_name="Never seen"))
    with pytest.raises(AppendConflict) as conflict:
        store.append(TermStarted(), guard=guard)
    assert conflict.value.guard is guard
    assert conflict.value.types == ["course.created"]
    assert conflict.value.positions == [store.head()]
    assert "guard.moved_past" in str(conflict.value)


def test_a_partial_message_conflicts_with_a_composite_decision():
    guard = store.read(conditions(course_name="Algebra", user_id="joe")).guard
    store.append(UserJoinedCourse(course_name="Algebra", user_id="jake"))
    store.append(UserJoinedCourse(course_name="History", user_id="joe"))
    [stored] = store.append(UserJoinedCourse(course_name="Algebra", user_id="joe"), guard=guard)
    guard = guard.moved_past([stored])
    store.append(CourseClosed(course_name="History"), guard=guard)
    store.append(CourseClosed(course_name="Algebra"))
    with pytest.raises(AppendConflict):
        store.append(TermStarted(), guard=guard)


def test_a_whole_type_can_be_guarded():
    guard = store.read(type=TermStarted).guard
    store.append(CourseCreated(course_name="Algebra"), guard=guard)
    store.append(TermStarted())
    with pytest.raises(AppendConflict):
        store.append(TermStarted(), guard=guard)


def test_streaming_takes_a_page_at_a_time_and_ends(monkeypatch):
    monkeypatch.setattr("ccc_django.store.reading.PAGE", 3)
    stored = store.append([CourseCreated(course_name=str(n)) for n in range(8)])
    seen = []
    for message in store.stream():
        seen.append(message)
        store.append(CourseCreated(course_name="meanwhile"))
    assert seen == stored
    assert [*store.stream(after=stored[5].position, upto=stored[6].position)] == [stored[6]]
    assert len([*store.stream(type=CourseCreated)]) == 16
    assert [*store.stream(type=TermStarted)] == []


def test_reading_costs_two_statements_however_many_messages(log):
    with CaptureQueriesContext(connection) as few:
        store.read(type=TermStarted)
    store.append([TermStarted() for _ in range(300)])
    with CaptureQueriesContext(connection) as many:
        store.read(type=TermStarted)
    assert 2 <= len(many) == len(few) <= 4


NAMES = ["course_name", "user_id"]
VALUES = ["Algebra", "joe", "a|b", ":", "'\"", "🎓", "'; DROP TABLE ccc_messages; --", "s:x", "1"]


class Some(Event, type="random.some"):
    course_name: str | None = None
    user_id: str | int | None = None


class Other(Event, type="random.other"):
    course_name: str | None = None
    users: Annotated[list[str], Indexed(name="user_id")] = []


values = st.sampled_from(VALUES)
some = st.builds(Some, course_name=st.none() | values, user_id=st.none() | values | st.just(1))
other = st.builds(Other, course_name=st.none() | values, users=st.lists(values, max_size=3))
wanted = st.lists(
    st.builds(Condition, st.sampled_from([Some.type, Other.type]), st.sampled_from(NAMES), values | st.just(1)),
    min_size=1,
    max_size=5,
)


def belongs(message: Event, conditions: list[Condition]) -> bool:
    """The rule in ten lines: the model that everything else must agree with."""
    carried: dict[str, list[object]] = {"course_name": [message.course_name] if message.course_name is not None else []}
    if isinstance(message, Some):
        carried["user_id"] = [message.user_id] if message.user_id is not None else []
    else:
        carried["user_id"] = list(message.users)
    sets: dict[str, list[object]] = {}
    for condition in conditions:
        if condition.type == message.type:
            sets.setdefault(condition.name, []).append(condition.value)
    met = [any(value in sets[name] for value in carried[name]) for name in sets if carried[name]]
    return bool(met) and all(met)


def test_read_and_guard_agree_with_the_model():
    @given(st.lists(some | other, min_size=1, max_size=12), wanted, st.integers(0, 3))
    def agree(messages, conditions, before):
        for table in (StoredMessage, MessageKeyPair, KeyPair, Shape):
            table.objects.all().delete()
        seen = store.append(messages[:before])
        result = store.read(conditions)
        assert result.messages == [message for message in seen if belongs(message, conditions)]
        later = store.append(messages[before:])
        expected = [message for message in [*seen, *later] if belongs(message, conditions)]
        assert store.read(conditions).messages == expected
        assert store.read(conditions, backwards=True, limit=2).messages == expected[::-1][:2]
        conflicts = [message for message in later if belongs(message, conditions)]
        try:
            store.append(TermStarted(), guard=result.guard)
        except AppendConflict as conflict:
            assert conflict.positions == [message.position for message in conflicts]
        else:
            assert not conflicts

    agree()


def test_conditions_that_came_to_nothing_are_refused():
    """A name that is spelled wrong would read everything, and guard nothing."""
    with pytest.raises(EmptyGuard, match="found by none of the given attributes"):
        store.read(UserJoinedCourse.to_conditions(course="Algebra"))
