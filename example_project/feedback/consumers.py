"""Which feedback counts, and who hears of it."""

from collections.abc import Iterator

from django.core.mail import send_mail

from ccc_django import Decider, DomainError, Message, consumer, decides, evolves, reacts
from feedback.messages import FeedbackReceived, SubmitFeedback, TellTeacher


class AlreadySubmitted(DomainError):
    """The form was sent twice."""


class Feedback(Decider, group="feedback", partition_by=["submission_id"]):
    """Which feedback counts: each submission once, however often the button was pressed.

    The state is what was received first, or None.
    """

    @evolves(FeedbackReceived)
    def received(self, _first: FeedbackReceived | None, event: FeedbackReceived) -> FeedbackReceived:
        """From now on it is known."""
        return event

    @decides(SubmitFeedback)
    def submit(self, first: FeedbackReceived | None, command: SubmitFeedback) -> Iterator[Message]:
        """The first one counts."""
        if first is not None:
            raise AlreadySubmitted(f"Thank you, we have your feedback on {first.course_name}.")
        yield FeedbackReceived(**command.payload)

    @reacts(FeedbackReceived)
    def tell(self, _first: FeedbackReceived, event: FeedbackReceived) -> Iterator[Message]:
        """What follows happens once too."""
        yield TellTeacher(submission_id=event.submission_id, course_name=event.course_name)


@consumer(group="teacher-mails", partition_by=["course_name"], handles=[TellTeacher], in_transaction=False)
def tell_teacher(message: TellTeacher) -> None:
    """Writes to the teacher of a course."""
    text = f"There is feedback: {message.submission_id}"
    send_mail(message.course_name, text, from_email=None, recipient_list=["teacher@example.org"])
