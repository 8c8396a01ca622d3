"""A scenario says what a worker does: both get the same messages, and the same follows."""

from typing import Annotated, Any

import pytest
from hypothesis import assume, settings
from hypothesis import given as given_any
from hypothesis import strategies as st

from ccc_django import Decider, DomainError, Event, Projector, Unindexed, decides, evolves, store
from ccc_django.consumers import projections
from ccc_django.models import StoredMessage
from ccc_django.partitions import belongs
from ccc_django.testing import clear, drain, given
from tests.domain import CourseCreated, JoinCourse, TermStarted, UserJoinedCourse, UserRegistered

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_consumers")]

HERE = {"course_name": "Algebra", "user_id": "joe"}


class Told(Event, type="scenarios.told"):
    course_name: str
    user_id: str
    seen: Annotated[list[str], Unindexed]


class Thirds(DomainError):
    pass


class Seeing:
    """The state is everything that was seen, in its order."""

    state_type = list

    @evolves(CourseCreated, UserRegistered, UserJoinedCourse, TermStarted, Told)
    def saw(self, state: list[str], event: Any) -> list[str]:
        return [*state, f"{event.type} {event.position or ''}{list(event.payload.values())[:2]}"]


class Telling(Seeing, Decider):
    @decides(JoinCourse)
    def tell(self, state: list[str], command: JoinCourse) -> Told:
        if len(state) % 3 == 0:
            raise Thirds(f"{self.partition} {state}")
        return Told(course_name="Logic" if len(state) % 5 == 0 else "Algebra", user_id="joe", seen=state)


class Watching(Seeing, Projector):
    pass


courses, users = st.sampled_from(["Algebra", "Logic"]), st.sampled_from(["joe", "ann"])
events = st.lists(
    st.one_of(
        st.builds(CourseCreated, course_name=courses),
        st.builds(UserRegistered, user_id=users, name=st.just("x")),
        st.builds(UserJoinedCourse, course_name=courses, user_id=users),
        st.builds(Told, course_name=courses, user_id=users, seen=st.just([])),
        st.builds(TermStarted),
    ),
    max_size=8,
)
fewer = settings(max_examples=settings.default.max_examples // 3)  # each empties the tables


@fewer
@given_any(past=events, commands=st.integers(1, 4))
def test_the_same_is_decided(past, commands):
    clear()
    kind = type("Telling", (Telling,), {}, group="telling", partition_by=[*HERE])
    present = [JoinCourse(**HERE) for _ in range(commands)]
    store.append([*past, *present])
    drain(kind)
    caused = StoredMessage.objects.filter(causation_id__in=[each.id for each in present]).order_by("position")
    expected = [each for each in caused.messages() if each.id not in {command.id for command in present}]
    assert len(expected) == commands
    given(*past, consumer=kind).when(*present).then(*expected)


@fewer
@given_any(past=events, present=events)
def test_the_same_is_projected(past, present):
    kind = type("Watching", (Watching,), {}, group="watching", partition_by=[*HERE])
    present = [each for each in present if belongs(each, HERE)]
    assume(present)
    clear()
    store.append([*past, *present, UserJoinedCourse(**HERE)])
    drain(kind)
    state = projections.state("watching", **HERE)
    given(*past, consumer=kind, partition=HERE).when(*present, UserJoinedCourse(**HERE)).then_state(state)
