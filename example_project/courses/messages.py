"""What happens around courses."""

from ccc_django import Command, Event


class CourseCreated(Event, type="course.created"):
    """A course can be joined from now on."""

    course_name: str
    capacity: int


class UserRegistered(Event, type="user.registered"):
    """Somebody is known to the portal."""

    user_id: str
    name: str


class JoinCourse(Command, type="course.join"):
    """Somebody wants a seat in a course."""

    course_name: str
    user_id: str


class UserJoinedCourse(Event, type="user.joined_course"):
    """Somebody has a seat in a course."""

    course_name: str
    user_id: str


class CourseClosed(Event, type="course.closed"):
    """A course cannot be joined any more."""

    course_name: str
