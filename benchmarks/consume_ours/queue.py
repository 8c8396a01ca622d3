"""A backlog of ours, and how much of it is left."""

import sys
import time

from django.core.management import call_command
from django.db import connection

from benchmarks.consume_ours.messages import Job
from ccc_django import store, testing

PARTITIONS = 8
AT_ONCE = 10_000


def prepare() -> None:
    """Its migrations, and nothing in its tables."""
    call_command("migrate", verbosity=0)
    testing.clear()


def fill(count: int, partitions: int) -> None:
    """Messages of so many partitions, in turns."""
    for start in range(0, count, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, count))
        store.append([Job(partition=f"p{number % partitions}") for number in numbers])


def enqueue_report(path: str) -> float:
    """As an application does."""
    started_at = time.time()
    store.append(Job(partition="reports", path=path))
    return started_at


def left(partitions: int) -> int:
    """Messages that are not done: positions have no gaps here, and partitions took turns."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(position) FROM ccc_messages")
        [count] = cursor.fetchone()
        cursor.execute(f"SELECT sum((last_position - 1) / {partitions} + 1) FROM ccc_offsets WHERE last_position > 0")
        return (count or 0) - int(cursor.fetchone()[0] or 0)


def left_of_partitions() -> int:
    """Messages that are not done, where each has a partition of its own."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT max(position) FROM ccc_messages")
        [count] = cursor.fetchone()
        cursor.execute("SELECT count(*) FROM ccc_offsets WHERE last_position > 0")
        return (count or 0) - cursor.fetchone()[0]


def consume(group: str) -> list[str]:
    """Our own worker."""
    return [sys.executable, "-m", "django", "consume", "--group", group, "--no-reload", "--verbosity", "0"]
