"""Who may join a course, who is in it, and who gets a certificate."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from ccc_django import Decider, DomainError, Message, Projector, decides, evolves
from courses.messages import (
    CertificateIssued,
    CloseCourse,
    CourseClosed,
    CourseCreated,
    CreateCourse,
    IssueCertificate,
    JoinCourse,
    UserJoinedCourse,
    UserRegistered,
)


class CourseNameTaken(DomainError):
    """There is an open course of this name."""


class CourseNotOpen(DomainError):
    """The course is closed, or was never created."""


class CourseFull(DomainError):
    """Every seat is taken."""


class AlreadyJoined(DomainError):
    """Nobody sits on two seats."""


@dataclass
class Course:
    """What a decision on a seat must know."""

    capacity: int = 0
    is_open: bool = False
    members: list[str] = field(default_factory=list)


class Enrolment(Decider, group="enrolment", partition_by=["course_name"]):
    """Who may join a course.

    The seats of a course are shared by everybody who joins it, so everything that has happened to the course is looked
    at: the course alone is the partition.
    """

    state_type = Course

    @evolves(CourseCreated)
    def created(self, _course: Course, event: CourseCreated) -> Course:
        """A new term begins with an empty room."""
        return Course(capacity=event.capacity, is_open=True)

    @evolves(UserJoinedCourse)
    def joined(self, course: Course, event: UserJoinedCourse) -> None:
        """One seat less."""
        course.members.append(event.user_id)

    @evolves(CourseClosed)
    def closed(self, course: Course, _event: CourseClosed) -> None:
        """Too late."""
        course.is_open = False

    @decides(CreateCourse)
    def create(self, course: Course, command: CreateCourse) -> Iterator[Message]:
        """A name stands for one course at a time."""
        if course.is_open:
            raise CourseNameTaken(f"There is a course {command.course_name} already.")
        yield CourseCreated(course_name=command.course_name, capacity=command.capacity)

    @decides(JoinCourse)
    def join(self, course: Course, command: JoinCourse) -> Iterator[Message]:
        """A seat, if there is one left."""
        if not course.is_open:
            raise CourseNotOpen(f"{command.course_name} cannot be joined.")
        if command.user_id in course.members:
            raise AlreadyJoined(f"{command.user_id} has joined {command.course_name} already.")
        if len(course.members) >= course.capacity:
            raise CourseFull(f"{command.course_name} has no seat left.")
        yield UserJoinedCourse(course_name=command.course_name, user_id=command.user_id)

    @decides(CloseCourse)
    def close(self, course: Course, command: CloseCourse) -> Iterator[Message]:
        """A course ends once."""
        if not course.is_open:
            raise CourseNotOpen(f"{command.course_name} is not open.")
        yield CourseClosed(course_name=command.course_name)


class CourseRoster(Projector, group="course-roster", partition_by=["course_name"]):
    """Who is in a course, for a page that shows it."""

    @evolves(CourseCreated)
    def created(self, _members: list[str] | None, _event: CourseCreated) -> list[str]:
        """Nobody yet."""
        return []

    @evolves(UserJoinedCourse)
    def joined(self, members: list[str] | None, event: UserJoinedCourse) -> list[str]:
        """One more."""
        return [*(members or []), event.user_id]


class NoCertificate(DomainError):
    """The course is not over, the user was not in it, or has the certificate."""


@dataclass
class Attendance:
    """What one user has to do with one course."""

    name: str = ""
    is_over: bool = False
    has_joined: bool = False
    is_certified: bool = False


class Certificates(Decider, group="certificates", partition_by=["course_name", "user_id"]):
    """Who gets a certificate.

    It takes facts of a user, of a course, and of both together; those of other users in the same course do not matter
    and disturb nobody. So the pair is the partition.
    """

    state_type = Attendance

    @evolves(UserRegistered)
    def registered(self, attendance: Attendance, event: UserRegistered) -> None:
        """The name to be written on it."""
        attendance.name = event.name

    @evolves(CourseClosed)
    def closed(self, attendance: Attendance, _event: CourseClosed) -> None:
        """The course has come to its end."""
        attendance.is_over = True

    @evolves(UserJoinedCourse)
    def joined(self, attendance: Attendance, _event: UserJoinedCourse) -> None:
        """The user was there."""
        attendance.has_joined = True

    @evolves(CertificateIssued)
    def issued(self, attendance: Attendance, _event: CertificateIssued) -> None:
        """One is enough."""
        attendance.is_certified = True

    @decides(IssueCertificate)
    def issue(self, attendance: Attendance, command: IssueCertificate) -> Iterator[Message]:
        """One for each user who was in a course to its end."""
        if not (attendance.name and attendance.is_over and attendance.has_joined):
            raise NoCertificate(f"{command.user_id} has not been in {command.course_name} to its end.")
        if attendance.is_certified:
            raise NoCertificate(f"{command.user_id} has the certificate already.")
        yield CertificateIssued(course_name=command.course_name, user_id=command.user_id, name=attendance.name)
