"""Oban for Python: jobs in PostgreSQL, an asyncio worker that is notified. Its syntax needs Python 3.12."""

import asyncio
import os
import sys
import time
from collections.abc import Coroutine
from typing import Any

from oban import Oban, job
from oban.schema import install
from psycopg_pool import AsyncConnectionPool

from benchmarks.consume_peers import connect
from benchmarks.consume_peers import report as report_to

NAME = "Oban"
CONFIGURATION = "Its own worker with a queue of limit 20 (it runs jobs in one event loop, and with a limit of 1 a seventh as many), notified by `LISTEN`, no log lines; filled by `enqueue_many`; on Python 3.12."

connection = connect()
loop = asyncio.new_event_loop()


@job(queue="default")
async def nothing(number: int) -> None:
    """The job."""


@job(queue="default")
async def report(path: str) -> None:
    """The job that says when it ran."""
    report_to(path)


async def start() -> tuple[AsyncConnectionPool, Oban]:
    """A client, which runs no queue."""
    pool = AsyncConnectionPool(os.environ["CCC_TEST_DATABASE_URL"], min_size=1, max_size=2, open=False)
    await pool.open()
    await install(pool)
    return pool, Oban(pool=pool)


opened: list[tuple[AsyncConnectionPool, Oban]] = []


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """One step of the client, in the loop that it keeps."""
    return loop.run_until_complete(work)


def prepare() -> None:
    """Its own schema, once."""
    if not opened:
        opened.append(run(start()))
    connection.execute("TRUNCATE oban_jobs")


def enqueue(count: int) -> None:
    """Its own bulk means."""
    [(_, oban)] = opened
    for first in range(0, count, 5_000):
        run(oban.enqueue_many(nothing.new(number) for number in range(first, min(first + 5_000, count))))


def enqueue_report(path: str) -> float:
    """As an application does."""
    [(_, oban)] = opened
    started_at = time.time()
    run(oban.enqueue(report.new(path)))
    return started_at


def remaining() -> int:
    """Those that are not completed."""
    return connection.execute("SELECT count(*) FROM oban_jobs WHERE state <> 'completed'").fetchone()[0]


def command() -> list[str]:
    """Its own worker, which imports this module by what its settings call cron modules."""
    options = ["--dsn", os.environ["CCC_TEST_DATABASE_URL"], "--queues", "default:20", "--log-level", "ERROR"]
    return [sys.executable, "-m", "oban", "start", *options, "--cron-modules", __name__]
