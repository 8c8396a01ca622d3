"""huey with its SQLite storage: the same jobs in a file."""

import os
import sys
import time

from huey import SqliteHuey

from benchmarks.consume_peers import POLL
from benchmarks.consume_peers import report as report_to

NAME = "huey, SQLite"
CONFIGURATION = f"`SqliteHuey` with `fsync=True` in WAL mode, one worker thread, `results=False`, a look every {POLL} s (0.1 growing to 10 by default), no periodic tasks, no log lines; at most once, as above; filled by SQL with copies of one enqueued row."

huey = SqliteHuey(
    "benchmark", filename=f"{os.environ['CCC_BENCH_FOLDER']}/huey.sqlite3", fsync=True, timeout=30, results=False
)


@huey.task()
def nothing(number: int) -> None:
    """The job."""


@huey.task()
def report(path: str) -> None:
    """The job that says when it ran."""
    report_to(path)


def prepare() -> None:
    """Its tables are made when it is imported."""
    huey.storage.flush_queue()


def enqueue(count: int) -> None:
    """One by its API, and copies of it."""
    nothing(1)
    numbers = f"WITH RECURSIVE numbers(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})"
    copies = "SELECT queue, data, priority FROM (SELECT * FROM task LIMIT 1), numbers"
    huey.storage.sql(f"{numbers} INSERT INTO task (queue, data, priority) {copies}", commit=True)


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
    looks = ["--delay", str(POLL), "--max-delay", str(POLL), "--backoff", "1"]
    options = ["--workers", "1", "--worker-type", "thread", "--no-periodic", "--quiet", *looks]
    return [sys.executable, "-m", "huey.bin.huey_consumer", *options, f"{__name__}.huey"]
