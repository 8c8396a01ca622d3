"""What is run: handlers that do nothing."""

from benchmarks.consume_ours.messages import Job
from benchmarks.consume_peers import report
from ccc_django import consumer


@consumer(group="batches", partition_by=["partition"], handles=[Job], batch=True)
def in_batches(messages: list[Job]) -> None:
    """A hundred messages and one commit."""
    if messages[0].path:
        report(messages[0].path)


@consumer(group="singles", partition_by=["partition"], handles=[Job])
def one_by_one(message: Job) -> None:
    """One message and one commit."""
    if message.path:
        report(message.path)
