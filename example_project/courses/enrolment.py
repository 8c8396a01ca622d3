"""Who may join a course: decided on what the log says, and appended only if it still says so."""

from ccc_django import Message, store
from courses.messages import CourseClosed, CourseCreated, JoinCourse, UserJoinedCourse


class Refused(Exception):
    """The course is full, closed, or joined already."""


def context(course: str) -> store.ReadResult:
    """Everything that has happened to a course."""
    types = (CourseCreated, CourseClosed, UserJoinedCourse)
    return store.read(condition for each in types for condition in each.to_conditions(course_name=course))


def decide(command: JoinCourse, facts: list[Message]) -> UserJoinedCourse:
    """A seat, if there is one left."""
    seats = sum(message.capacity for message in facts if isinstance(message, CourseCreated))
    taken = {message.user_id for message in facts if isinstance(message, UserJoinedCourse)}
    if any(isinstance(message, CourseClosed) for message in facts):
        raise Refused(f"{command.course_name} is closed.")
    if command.user_id in taken:
        raise Refused(f"{command.user_id} has joined {command.course_name} already.")
    if len(taken) >= seats:
        raise Refused(f"{command.course_name} is full.")
    return command.correlate(UserJoinedCourse(course_name=command.course_name, user_id=command.user_id))
