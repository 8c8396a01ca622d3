"""Follow: the log as it grows, in order, each message once, and never past the head."""

import threading
from itertools import islice
from uuid import uuid4

import pytest
from django.db import connections, transaction

from ccc_django import notifications, store
from ccc_django.conditions import Condition
from ccc_django.errors import NotIndexed
from ccc_django.expressions import where
from ccc_django.store import following
from tests.concurrency.processes import fork, in_background
from tests.domain import CourseCreated, JoinCourse, TermStarted, UserJoinedCourse

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def announced_at_once(monkeypatch):
    """Another test may have looked for listeners a moment ago, and found none."""
    monkeypatch.setattr(notifications, "_announced", {})
    monkeypatch.setattr(notifications, "LOOK_AGAIN", 0)


@pytest.fixture
def log():
    command = JoinCourse(course_name="Algebra", user_id="joe")
    return store.append(
        [
            TermStarted(),
            CourseCreated(course_name="Algebra", topic="courses"),
            command,
            command.correlate(UserJoinedCourse(course_name="Algebra", user_id="joe", topic="courses")),
            UserJoinedCourse(course_name="History", user_id="joe"),
        ]
    )


def test_everything_up_to_the_head_in_order(log):
    assert list(store.follow()) == log
    assert list(store.follow(after=log[2].position)) == log[3:]
    assert list(store.follow(limit=2)) == log[:2]
    assert list(store.follow(limit=0)) == []


def test_the_last_few(log):
    assert list(store.follow(last=2)) == log[3:]
    assert list(store.follow(last=100)) == log
    assert list(store.follow(last=0)) == []
    assert list(store.follow(last=1, type=CourseCreated)) == [log[1]]
    assert list(store.follow(last=1, topic="courses", where=where(course_name="Algebra"))) == [log[3]]
    with pytest.raises(ValueError, match="last=3"):
        store.follow(last=3, after=2)


def test_what_is_given_must_all_be_met(log):
    assert list(store.follow(type=[CourseCreated, "term.started"])) == log[:2]
    assert list(store.follow(topic="courses")) == [log[1], log[3]]
    assert list(store.follow(topic="")) == [log[0], log[2], log[4]]
    assert list(store.follow(correlation_id=log[2].correlation_id)) == log[2:4]
    assert list(store.follow(where=where(user_id="joe"))) == log[2:]
    assert list(store.follow(where=where(user_id="joe"), type=UserJoinedCourse)) == log[3:]
    assert list(store.follow(where=where(user_id="joe"), topic="courses")) == [log[3]]
    assert list(store.follow(where=where(user_id="joe"), correlation_id=log[2].id)) == log[2:4]
    assert list(store.follow(type=TermStarted, topic="courses")) == []
    assert list(store.follow(correlation_id=uuid4())) == []


def test_a_filter_without_an_index_says_what_to_declare(log):
    with pytest.raises(NotIndexed, match=r"indexes\.declare"):
        list(store.follow(where=where(weather="fine")))


def test_conditions_go_alone(log):
    conditional = where.conditions([Condition("course.created", "course_name", "Algebra")])
    assert list(store.follow(where=conditional)) == [log[1]]
    with pytest.raises(TypeError, match=r"combined by \|"):
        store.follow(where=conditional, type=CourseCreated)


@pytest.mark.parametrize("filters", [{}, {"where": where(course_name="Algebra")}, {"topic": ""}])
def test_pages_neither_repeat_nor_skip(monkeypatch, filters):
    monkeypatch.setattr(following, "PAGE", 3)
    stored = store.append([CourseCreated(course_name="Algebra") for _ in range(10)])
    assert list(store.follow(**filters)) == stored
    assert list(store.follow(last=7, **filters)) == stored[3:]


def test_it_survives_gaps(log):
    with transaction.atomic():
        store.append([TermStarted() for _ in range(5)])
        transaction.set_rollback(True)
    more = store.append(TermStarted())
    assert list(store.follow()) == [*log, *more]


def test_it_ends_where_the_head_was_when_it_looked(log):
    found = store.follow()
    first = next(found)
    late = store.append(TermStarted())
    assert [first, *found] == log
    assert list(store.follow(after=log[-1].position)) == late


def appended_elsewhere(*messages) -> None:
    thread = threading.Thread(target=lambda: (store.append(messages), connections.close_all()))
    thread.start()
    thread.join()


def test_a_follower_gets_what_comes(log):
    found = store.follow(after=log[-1].position, forever=True)
    for name in ("Physics", "Music", "Art"):
        appended_elsewhere(CourseCreated(course_name=name), TermStarted())
        assert next(found).course_name == name
        assert next(found).type == "term.started"


def test_a_follower_with_a_filter_gets_what_comes(log):
    found = store.follow(after=log[-1].position, where=where(course_name="Art"), forever=True)
    for _ in range(2):
        appended_elsewhere(CourseCreated(course_name="Physics"), CourseCreated(course_name="Art"))
        assert next(found).course_name == "Art"


def test_without_calls_a_follower_looks_by_itself(log, settings):
    settings.CCC_LISTEN = settings.CCC_NOTIFY = False
    found = store.follow(last=1, forever=True)
    assert next(found) == log[-1]
    appended_elsewhere(TermStarted())
    assert next(found).type == "term.started"


def test_a_follower_stops_when_it_is_told(log):
    asked = iter([False, True])
    assert list(store.follow(forever=True, stop=lambda: next(asked))) == log


def test_a_follower_ends_after_a_number_of_messages(log):
    assert list(store.follow(last=2, limit=1, forever=True)) == log[3:4]


def append_and_hold(pipe, *, keep: bool) -> None:
    """Append, and commit or roll back when somebody says so."""
    with transaction.atomic():
        store.append(CourseCreated(course_name="slow"))
        pipe.send(True)
        pipe.recv()
        transaction.set_rollback(not keep)
    pipe.send(True)


def said(pipe) -> None:
    """Wait for the other side's word, and take it."""
    assert pipe.poll(20)
    pipe.recv()


def held(pipe) -> None:
    append_and_hold(pipe, keep=True)


def dropped(pipe) -> None:
    append_and_hold(pipe, keep=False)


@pytest.mark.postgres
@pytest.mark.parametrize("forever", [True, False])
def test_an_open_append_holds_the_follower_back_and_is_not_skipped(forever):
    """Stepped, with two real connections: the message with the lower position is committed last."""
    here, there = fork.Pipe()
    with in_background(held, there):
        said(here)
        [behind] = store.append(TermStarted())
        looks = iter([False, True])
        assert list(store.follow(forever=forever, stop=lambda: next(looks))) == [], "nothing is final yet"
        found = store.follow(forever=forever) if forever else None
        here.send(True)
        said(here)
        late, last = islice(found or store.follow(), 2)
    assert (late.course_name, last) == ("slow", behind)
    assert late.position < behind.position


@pytest.mark.postgres
def test_an_append_that_is_rolled_back_lets_the_follower_go_on():
    here, there = fork.Pipe()
    with in_background(dropped, there):
        said(here)
        [behind] = store.append(TermStarted())
        looks = iter([False, False, True])
        assert list(store.follow(forever=True, stop=lambda: next(looks))) == []
        here.send(True)
        assert next(store.follow(forever=True)) == behind


@pytest.mark.postgres
def test_a_filter_is_held_back_too():
    here, there = fork.Pipe()
    with in_background(held, there):
        said(here)
        store.append(CourseCreated(course_name="slow"))
        assert list(store.follow(where=where(course_name="slow"))) == []
        here.send(True)
        said(here)
        assert len(list(store.follow(where=where(course_name="slow")))) == 2


def write(name: str, number: int) -> None:
    for count in range(number):
        with transaction.atomic():
            store.append([CourseCreated(course_name=name), TermStarted()])
            transaction.set_rollback(count % 5 == 4)


def test_racing_writers_are_followed_without_loss_or_repetition():
    found = store.follow(type=CourseCreated, forever=True)
    with in_background(write, "a", 50), in_background(write, "b", 50), in_background(write, "c", 50):
        seen = list(islice(found, 3 * 40))
    assert [message.position for message in seen] == sorted({message.position for message in seen})
    assert [message.position for message in store.stream(type=CourseCreated)] == [each.position for each in seen]
