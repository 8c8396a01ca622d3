"""What happens to the feedback form."""

from typing import Annotated
from uuid import UUID

from ccc_django import Command, Event, Unindexed


class SubmitFeedback(Command, type="feedback.submit"):
    """The form was sent, perhaps again: the page that shows the form makes up its submission id."""

    submission_id: UUID
    course_name: str
    text: Annotated[str, Unindexed]


class FeedbackReceived(Event, type="feedback.received"):
    """Somebody has said what they think of a course."""

    submission_id: UUID
    course_name: str
    text: Annotated[str, Unindexed]


class TellTeacher(Command, type="teacher.tell"):
    """The teacher should hear of it."""

    submission_id: UUID
    course_name: str
