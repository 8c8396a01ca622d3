"""Deciders: what is decided does not depend on how messages come in batches, nor on what other partitions get."""

import pytest

from ccc_django import Command, Decider, DomainError, Event, Projector, consumers, decides, evolves, groups, store
from ccc_django.consumers.declaring import declare
from ccc_django.consumers.evolving import History
from ccc_django.partitions import belongs
from tests.consuming import drain
from tests.domain import CourseClosed, TermStarted, UserJoinedCourse

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_consumers")]


class MoveUser(Command, type="deciders.move"):
    course_name: str
    user_id: str
    to: str


class UserMoved(Event, type="deciders.moved"):
    course_name: str
    user_id: str


class Closed(DomainError):
    pass


@pytest.fixture
def moving():
    class Moving(Decider, group="moving", partition_by=["course_name"]):
        """A user goes from one course to another, whose partition is not this one."""

        def initial(self):
            return []

        @evolves(UserMoved)
        def moved(self, state, event):
            return [*state, event.user_id]

        @decides(MoveUser)
        def move(self, state, command):
            if state:
                raise Closed(",".join(state))
            yield UserMoved(course_name=command.to, user_id=command.user_id)

    declare(Moving)
    return Moving


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_events_of_other_partitions_are_not_in_the_state_of_this_one(moving, limit):
    store.append([MoveUser(course_name="Algebra", user_id=user, to="Logic") for user in ("a", "b", "c")])
    drain(moving, limit=limit)
    assert [event.user_id for event in store.stream(type=UserMoved)] == ["a", "b", "c"]
    with pytest.raises(Closed, match=r"^a,b,c$"):
        consumers.handle(MoveUser(course_name="Logic", user_id="d", to="Algebra"))


@pytest.mark.parametrize(
    ("message", "partition", "expected"),
    [
        (CourseClosed(course_name="a"), {"course_name": "a"}, True),
        (CourseClosed(course_name="a"), {"course_name": "b"}, False),
        (CourseClosed(course_name="a"), {"course_name": "a", "user_id": "u"}, True),
        (UserJoinedCourse(course_name="a", user_id="v"), {"course_name": "a", "user_id": "u"}, False),
        (UserJoinedCourse(course_name="a", user_id="u"), {"course_name": "a", "user_id": "u"}, True),
        (TermStarted(), {"course_name": "a"}, False),
        (TermStarted(), {}, True),
    ],
)
def test_a_message_belongs_by_the_same_rule_as_in_the_log(message, partition, expected):
    assert belongs(message, partition) is expected
    groups.register("g", partition_by=sorted(partition), handled_types=[type(message)])
    groups.seek("g", to=store.head() + 1, partition=partition)
    store.append(message)
    found = [claim.partition_value for claim in iter(lambda: groups.claim_next("g", worker="w"), None)]
    assert (partition in found) is expected


def test_a_history_is_folded_once_however_often_it_is_asked(moving):
    events = [UserMoved(course_name="Algebra", user_id=user) for user in "ab"]
    history = History(moving({}), store.append(events))
    assert history.latest() == history.latest() == ["a", "b"]
    assert history.at(0) == []


@pytest.mark.parametrize("name", ["decide", "evolve", "react", "steps", "options"])
def test_a_method_with_a_name_that_consumers_use_themselves_is_refused(name):
    def method(self, state, command):
        yield UserMoved(course_name="Algebra", user_id=command.user_id)

    with pytest.raises(TypeError, match=f"{name} is a name of its own: call the method otherwise"):
        type("Natural", (Decider,), {name: decides(MoveUser)(method)}, group="natural", partition_by=["course_name"])


def test_what_a_base_says_of_its_state_holds_for_those_derived_from_it():
    class Often(Decider, snapshot_every=5):
        pass

    class Sourced(Projector, event_sourced=True):
        pass

    assert type("Derived", (Often,), {}).snapshot_every == 5
    assert type("Derived", (Sourced,), {}).event_sourced is True
    assert type("Other", (Sourced,), {}, event_sourced=False).event_sourced is False
