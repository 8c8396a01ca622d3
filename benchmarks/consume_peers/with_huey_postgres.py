"""huey with its PostgreSQL storage."""

import os
import sys
import time

from huey import PostgresHuey

from benchmarks.consume_peers import connect
from benchmarks.consume_peers import report as report_to

NAME = "huey, PostgreSQL"
CONFIGURATION = "`PostgresHuey`, which listens, with one worker thread, `results=False`, no periodic tasks, no log lines; it deletes a job before it runs it, so a killed worker loses the job (at most once; it has no other way); filled by SQL with copies of one enqueued row, because it has no bulk means."

huey = PostgresHuey("benchmark", dsn=os.environ["CCC_TEST_DATABASE_URL"], results=False)
connection = connect()


@huey.task()
def nothing(number: int) -> None:
    """The job."""


@huey.task()
def report(path: str) -> None:
    """The job that says when it ran."""
    report_to(path)


def prepare() -> None:
    """Its tables are made when it is imported."""
    connection.execute("TRUNCATE huey_task")


def enqueue(count: int) -> None:
    """One by its API, and copies of it."""
    nothing(1)
    connection.execute(f"""
        INSERT INTO huey_task (queue, data, priority)
        SELECT queue, data, priority FROM huey_task, generate_series(2, {count})
    """)


def enqueue_report(path: str) -> float:
    """As an application does."""
    started_at = time.time()
    report(path)
    return started_at


def remaining() -> int:
    """Those that nobody has taken."""
    return huey.storage.queue_size()


def command() -> list[str]:
    """Its own consumer."""
    options = ["--workers", "1", "--worker-type", "thread", "--no-periodic", "--quiet"]
    return [sys.executable, "-m", "huey.bin.huey_consumer", *options, f"{__name__}.huey"]
