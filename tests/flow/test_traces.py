"""Traces: what has followed from a message, who made it, and what groups have done with it."""

from datetime import UTC, datetime, timedelta
from typing import Annotated
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ccc_django import Event, Indexed, consumer, dead_letters, groups, indexes, store
from ccc_django.consumers.declaring import declare
from ccc_django.errors import MessageNotFound
from ccc_django.instrumentation import handled as handling
from ccc_django.instrumentation.handled import Handled, handled
from ccc_django.instrumentation.traces import trace
from ccc_django.models import DeadLetter, StoredMessage
from ccc_django.retry import Retry
from tests.consuming import LATER, Roster, drain, take
from tests.domain import CourseClosed, CourseCreated, JoinCourse, TermStarted, UserJoinedCourse

pytestmark = pytest.mark.django_db(transaction=True)


def drawn(node) -> object:
    """A tree as nested lists of types."""
    return [node.message.type, *map(drawn, node.children)] if node.children else node.message.type


def every(node) -> list:
    return [node, *(each for child in node.children for each in every(child))]


def statuses(message) -> dict[str, str]:
    return {each.group: each.status for each in handled([message])[message.position]}


@pytest.fixture
def roster(no_consumers):
    return type("CourseRoster", (Roster,), {}, group="roster", partition_by=["course_name"])


@pytest.fixture
def seated(offered):
    """A command, and everything that follows from it."""
    declare(offered)
    [command] = store.append(take("joe"))
    drain(offered)
    return command


def test_a_command_with_its_events_reactions_and_what_waits(seated):
    found = trace(seated.id)
    assert drawn(found.root) == ["seat.take", ["seat.taken", "greet", "remind"]]
    assert (found.messages, found.left_out, found.correlation_id) == (4, 0, seated.id)
    [taken] = found.root.children
    greet, remind = taken.children
    assert (remind.due_at, remind.message.position) == (LATER, None)
    assert (greet.due_at, greet.after) == (None, greet.message.envelope.appended_at - seated.envelope.appended_at)
    assert [node.by for node in every(found.root)] == ["", "seating", "seating", "seating"]
    assert {node.cause for node in every(found.root)} == {"known"}


def test_the_whole_trace_whichever_of_its_messages_is_asked_for(seated):
    for node in every(trace(seated.id).root):
        found = trace(node.message.id)
        assert drawn(found.root) == ["seat.take", ["seat.taken", "greet", "remind"]]
        assert [each.message.id for each in every(found.root) if each.is_asked] == [node.message.id]


def test_a_message_is_named_by_id_beginning_or_position(seated):
    for what in (seated.id, str(seated.id), seated.id.hex.upper(), str(seated.id)[:-1], seated.position):
        assert trace(what).root.message == seated
    assert trace(str(seated.position)).root.message == seated


def test_what_means_no_message_or_several_is_refused(seated):
    for what in (uuid4(), 999_999_999, "999999999999999999999999", "0000-0000"):
        with pytest.raises(MessageNotFound, match="There is no message"):
            trace(what)
    with pytest.raises(MessageNotFound, match="Give more of it"):
        trace(seated.id.hex[:2])
    with pytest.raises(MessageNotFound, match="neither an id"):
        trace("joe")
    with pytest.raises(ValueError, match="limit=0"):
        trace(seated.id, limit=0)


def test_a_beginning_that_is_a_position_too_is_the_position():
    [first] = store.append(TermStarted())
    begun = str(first.position)
    other = UUID(hex=begun.ljust(32, "a"))
    store.append(CourseCreated(course_name="Algebra", id=other))
    assert trace(begun).root.message == first
    assert trace(begun + "aa").root.message.id == other


def test_an_orphan_hangs_under_the_root_and_is_marked():
    root = JoinCourse(course_name="Algebra", user_id="joe")
    lost = UserJoinedCourse(course_name="Algebra", user_id="joe", correlation_id=root.id, causation_id=uuid4())
    alone = TermStarted(correlation_id=root.id)
    store.append([root, lost, lost.correlate(CourseClosed(course_name="Algebra")), alone])
    found = trace(alone.id).root
    assert drawn(found) == ["join_course", ["user.joined_course", "course.closed"], "term.started"]
    assert [node.cause for node in every(found)] == ["known", "gone", "known", "none"]


def test_an_effect_that_stands_before_its_cause_hangs_under_it():
    root = JoinCourse(course_name="Algebra", user_id="joe")
    lost = UserJoinedCourse(course_name="Algebra", user_id="joe", correlation_id=root.id, causation_id=uuid4())
    store.append([lost.correlate(CourseClosed(course_name="Algebra")), lost, root])
    assert drawn(trace(root.id).root) == ["join_course", ["user.joined_course", "course.closed"]]


def test_without_the_message_that_names_it_the_first_one_is_the_root():
    correlation_id = uuid4()
    first, second = CourseCreated(course_name="a", correlation_id=correlation_id), TermStarted()
    store.append([first, first.correlate(second), TermStarted(correlation_id=correlation_id)])
    found = trace(second.id)
    assert drawn(found.root) == ["course.created", "term.started", "term.started"]
    assert [child.cause for child in found.root.children] == ["known", "none"]


def test_causes_that_run_in_circles_end():
    ids, root = [uuid4() for _ in range(3)], TermStarted()
    circle = [
        CourseCreated(course_name=str(n), id=id, correlation_id=root.id, causation_id=ids[n - 1])
        for n, id in enumerate(ids)
    ]
    store.append([root, *circle])
    found = trace(ids[1])
    assert drawn(found.root) == ["term.started", ["course.created", ["course.created", "course.created"]]]
    assert found.root.children[0].cause == "gone"


def test_a_circle_without_a_root_ends_too():
    ids = [uuid4(), uuid4()]
    store.append([TermStarted(id=ids[n], correlation_id=ids[0], causation_id=ids[1 - n]) for n in (0, 1)])
    assert drawn(trace(ids[1]).root) == ["term.started", "term.started"]


def chain(length: int) -> list:
    messages = [TermStarted()]
    while len(messages) < length:
        messages.append(messages[-1].correlate(TermStarted()))
    return store.append(messages)


def test_a_long_chain_is_no_problem():
    messages = chain(3_000)
    found = trace(messages[0].id, limit=3_000)
    node, depth = found.root, 1
    while node.children:
        [node], depth = node.children, depth + 1
    assert (depth, node.message) == (3_000, messages[-1])


def test_a_limit_leaves_out_the_later_ones_and_says_how_many():
    root = TermStarted()
    store.append([root, *(root.correlate(CourseCreated(course_name=str(n))) for n in range(20))])
    store.schedule(root.correlate(TermStarted()), at=LATER)
    found = trace(root.id, limit=5)
    assert [node.message.course_name for node in found.root.children] == ["0", "1", "2", "3"]
    assert (found.messages, found.left_out) == (5, 17)
    assert trace(root.id, limit=22).left_out == 0


def test_what_was_asked_for_is_there_with_its_causes_whatever_the_limit():
    root = TermStarted()
    one = root.correlate(UserJoinedCourse(course_name="a", user_id="joe"))
    asked = one.correlate(CourseClosed(course_name="a"))
    store.append([root, *(root.correlate(CourseCreated(course_name=str(n))) for n in range(20)), one, asked])
    found = trace(asked.id, limit=3)
    assert drawn(found.root) == ["term.started", *["course.created"] * 2, ["user.joined_course", "course.closed"]]
    assert (found.messages, found.left_out) == (5, 18)


def test_what_groups_have_done_is_judged_by_their_offsets(offered, roster):
    declare(offered)
    declare(roster)
    [command] = store.append(take("joe"))
    assert statuses(command) == {"seating": "open"}
    drain(offered)
    assert statuses(command) == {"seating": "done"}
    [taken] = trace(command.id).root.children
    assert {each.group: each.status for each in taken.handled} == {"roster": "open", "seating": "done"}
    drain(roster)
    assert statuses(taken.message) == {"roster": "done", "seating": "done"}


@pytest.fixture
def failing(no_consumers):
    """A group that fails for joe, and gives up after the second time."""

    @consumer(
        group="failing", partition_by=["course_name"], handles=[UserJoinedCourse],
        retry=Retry(max_attempts=2, first_pause=timedelta(0)),
    )  # fmt: skip
    def fail(message):
        if message.user_id == "joe":
            raise ValueError("joe is\nnot welcome")

    declare(fail)
    return fail


def test_a_failure_is_of_the_message_that_failed(failing):
    joined = store.append([UserJoinedCourse(course_name="Algebra", user_id=user) for user in ("ann", "joe", "bob")])
    drain(failing, most=2, limit=1)
    found = handled(joined)
    assert [found[message.position][0].status for message in joined] == ["done", "failed", "open"]
    assert found[joined[1].position][0].error == "ValueError: joe is not welcome"


def test_a_failure_is_known_however_coarse_the_partition_is(failing):
    """An offset may know only that its next message is somewhere behind the last."""
    joined = [
        message
        for user in ("ann", "joe", "bob")
        for message in store.append([UserJoinedCourse(course_name="Algebra", user_id=user), TermStarted()])
    ][::2]
    drain(failing, most=2, limit=1)
    assert statuses(joined[1]) == {"failing": "failed"}
    assert statuses(joined[2]) == {"failing": "open"}


def test_dead_letters_are_told_apart(failing):
    [joined] = store.append([UserJoinedCourse(course_name="Algebra", user_id="joe")])
    drain(failing)
    drain(failing)
    [letter] = DeadLetter.objects.all()
    assert handled([joined])[joined.position] == (
        Handled(group="failing", status="dead letter", error="ValueError: joe is not welcome"),
    )
    dead_letters.discard(letter, reason="no")
    assert statuses(joined) == {"failing": "discarded"}


def register(name: str, by: list[str], *types: type[Event], **options) -> None:
    groups.register(name, partition_by=by, handled_types=types, **options)


def done_by(name: str) -> None:
    while claim := groups.claim_next(name, worker="w-1"):
        groups.ack(claim)


def test_a_group_without_partitions_has_one():
    register("all", [], TermStarted)
    first, second = store.append([TermStarted(), TermStarted()])
    claim = groups.claim_next("all", worker="w-1")
    groups.ack(claim, position=first.position)
    assert (statuses(first), statuses(second)) == ({"all": "done"}, {"all": "open"})


def test_a_message_with_some_attributes_is_done_when_every_partition_that_shares_them_is():
    register("both", ["course_name", "user_id"], CourseClosed, UserJoinedCourse)
    [closed] = store.append(CourseClosed(course_name="Algebra"))
    assert statuses(closed) == {"both": "open"}, "nobody knows yet who gets it"
    for user in ("ann", "joe"):
        store.append(UserJoinedCourse(course_name="Algebra", user_id=user))
    [other] = store.append(CourseClosed(course_name="Algebra"))
    groups.ack(groups.claim_next("both", worker="w-1"))
    assert (statuses(closed), statuses(other)) == ({"both": "open"}, {"both": "open"})
    done_by("both")
    assert (statuses(closed), statuses(other)) == ({"both": "done"}, {"both": "done"})


def test_a_message_with_some_attributes_has_failed_if_one_partition_has_failed_with_it():
    register("both", ["course_name", "user_id"], CourseClosed)
    store.append([UserJoinedCourse(course_name="Algebra", user_id=user) for user in ("ann", "joe")])
    [closed] = store.append(CourseClosed(course_name="Algebra"))
    groups.ack(groups.claim_next("both", worker="w-1"))
    groups.release(groups.claim_next("both", worker="w-1"), error=ValueError("no"))
    assert handled([closed])[closed.position] == (Handled(group="both", status="failed", error="ValueError: no"),)


def test_groups_that_never_get_a_message_are_not_named():
    register("by user", ["user_id"], CourseCreated)
    register("other type", ["course_name"], CourseClosed)
    [created] = store.append(CourseCreated(course_name="Algebra"))
    assert statuses(created) == {}


def test_what_lies_before_where_a_group_began_was_skipped():
    [created] = store.append(CourseCreated(course_name="Algebra"))
    register("late", ["course_name"], CourseCreated)
    groups.seek("late", to="end")
    [after] = store.append(CourseCreated(course_name="History"))
    assert statuses(created) == {"late": "skipped"}
    done_by("late")
    assert (statuses(created), statuses(after)) == ({"late": "skipped"}, {"late": "done"})


class Invited(Event, type="traces.invited"):
    users: Annotated[list[str], Indexed(name="user_id")]


def test_a_message_of_several_partitions_is_done_when_all_are():
    register("guests", ["user_id"], Invited, most_partitions=2)
    [two] = store.append(Invited(users=["ann", "joe"]))
    groups.ack(groups.claim_next("guests", worker="w-1"))
    assert statuses(two) == {"guests": "open"}
    done_by("guests")
    assert statuses(two) == {"guests": "done"}
    [three] = store.append(Invited(users=["ann", "joe", "bob"]))
    done_by("guests")
    assert statuses(three) == {"guests": "dead letter"}


def test_a_type_that_is_new_to_a_group_is_open_until_it_has_caught_up():
    register("courses", ["course_name"], CourseClosed)
    store.append(CourseCreated(course_name="Algebra"))
    done_by("courses")
    [created] = store.append(CourseCreated(course_name="Algebra"))
    [closed] = store.append(CourseClosed(course_name="History"))
    done_by("courses")
    register("courses", ["course_name"], CourseClosed, CourseCreated)
    assert (statuses(created), statuses(closed)) == ({"courses": "open"}, {"courses": "done"})
    done_by("courses")
    assert statuses(created) == {"courses": "done"}


def test_while_a_group_catches_up_only_types_that_are_new_to_it_are_open():
    register("both", ["course_name", "user_id"], CourseCreated, UserJoinedCourse)
    store.append(UserJoinedCourse(course_name="Algebra", user_id="ann"))
    done_by("both")
    created, closed = store.append([CourseCreated(course_name="History"), CourseClosed(course_name="History")])
    store.append(UserJoinedCourse(course_name="Algebra", user_id="joe"))
    done_by("both")
    assert (statuses(created), statuses(closed)) == ({"both": "done"}, {}), "no partition has to get it"
    register("both", ["course_name", "user_id"], CourseClosed)
    assert (statuses(created), statuses(closed)) == ({"both": "done"}, {"both": "open"})
    done_by("both")
    assert (statuses(created), statuses(closed)) == ({"both": "done"}, {"both": "done"})


class Moved(Event, type="traces.moved"):
    address: dict[str, str]


def test_a_declared_index_makes_no_partitions_and_nobody_is_said_to_wait_for_it():
    indexes.declare("payload", ["address.city"])
    register("cities", ["address.city"], Moved)
    [moved] = store.append(Moved(address={"city": "Porto"}))
    assert groups.claim_next("cities", worker="w-1") is None
    assert statuses(moved) == {}


def test_many_messages_take_few_queries(monkeypatch):
    monkeypatch.setattr(handling, "PAGE", 10)
    register("courses", ["course_name"], CourseCreated)
    stored = store.append([CourseCreated(course_name=str(n)) for n in range(25)])
    done_by("courses")
    with CaptureQueriesContext(connection) as queries:
        found = handled(stored)
    assert {each.status for several in found.values() for each in several} == {"done"}
    assert len(found) == 25
    assert len(queries) <= 1 + 3 * 6


def test_times_are_since_the_root():
    [root] = store.append(TermStarted())
    [later] = store.append(root.correlate(TermStarted()))
    StoredMessage.objects.filter(position=root.position).update(appended_at=datetime(2026, 1, 1, tzinfo=UTC))
    StoredMessage.objects.filter(position=later.position).update(appended_at=datetime(2026, 1, 3, tzinfo=UTC))
    found = trace(later.id).root
    assert (found.after, found.children[0].after) == (timedelta(0), timedelta(days=2))
