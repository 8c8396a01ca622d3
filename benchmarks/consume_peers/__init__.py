"""Who else consumes: job queues for Python that keep their jobs in a database, each with its own worker."""

import os
import time
from pathlib import Path
from typing import Any, Protocol

POLL = 0.1  # seconds between two looks of a worker that can only look


class Contestant(Protocol):
    """A queue of jobs that do nothing, and the workers that empty it; a module can be one."""

    NAME: str
    CONFIGURATION: str  # one sentence for the page
    PACKAGES: tuple[str, ...]  # whose versions are published
    ENVIRONMENT: dict[str, str]  # what its workers need beside ours
    TOGETHER: bool  # whether its command starts all processes, as many as CCC_BENCH_PROCESSES says

    def prepare(self) -> None:
        """Make the tables if there are none, and empty them."""

    def enqueue(self, count: int) -> None:
        """Add jobs that do nothing."""

    def enqueue_report(self, path: str) -> float:
        """Add a job that reports to a file, and say when, just before."""

    def remaining(self) -> int:
        """How many jobs are not done."""

    def command(self) -> list[str]:
        """What starts one worker process that does one job at a time, or all of them."""


def report(path: str) -> None:
    """Append the time at which a handler ran."""
    ran_at = time.time()
    with Path(path).open("a") as file:
        file.write(f"{ran_at}\n")


def connect() -> Any:
    """A connection to the benchmark's PostgreSQL that commits every statement."""
    import psycopg

    return psycopg.connect(os.environ["CCC_TEST_DATABASE_URL"], autocommit=True)
