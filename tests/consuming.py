"""The consumers that tests speak about: who may join a course with a capacity, and who has joined."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from ccc_django import Command, Decider, DomainError, Event, Projector, Schedule, decides, evolves, reacts, store
from ccc_django.consumers import runner
from ccc_django.groups import claim_next


class SeatsOffered(Event, type="seats.offered"):
    course_name: str
    seats: int


class TakeSeat(Command, type="seat.take"):
    course_name: str
    user_id: str


class SeatTaken(Event, type="seat.taken"):
    course_name: str
    user_id: str


class Greet(Command, type="greet"):
    user_id: str


class Remind(Command, type="remind"):
    user_id: str


class CourseFull(DomainError):
    pass


class AlreadyIn(DomainError):
    pass


@dataclass
class Seats:
    seats: int = 0
    taken: list[str] = field(default_factory=list)


LATER = datetime(2030, 1, 1, tzinfo=UTC)


class Seating(Decider):
    """Decides who gets a seat."""

    state_type = Seats

    @evolves(SeatsOffered)
    def offered(self, state: Seats, event: SeatsOffered) -> None:
        state.seats += event.seats

    @evolves(SeatTaken)
    def taken(self, state: Seats, event: SeatTaken) -> Seats:
        return Seats(state.seats, [*state.taken, event.user_id])

    @decides(TakeSeat)
    def take(self, state: Seats, command: TakeSeat) -> Iterator[SeatTaken]:
        if command.user_id in state.taken:
            raise AlreadyIn(f"{command.user_id} has a seat")
        if len(state.taken) >= state.seats:
            raise CourseFull(f"{state.seats} seats are taken")
        yield SeatTaken(course_name=command.course_name, user_id=command.user_id)

    @reacts(SeatTaken)
    def greet(self, state: Seats, event: SeatTaken) -> Iterator[Any]:
        assert event.user_id in state.taken
        yield Greet(user_id=event.user_id)
        yield Schedule(Remind(user_id=event.user_id), at=LATER)


class Roster(Projector):
    """Who has a seat."""

    @evolves(SeatTaken)
    def taken(self, state: list[str] | None, event: SeatTaken) -> list[str]:
        return [*(state or []), event.user_id]


def take(user: str) -> TakeSeat:
    """The command that most tests ask for."""
    return TakeSeat(course_name="Algebra", user_id=user)


def users(kind: Any = SeatTaken) -> list[str]:
    """Whom messages of a type are about, in the order of the log."""
    return [each.user_id for each in store.stream(type=kind)]


def drain(kind: Any, *, limit: int = 100, worker: str = "w-1", most: int = 1_000) -> list[runner.Outcome]:
    """Handle what waits, as a worker does."""
    outcomes = []
    while len(outcomes) < most and (claim := claim_next(kind.group_name(), worker=worker, limit=limit)):
        outcomes.append(runner.run(kind, claim))
    return outcomes
