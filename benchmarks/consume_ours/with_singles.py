"""ccc_django: a commit for each message, many in a partition."""

from benchmarks.consume_ours import queue
from benchmarks.consume_ours.queue import enqueue_report, prepare

__all__ = ["CONFIGURATION", "NAME", "command", "enqueue", "enqueue_report", "prepare", "remaining"]

NAME = "ccc_django, a commit for each message, many in a partition"
CONFIGURATION = "`@consumer`: a hundred messages of one partition are claimed; each is handled and committed by itself; 8 partitions; as above."


def enqueue(count: int) -> None:
    """In the order in which the partitions take turns."""
    queue.fill(count, queue.PARTITIONS)


def remaining() -> int:
    """Those behind the offsets."""
    return queue.left(queue.PARTITIONS)


def command() -> list[str]:
    """Our own worker."""
    return queue.consume("singles")
