"""What a message costs beside a bare pydantic model with the same payload."""

from pydantic import BaseModel

from benchmarks.measuring import publish, take_turns
from ccc_django import Event
from ccc_django.restoring import restore


class Bare(BaseModel):
    """The same payload without anything of ours."""

    course_name: str
    user_id: str


class UserJoinedCourse(Event, type="benchmark.user_joined_course"):
    """A message of two attributes."""

    course_name: str
    user_id: str


def main() -> None:
    """Measure and publish."""
    event = UserJoinedCourse(course_name="Algebra", user_id="joe")
    taken = take_turns(
        {
            "bare pydantic model: make and dump to JSON": lambda: Bare(
                course_name="Algebra", user_id="joe"
            ).model_dump_json(),
            "message: make, with envelope, checks and JSON": lambda: UserJoinedCourse(
                course_name="Algebra", user_id="joe"
            ),
            "message: the ids of its key pairs": lambda: [pair.id for pair in event.key_pairs],
            "message: restore from JSON": lambda: restore(event.envelope, event.payload_json),
            "message: conditions for two attributes": lambda: UserJoinedCourse.to_conditions(
                course_name="Algebra", user_id="joe"
            ),
        },
        calls=2_000,
        rounds=15,
    )
    base = next(iter(taken.values()))
    rows = [f"| {name} | {seconds * 1e6:.1f} | {seconds / base:.1f} |" for name, seconds in taken.items()]
    table = "\n".join(["| what | µs | ratio |", "| --- | --- | --- |", *rows])
    publish("messages", "Messages", f"A message of two text attributes, median of 15 rounds of 2,000.\n\n{table}")
