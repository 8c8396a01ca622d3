"""The messages that every test speaks about."""

from ccc_django import Command, Event


class CourseCreated(Event, type="course.created"):
    course_name: str


class UserRegistered(Event, type="user.registered"):
    user_id: str
    name: str


class UserJoinedCourse(Event, type="user.joined_course"):
    course_name: str
    user_id: str


class CourseClosed(Event, type="course.closed"):
    course_name: str


class TermStarted(Event, type="term.started"):
    pass


class JoinCourse(Command, type="join_course"):
    course_name: str
    user_id: str
