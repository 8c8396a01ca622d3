"""A decider that schedules, and a function that handles what was scheduled and appends in every way there is."""

from datetime import UTC, datetime, timedelta

from ccc_django import Decider, RunInTransaction, Schedule, consumer, decides, reacts, store
from tests.traced_app.messages import Join, Joined, Noticed, Remind, Reminded


class Joining(Decider, group="joining", partition_by=["course_name"]):
    """Lets everybody join."""

    @decides(Join)
    def join(self, state, command):
        yield Joined(course_name=command.course_name)

    @reacts(Joined)
    def remind(self, state, event):
        yield Schedule(Remind(course_name=event.course_name), at=datetime.now(UTC) + timedelta(seconds=0.5))


@consumer(group="reminding", partition_by=["course_name"], handles=[Remind])
def reminding(message):
    """Reminds."""
    yield message.correlate(Reminded(course_name=message.course_name))
    noticed = message.correlate(Noticed(course_name=message.course_name))
    yield RunInTransaction(lambda: store.append(noticed))
