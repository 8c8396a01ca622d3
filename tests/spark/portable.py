"""Messages and projectors that executors can import: nothing here needs Django."""

from dataclasses import dataclass, field
from typing import Annotated

from ccc_django import Event, Indexed, Projector, Sensitive, evolves
from ccc_django.consumers import registry

Scalar = str | int | bool | float


class Joined(Event, type="spark.joined"):
    """Carries both attributes, or one, or none."""

    course_name: Scalar | None = None
    user_id: Scalar | None = None
    locker: str | None = None
    paid: int = 0


class Gathered(Event, type="spark.gathered"):
    """Carries lists, under another name than the field's."""

    courses: Annotated[list[Scalar], Indexed(name="course_name")] = []
    guests: Annotated[list[Scalar], Indexed(name="user_id")] = []
    user_id: Scalar | None = None


class Secret(Event, type="spark.secret"):
    """Carries a course, and a locker that nobody is to find."""

    course_name: str
    locker: Annotated[str, Sensitive]  # no other test declares an index on it: a secret would be in its way


class Announced(Event, type="spark.announced"):
    """Carries neither."""

    text: str


@dataclass
class Seen:
    """What a partition has come to: the order of what happened shows."""

    positions: list[int] = field(default_factory=list)
    paid: int = 0


class Attendance(Projector, group="attendance", partition_by=["course_name", "user_id"]):
    """Who was where, in which order."""

    state_type = Seen

    @evolves(Joined)
    def joined(self, state: Seen, event: Joined) -> Seen:
        return Seen([*state.positions, event.position or 0], (2 * state.paid + event.paid) % 1_000_003)

    @evolves(Gathered)
    def gathered(self, state: Seen, event: Gathered) -> None:
        state.positions.append(event.position or 0)


registry._consumers.pop("attendance")  # other tests count the consumers of their project
