"""Given, when, then: decisions and projections without a database, as a worker would make them."""

import re
from datetime import date, timedelta
from typing import Annotated

import pytest

from ccc_django import (
    Command,
    CommandRejected,
    Decider,
    Event,
    Projector,
    RunAfterCommit,
    RunInTransaction,
    Schedule,
    Sensitive,
    consumer,
    decides,
    evolves,
    reacts,
)
from ccc_django.errors import UnknownConsumer, Unstorable
from ccc_django.testing import given, unfinished
from tests.consuming import (
    LATER,
    AlreadyIn,
    CourseFull,
    Greet,
    Remind,
    Roster,
    Seats,
    SeatsOffered,
    SeatTaken,
    TakeSeat,
    take,
)
from tests.domain import CourseClosed, CourseCreated, TermStarted, UserJoinedCourse

pytestmark = pytest.mark.usefixtures("seating")

OFFERED = SeatsOffered(course_name="Algebra", seats=2)


def taken(user: str, course: str = "Algebra") -> SeatTaken:
    return SeatTaken(course_name=course, user_id=user)


def fails(text: str):
    """An AssertionError that says exactly this."""
    return pytest.raises(AssertionError, match=f"^{re.escape(text)}$")


def test_what_follows_is_as_expected():
    given(OFFERED).when(take("joe")).then(taken("joe"))


def test_ids_times_and_traces_do_not_count():
    expected = SeatTaken(course_name="Algebra", user_id="joe", created_at=LATER, metadata={"by": "hand"})
    given(OFFERED).when(take("joe")).then(expected)


def test_another_payload_fails_and_shows_both():
    with fails(
        "What follows is not what was expected:\n"
        "- was expected, + is there\n"
        "- SeatTaken(course_name='Algebra', user_id='ann')\n"
        "?                                           ^^^\n"
        "+ SeatTaken(course_name='Algebra', user_id='joe')\n"
        "?                                           ^^^"
    ):
        given(OFFERED).when(take("joe")).then(taken("ann"))


def test_the_order_counts():
    scenario = given(OFFERED).when(take("joe"), take("ann"))
    with fails(
        "What follows is not what was expected:\n"
        "- was expected, + is there\n"
        "+ SeatTaken(course_name='Algebra', user_id='joe')\n"
        "  SeatTaken(course_name='Algebra', user_id='ann')\n"
        "- SeatTaken(course_name='Algebra', user_id='joe')"
    ):
        scenario.then(taken("ann"), taken("joe"))


@pytest.mark.parametrize("expected", [[taken("joe")], [taken("joe"), taken("ann"), taken("ann")]])
def test_nothing_may_be_missing_or_too_much(expected):
    """A comparison of pairs would stop at the shorter list."""
    with pytest.raises(AssertionError, match=r"\n[+-] SeatTaken\(course_name='Algebra', user_id='ann'\)"):
        given(OFFERED).when(take("joe"), take("ann")).then(*expected)


def test_a_class_stands_for_any_payload_and_for_no_other_type():
    given(OFFERED).when(take("joe")).then(SeatTaken)
    with fails(
        "What follows is not what was expected:\n"
        "- was expected, + is there\n"
        "- Greet(…)\n"
        "+ SeatTaken(course_name='Algebra', user_id='joe')"
    ):
        given(OFFERED).when(take("joe")).then(Greet)


def test_equal_payloads_of_two_types_are_two():
    with pytest.raises(AssertionError, match="UserJoinedCourse"):
        given(OFFERED).when(take("joe")).then(UserJoinedCourse(course_name="Algebra", user_id="joe"))


def test_a_rejection_is_no_silent_nothing():
    scenario = given().when(take("joe"))
    with pytest.raises(AssertionError, match=r"\+ CommandRejected\(.*error='CourseFull', reason='0 seats are taken'"):
        scenario.then_nothing()
    scenario.then(CommandRejected)


def test_then_without_anything_is_refused():
    with pytest.raises(TypeError, match=re.escape("say then_nothing()")):
        given(OFFERED).when(take("joe")).then()


def test_an_error_of_the_code_is_raised_as_it_is():
    class Broken(Decider, group="broken", partition_by=["course_name"]):
        @decides(CourseClosed)
        def close(self, state, command):
            raise ZeroDivisionError("by hand")

    scenario = given(consumer=Broken).when(CourseClosed(course_name="Algebra"))
    for look in (lambda: scenario.then(SeatTaken), scenario.then_nothing, lambda: scenario.then_state(None)):
        with pytest.raises(ZeroDivisionError, match="by hand") as caught:
            look()
        assert caught.traceback[-1].name == "close", "it is seen where it happened"
    scenario.then_raises(ZeroDivisionError)


def test_an_error_of_a_projector_is_raised_as_it_is_too():
    class Broken(Projector, group="broken", partition_by=["course_name"]):
        @evolves(CourseClosed)
        def closed(self, state, event):
            raise ZeroDivisionError("by hand")

    closed = CourseClosed(course_name="Algebra")
    with pytest.raises(ZeroDivisionError, match="by hand"):
        given(consumer=Broken).when(closed).then_state(None)
    given(consumer=Broken).when(closed).then_raises(ZeroDivisionError)


def test_nothing_follows():
    given(consumer=quiet()).when(CourseClosed(course_name="Algebra")).then_nothing()


def test_something_that_follows_fails():
    with fails(
        "What follows is not what was expected:\n"
        "- was expected, + is there\n"
        "+ SeatTaken(course_name='Algebra', user_id='joe')"
    ):
        given(OFFERED).when(take("joe")).then_nothing()


def test_an_action_that_is_no_message_is_something():
    with pytest.raises(AssertionError, match=r"\+ RunAfterCommit\(.*noop\)"):
        given(consumer=acting()).when(CourseClosed(course_name="Algebra")).then_nothing()


def test_a_command_is_rejected():
    given(OFFERED, taken("joe")).when(take("joe")).then_raises(AlreadyIn)


def test_the_text_is_looked_at():
    scenario = given(OFFERED, taken("joe")).when(take("joe"))
    scenario.then_raises(AlreadyIn, match="^joe has")
    with fails("AlreadyIn does not match '^ann has': it says 'joe has a seat'."):
        scenario.then_raises(AlreadyIn, match="^ann has")


def test_nothing_raised_fails_and_shows_what_followed():
    with fails("CourseFull was expected once, and this came instead:\nSeatTaken(course_name='Algebra', user_id='joe')"):
        given(OFFERED).when(take("joe")).then_raises(CourseFull)
    with fails("CourseFull was expected once, and this came instead:\nnothing"):
        given(consumer=quiet()).when(CourseClosed(course_name="Algebra")).then_raises(CourseFull)


def test_another_rejection_fails_and_is_the_cause():
    with fails("CourseFull was expected once, and this came instead:\nAlreadyIn: joe has a seat") as caught:
        given(OFFERED, taken("joe")).when(take("joe")).then_raises(CourseFull)
    assert isinstance(caught.value.__cause__, AlreadyIn)


def test_two_rejections_are_not_one():
    with fails(
        "AlreadyIn was expected once, and this came instead:\nAlreadyIn: joe has a seat\nCourseFull: 2 seats are taken"
    ):
        given(OFFERED, taken("joe"), taken("bob")).when(take("joe"), take("ann")).then_raises(AlreadyIn)


def test_the_state_is_what_the_next_message_finds():
    given(OFFERED).when(take("joe"), take("ann")).then_state(Seats(2, ["joe", "ann"]))


def test_another_state_fails_and_shows_both():
    with fails(
        "The state is not what was expected:\n"
        "- was expected, + is there\n"
        "- Seats(seats=2, taken=['joe', 'ann'])\n"
        "?                            -------\n"
        "+ Seats(seats=2, taken=['joe'])"
    ):
        given(OFFERED).when(take("joe")).then_state(Seats(2, ["joe", "ann"]))


def test_one_is_not_true():
    class Count(Projector, group="count", partition_by=["course_name"]):
        @evolves(SeatTaken)
        def taken(self, state, event):
            return (state or 0) + 1

    given(consumer=Count).when(taken("joe")).then_state(1)
    with pytest.raises(AssertionError, match=r"\n- True\n\+ 1$"):
        given(consumer=Count).when(taken("joe")).then_state(True)


def test_each_command_finds_what_the_last_one_left():
    (
        given(SeatsOffered(course_name="Algebra", seats=1))
        .when(take("joe"), take("ann"))
        .then(taken("joe"), CommandRejected)
        .then_raises(CourseFull, match="^1 seats")
        .then_state(Seats(1, ["joe"]))
    )


def test_what_belongs_to_another_partition_does_not_count():
    (
        given(OFFERED, SeatsOffered(course_name="Logic", seats=9), taken("joe", "Logic"))
        .when(take("joe"))
        .then(taken("joe"))
        .then_state(Seats(2, ["joe"]))
    )


def test_what_is_not_evolved_does_not_count():
    given(OFFERED, CourseClosed(course_name="Algebra"), take("ann")).when(take("joe")).then_state(Seats(2, ["joe"]))


def test_some_attributes_are_enough_to_belong_to_a_composite_partition():
    class Seen(Decider, group="seen", partition_by=["course_name", "user_id"]):
        def initial(self):
            return []

        @evolves(CourseCreated, CourseClosed, UserJoinedCourse)
        def seen(self, state, event):
            return [*state, event.type]

        @decides(TakeSeat)
        def take(self, state, command):
            yield Greet(user_id=f"{self.partition}: {','.join(state)}")

    here = [CourseCreated(course_name="Algebra"), UserJoinedCourse(course_name="Algebra", user_id="joe")]
    elsewhere = [CourseClosed(course_name="Logic"), UserJoinedCourse(course_name="Algebra", user_id="ann")]
    told = "{'course_name': 'Algebra', 'user_id': 'joe'}: course.created,user.joined_course"
    given(*elsewhere, *here, consumer=Seen).when(take("joe")).then(Greet(user_id=told))


def test_a_reaction_finds_the_state_just_after_its_event(seating):
    scenario = given(OFFERED, consumer=seating).when(taken("joe"), taken("ann"))
    joe, ann = [(Greet(user_id=user), Schedule(Remind(user_id=user), at=LATER)) for user in ("joe", "ann")]
    scenario.then(*joe, *ann)


def test_what_was_decided_is_reacted_to_when_it_comes_itself():
    given(OFFERED).when(take("joe")).then(taken("joe"))


def test_a_schedule_is_compared_with_its_time(seating):
    scenario = given(OFFERED, consumer=seating).when(taken("joe"))
    with pytest.raises(AssertionError, match=r"at=2030-01-01 00:00:00\+00:00"):
        scenario.then(Greet, Schedule(Remind(user_id="joe"), at=LATER + timedelta(seconds=1)))
    with pytest.raises(AssertionError, match=r"\n[+] Schedule\(Remind"):
        scenario.then(Greet)


def test_functions_are_named_by_their_kind_or_compared():
    scenario = given(consumer=acting()).when(CourseClosed(course_name="Algebra"))
    scenario.then(RunAfterCommit, RunInTransaction(noop))
    with pytest.raises(AssertionError, match=r"\n- RunInTransaction\(print\)"):
        scenario.then(RunAfterCommit, RunInTransaction(print))


def test_what_follows_names_its_cause():
    command = take("joe")
    scenario = given(OFFERED).when(command).then(SeatTaken)
    [event] = scenario._played.follows
    assert (event.causation_id, event.correlation_id) == (command.id, command.correlation_id)


def test_values_of_the_partition_are_as_messages_declare_them():
    class Book(Command, type="scenarios.book"):
        day: date

    class Booking(Decider, group="booking", partition_by=["day"]):
        @decides(Book)
        def book(self, state, command):
            assert isinstance(self.partition["day"], date)

    given().when(Book(day=date(2030, 1, 1))).then_nothing()


def test_a_scenario_needs_no_database():
    """This test has no mark for one: pytest-django would refuse."""
    given(OFFERED).when(take("joe")).then(SeatTaken)


def test_the_state_is_built_from_both():
    roster = type("CourseRoster", (Roster,), {}, group="roster", partition_by=["course_name"])
    scenario = given(taken("joe"), taken("bob", "Logic"), consumer=roster).when(taken("ann"))
    scenario.then_state(["joe", "ann"]).then_nothing()
    with pytest.raises(AssertionError, match=r"\n- \['joe'\]\n"):
        scenario.then_state(["joe"])


@pytest.mark.parametrize("event_sourced", [False, True])
def test_reactions_follow_what_comes_now_and_not_what_was_before(event_sourced):
    class Greeter(Projector, group="greeter", partition_by=["course_name"], event_sourced=event_sourced):
        state_type = list

        @evolves(SeatTaken)
        def taken(self, state, event):
            state.append(event.user_id)

        @reacts(SeatTaken)
        def greet(self, state, event):
            yield Greet(user_id="+".join(state))

    scenario = given(taken("joe"), consumer=Greeter).when(taken("ann"), taken("bob"))
    scenario.then(Greet(user_id="joe+ann"), Greet(user_id="joe+ann+bob")).then_state(["joe", "ann", "bob"])


def test_a_state_that_could_not_be_stored_fails():
    """A state that lives in memory alone would pass, and fail in production."""

    class Odd(Projector, group="odd", partition_by=["course_name"]):
        @evolves(SeatTaken)
        def taken(self, state, event):
            return (event.user_id,)

    with pytest.raises(Unstorable, match="would not come back as it was"):
        given(consumer=Odd).when(taken("joe")).then_state(("joe",))


def test_tables_of_its_own_are_left_alone():
    class Own(Projector, group="own", partition_by=["course_name"]):
        @evolves(SeatTaken)
        def taken(self, state, event):
            return {*(state or ()), event.user_id}

        def load(self):
            raise AssertionError("a scenario loads nothing")

        def save(self, state):
            raise AssertionError("a scenario saves nothing")

        @classmethod
        def clear(cls):
            raise AssertionError("a scenario clears nothing")

    given(taken("joe"), consumer=Own).when(taken("ann")).then_state({"joe", "ann"})


def test_one_that_takes_everything_has_one_partition():
    class All(Projector, group="all", partition_by=[]):
        @evolves(TermStarted, SeatTaken)
        def seen(self, state, event):
            return [*(state or []), event.type]

    given(taken("joe"), consumer=All).when(TermStarted()).then_state(["seat.taken", "term.started"])


def test_a_command_that_nobody_or_several_decide_on_needs_a_name():
    with pytest.raises(UnknownConsumer, match=re.escape("nobody decides on 'greet': name the consumer")):
        given().when(Greet(user_id="joe"))

    class Second(Decider, group="second", partition_by=["course_name"]):
        @decides(TakeSeat)
        def take(self, state, command):
            yield Greet(user_id="second")

    with pytest.raises(UnknownConsumer, match=r"CourseSeating, Second decides on 'seat.take'"):
        given().when(take("joe"))
    given(consumer=Second).when(take("joe")).then(Greet(user_id="second"))


def test_a_message_that_no_worker_would_get_is_refused():
    with pytest.raises(ValueError, match=r"CourseSeating does not handle 'course.closed'"):
        given(OFFERED).when(take("joe"), CourseClosed(course_name="Algebra"))


def test_messages_of_two_partitions_are_two_scenarios():
    with pytest.raises(ValueError, match=r"one partition of CourseSeating, these name .*Algebra.*Logic"):
        given(OFFERED).when(take("joe"), TakeSeat(course_name="Logic", user_id="joe"))


def test_a_partition_can_be_named_where_messages_do_not():
    class Pairs(Projector, group="pairs", partition_by=["course_name", "user_id"]):
        @evolves(CourseClosed)
        def closed(self, state, event):
            return dict(self.partition)

    closed = CourseClosed(course_name="Algebra")
    joe = {"course_name": "Algebra", "user_id": "joe"}
    given(taken("joe"), consumer=Pairs).when(closed).then_state(joe)
    given(taken("joe"), taken("ann"), consumer=Pairs, partition=joe).when(closed).then_state(joe)
    with pytest.raises(ValueError, match=r"these name none: say partition="):
        given(consumer=Pairs).when(closed)
    with pytest.raises(ValueError, match="has partitions by course_name, user_id: give their values"):
        given(consumer=Pairs, partition={"user_id": "joe"}).when(closed)
    with pytest.raises(ValueError, match="does not belong to"):
        given(consumer=Pairs, partition=joe | {"course_name": "Logic"}).when(closed)


def test_functions_and_classes_without_a_group_are_refused():
    @consumer(group="function", partition_by=["user_id"], handles=[Greet])
    def function(message):
        """Something that writes."""

    for wrong in (function, Roster):
        with pytest.raises(TypeError, match="no decider or projector with a group"):
            given(consumer=wrong).when(Greet(user_id="joe"))


@pytest.mark.parametrize("wrong", [SeatTaken, "seat.taken", None])
def test_only_messages_happen(wrong):
    with pytest.raises(TypeError, match="A scenario is made of messages"):
        given(wrong)
    base = given(OFFERED)
    with pytest.raises(TypeError, match="A scenario is made of messages"):
        base.when(wrong)
    with pytest.raises(TypeError, match="one message at least"):
        base.when()


@pytest.mark.parametrize("begin", [lambda: given(OFFERED), lambda: given(OFFERED).when(take("joe"))])
def test_a_scenario_without_then_is_refused(begin):
    begin()
    with pytest.raises(AssertionError, match=r"^This test has checked nothing by:\ngiven\(SeatsOffered\("):
        unfinished.refuse()
    unfinished.refuse()  # and is forgotten


def test_every_then_ends_it():
    scenario = given(OFFERED).when(take("joe"))
    scenario.then_state(Seats(2, ["joe"]))
    unfinished.refuse()


def test_each_branch_of_a_scenario_has_its_own_end():
    base = given(OFFERED)
    base.when(take("joe")).then(SeatTaken)
    base.when(take("ann"))
    with pytest.raises(AssertionError, match="user_id='ann'"):
        unfinished.refuse()


def test_a_difference_that_is_not_shown_is_told():
    class Paid(Event, type="scenarios.paid"):
        course_name: str
        card: Annotated[str, Sensitive]

    class Paying(Decider, group="paying", partition_by=["course_name"]):
        @decides(TakeSeat)
        def pay(self, state, command):
            yield Paid(course_name=command.course_name, card="1234")

    scenario = given(consumer=Paying).when(take("joe"))
    scenario.then(Paid(course_name="Algebra", card="1234"))
    with pytest.raises(AssertionError, match="sensitive values are not shown, and these differ") as caught:
        scenario.then(Paid(course_name="Algebra", card="9999"))
    assert "1234" not in str(caught.value)
    assert "9999" not in str(caught.value)


def noop() -> None:
    """Something to run."""


def quiet():
    class Quiet(Decider, group="quiet", partition_by=["course_name"]):
        @decides(CourseClosed)
        def close(self, state, command):
            return None

    return Quiet


def acting():
    class Acting(Decider, group="acting", partition_by=["course_name"]):
        @decides(CourseClosed)
        def close(self, state, command):
            yield RunAfterCommit(noop)
            yield RunInTransaction(noop)

    return Acting
