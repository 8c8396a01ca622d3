"""ccc_django: in batches of 100 of one partition, on SQLite."""

from benchmarks.consume_ours.with_batches import command, enqueue, enqueue_report, prepare, remaining

__all__ = ["CONFIGURATION", "NAME", "command", "enqueue", "enqueue_report", "prepare", "remaining"]

NAME = "ccc_django, SQLite, in batches of 100 of one partition"
CONFIGURATION = "`@consumer(batch=True)`: a hundred messages of one partition are claimed, handled and acked with one commit; 8 partitions; WAL, `synchronous=FULL`."
