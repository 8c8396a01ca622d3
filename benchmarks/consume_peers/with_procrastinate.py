"""procrastinate: jobs in PostgreSQL, an asyncio worker that is notified."""

import os
import sys
import time

import procrastinate

from benchmarks.consume_peers import connect
from benchmarks.consume_peers import report as report_to

NAME = "procrastinate"
CONFIGURATION = "Its own worker with `--concurrency 1`, finished jobs kept (its default), an `async` task, notified by `LISTEN`, no log lines; filled by `batch_defer`."

connector = procrastinate.PsycopgConnector(conninfo=os.environ["CCC_TEST_DATABASE_URL"], min_size=1, max_size=4)
app = procrastinate.App(connector=connector)
connection = connect()


@app.task(name="nothing")
async def nothing(number: int) -> None:
    """The job."""


@app.task(name="report")
async def report(path: str) -> None:
    """The job that says when it ran."""
    report_to(path)


def prepare() -> None:
    """Its own schema."""
    app.open()
    if not connection.execute("SELECT to_regclass('procrastinate_jobs')").fetchone()[0]:
        app.schema_manager.apply_schema()
    connection.execute("TRUNCATE procrastinate_jobs, procrastinate_events, procrastinate_workers CASCADE")


def enqueue(count: int) -> None:
    """Its own bulk means."""
    for start in range(0, count, 5_000):
        nothing.batch_defer(*({"number": number} for number in range(start, min(start + 5_000, count))))


def enqueue_report(path: str) -> float:
    """As an application does."""
    started_at = time.time()
    report.defer(path=path)
    return started_at


def remaining() -> int:
    """Those that did not succeed yet."""
    return connection.execute("SELECT count(*) FROM procrastinate_jobs WHERE status <> 'succeeded'").fetchone()[0]


def command() -> list[str]:
    """Its own worker."""
    start = [sys.executable, "-m", "procrastinate", "--log-level", "error", "--app", f"{__name__}.app"]
    return [*start, "worker", "--concurrency", "1"]
