"""django-q2: the broker that keeps its queue in a table of Django's."""

import sys
import time

from django.core.management import call_command
from django.db import connection

from benchmarks.consume_peers import POLL

NAME = "django-q2"
CONFIGURATION = f"The ORM broker; one cluster with as many worker processes (beside them run its pusher, monitor and sentinel, whose processor time counts; as many clusters were half as fast, because they reach for the same rows), `bulk` 50, `queue_limit` 100, `poll` {POLL} (0.2 by default), no recycling, no scheduler, results not saved, connections kept open, no log lines; filled by SQL with copies of one enqueued row, because it has no bulk means."


def nothing(number: int) -> None:
    """The job."""


def prepare() -> None:
    """Its migrations."""
    call_command("migrate", verbosity=0)
    execute("TRUNCATE django_q_ormq")


def enqueue(count: int) -> None:
    """One by its API, and copies of it."""
    from django_q.tasks import async_task

    async_task(f"{__name__}.nothing", 1)
    execute(f"""
        INSERT INTO django_q_ormq (key, payload, lock)
        SELECT key, payload, lock FROM django_q_ormq, generate_series(2, {count})
    """)


def enqueue_report(path: str) -> float:
    """As an application does."""
    from django_q.tasks import async_task

    started_at = time.time()
    async_task("benchmarks.consume_peers.report", path)
    return started_at


def remaining() -> int:
    """Those that are not acknowledged, which deletes them."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM django_q_ormq")
        return cursor.fetchone()[0]


def command() -> list[str]:
    """Its own cluster."""
    return [sys.executable, "-m", "django", "qcluster"]


def execute(statement: str) -> None:
    """One statement."""
    with connection.cursor() as cursor:
        cursor.execute(statement)
