"""ccc_django: in batches of 100 of one partition."""

from benchmarks.consume_ours import queue
from benchmarks.consume_ours.queue import enqueue_report, prepare

__all__ = ["CONFIGURATION", "NAME", "command", "enqueue", "enqueue_report", "prepare", "remaining"]

NAME = "ccc_django, in batches of 100 of one partition"
CONFIGURATION = "`@consumer(batch=True)`: a hundred messages of one partition are claimed, handled and acked with one commit; 8 partitions; the backlog is turned into open work by the workers, which is counted."


def enqueue(count: int) -> None:
    """In the order in which the partitions take turns."""
    queue.fill(count, queue.PARTITIONS)


def remaining() -> int:
    """Those behind the offsets."""
    return queue.left(queue.PARTITIONS)


def command() -> list[str]:
    """Our own worker."""
    return queue.consume("batches")
