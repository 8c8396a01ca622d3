"""Handle at once in a partition: one for each command, made when it is new, with all that concerns it."""

from datetime import timedelta
from typing import Annotated

import pytest

from ccc_django import (
    Command,
    Decider,
    Event,
    Indexed,
    consumers,
    decides,
    evolves,
    groups,
    reacts,
    store,
)
from ccc_django.consumers.declaring import declare
from ccc_django.errors import (
    UnknownConsumer,
)
from tests.consuming import (
    AlreadyIn,
    CourseFull,
    Greet,
    Seating,
    SeatsOffered,
    SeatTaken,
    TakeSeat,
    drain,
    take,
    users,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_consumers")]

AT_ONCE = timedelta(0)


def test_a_command_needs_one_decider():
    with pytest.raises(UnknownConsumer, match="nobody decides on it"):
        consumers.handle(take("joe"))
    for name in ("one", "two"):
        type(name.title(), (Seating,), {}, group=name, partition_by=["course_name"])
    with pytest.raises(UnknownConsumer, match="One, Two decides on it"):
        consumers.handle(take("joe"))
    assert list(store.stream()) == []


def test_a_command_of_several_partitions_or_of_none_is_refused():
    class TakeSeats(Command, type="handle.take_seats"):
        course_name: Annotated[list[str], Indexed]
        user_id: str | None = None

    class Several(Decider, group="several", partition_by=["course_name", "user_id"]):
        @decides(TakeSeats)
        def take(self, state, command):
            pass

    both, one, nobody = ["Algebra", "Logic"], ["Algebra"], None
    for command in (TakeSeats(course_name=both, user_id="joe"), TakeSeats(course_name=one, user_id=nobody)):
        with pytest.raises(ValueError, match="belongs to no single partition"):
            consumers.handle(command)
    assert list(store.stream()) == []
    assert consumers.handle(TakeSeats(course_name=one, user_id="joe")) == []


def test_a_decider_without_attributes_has_the_whole_log():
    class Everywhere(Seating, group="seating", partition_by=[]):
        pass

    store.append([SeatsOffered(course_name="Logic", seats=1), take("ann")])
    with pytest.raises(CourseFull):
        consumers.handle(take("joe"))
    assert users() == ["ann"]


class CourseNoted(Event, type="handle.course_noted"):
    course_name: str


class UserNoted(Event, type="handle.user_noted"):
    user_id: str


@pytest.fixture
def pairwise():
    class Pairwise(Decider, group="seating", partition_by=["user_id", "course_name"]):
        """Who may take which seat, by what is known of both."""

        def initial(self):
            return []

        @evolves(CourseNoted, UserNoted, SeatTaken)
        def noted(self, state, event):
            return [*state, event.type]

        @decides(TakeSeat)
        def take(self, state, command):
            if SeatTaken.type in state:
                raise AlreadyIn(",".join(state))
            yield SeatTaken(course_name=command.course_name, user_id=command.user_id)

        @reacts(CourseNoted, UserNoted)
        def follow_up(self, state, event):
            yield Greet(user_id=f"{self.partition['user_id']} of {event.type}")

    return Pairwise


@pytest.mark.parametrize("is_advanced", [False, True])
def test_a_partition_never_seen_before_gets_what_concerns_it_in_part(pairwise, is_advanced):
    declare(pairwise)
    others = UserNoted(user_id="ann"), CourseNoted(course_name="Logic")
    store.append([CourseNoted(course_name="Algebra"), *others, UserNoted(user_id="joe")])
    if is_advanced:
        groups.advance("seating")
    consumers.handle(take("joe"))
    assert users(Greet) == ["joe of handle.course_noted", "joe of handle.user_noted"]
    with pytest.raises(AlreadyIn, match=r"^handle.course_noted,handle.user_noted,seat.taken$"):
        consumers.handle(take("joe"))
    drain(pairwise)
    assert len(users(Greet)) == 2
    store.append(CourseNoted(course_name="Algebra"))
    drain(pairwise)
    assert len(users(Greet)) == 3, "and what comes later"
    assert groups.status("seating").lag == 0


def test_partial_events_break_decisions_of_their_partitions_alone(pairwise, monkeypatch):
    decide, seen = pairwise.handlers["decides"]["seat.take"], []

    def slow(self, state, command):
        seen.append(len(state))
        if len(seen) == 1:
            store.append([UserNoted(user_id="ann"), CourseNoted(course_name="Logic")])
        if len(seen) == 2:
            store.append(CourseNoted(course_name="Algebra"))
        return decide(self, state, command)

    monkeypatch.setitem(pairwise.handlers["decides"], "seat.take", slow)
    consumers.handle(take("sue"))
    assert seen == [0], "others are not its business"
    consumers.handle(take("joe"))
    assert seen == [0, 0, 1]
