"""What happens around courses."""

from ccc_django import Command, Event


class UserRegistered(Event, type="user.registered"):
    """Somebody is known to the portal."""

    user_id: str
    name: str


class CreateCourse(Command, type="course.create"):
    """A teacher wants to offer a course."""

    course_name: str
    capacity: int


class CourseCreated(Event, type="course.created"):
    """A course can be joined from now on."""

    course_name: str
    capacity: int


class JoinCourse(Command, type="course.join"):
    """Somebody wants a seat in a course."""

    course_name: str
    user_id: str


class UserJoinedCourse(Event, type="user.joined_course"):
    """Somebody has a seat in a course."""

    course_name: str
    user_id: str


class CloseCourse(Command, type="course.close"):
    """A teacher wants to end a course."""

    course_name: str


class CourseClosed(Event, type="course.closed"):
    """A course cannot be joined any more."""

    course_name: str


class IssueCertificate(Command, type="certificate.issue"):
    """Somebody wants to have it in writing that they were in a course."""

    course_name: str
    user_id: str


class CertificateIssued(Event, type="certificate.issued"):
    """Somebody has it in writing."""

    course_name: str
    user_id: str
    name: str
