"""Type checkers know message classes."""

from mypy import api

PROGRAM = """
from uuid import uuid4
from ccc_django import Event

class CourseCreated(Event, type="course.created"):
    course_name: str

event = CourseCreated(course_name="Algebra", topic="courses", id=uuid4(), metadata={"by": "ann"})
reveal_type(event.with_metadata(by="ann"))
reveal_type(event.correlate(event))
reveal_type(event.id)
reveal_type(CourseCreated.type)
CourseCreated()
CourseCreated(course_name=1)
"""


def test_arguments_and_results_of_messages_are_typed():
    output, errors, _ = api.run(["--config-file=", "--cache-dir=/dev/null", "--strict", "-c", PROGRAM])
    assert not errors
    said = output.splitlines()
    revealed = [line.split('"')[1].rpartition(".")[2] for line in said if "Revealed" in line]
    assert revealed == ["CourseCreated", "CourseCreated", "UUID", "str"]
    complaints = [line for line in said if "error:" in line]
    assert 'Missing named argument "course_name"' in complaints[0]
    assert 'has incompatible type "int"; expected "str"' in complaints[1]
    assert len(complaints) == 2
