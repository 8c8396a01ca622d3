"""ccc_django: a message for each partition."""

from benchmarks.consume_ours import queue
from benchmarks.consume_ours.queue import enqueue_report, prepare

__all__ = ["CONFIGURATION", "NAME", "command", "enqueue", "enqueue_report", "prepare", "remaining"]

NAME = "ccc_django, a message for each partition"
CONFIGURATION = "`@consumer`: claim, fetch, handle and ack for each message, because each has a partition of its own, which the workers also make."


def enqueue(count: int) -> None:
    """Each with a partition of its own."""
    queue.fill(count, count)


def remaining() -> int:
    """Those whose partition has not moved."""
    return queue.left_of_partitions()


def command() -> list[str]:
    """Our own worker."""
    return queue.consume("singles")
