"""The raw loop: claim a row, commit, mark it done, commit; no library, and a worker process of its own."""

import sys
import time

from benchmarks.consume_peers import connect, report

NAME = "raw loop"
CONFIGURATION = "`UPDATE … RETURNING` of one row (`FOR UPDATE SKIP LOCKED`), commit, mark it done, commit; prepared statements of psycopg; `LISTEN` when there is nothing."
CLAIM = """
    UPDATE raw_jobs SET state = 1
    WHERE id = (SELECT id FROM raw_jobs WHERE state = 0 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING id, path
"""
DONE = "UPDATE raw_jobs SET state = 2 WHERE id = %s"

connection = connect()
connection.prepare_threshold = 0


def prepare() -> None:
    """A table with an index of the jobs that are ready."""
    connection.execute("DROP TABLE IF EXISTS raw_jobs")
    connection.execute(
        "CREATE TABLE raw_jobs (id bigserial PRIMARY KEY, state int NOT NULL DEFAULT 0, path text NOT NULL DEFAULT '')"
    )
    connection.execute("CREATE INDEX raw_jobs_ready ON raw_jobs (id) WHERE state = 0")


def enqueue(count: int) -> None:
    """One statement."""
    connection.execute("INSERT INTO raw_jobs SELECT n, 0, '' FROM generate_series(1, %s) AS n", [count])


def enqueue_report(path: str) -> float:
    """With a notification."""
    started_at = time.time()
    with connection.transaction():
        connection.execute("INSERT INTO raw_jobs (path) VALUES (%s)", [path])
        connection.execute("NOTIFY raw_jobs")
    return started_at


def remaining() -> int:
    """Those that are not done."""
    return connection.execute("SELECT count(*) FROM raw_jobs WHERE state < 2").fetchone()[0]


def command() -> list[str]:
    """This module."""
    return [sys.executable, "-m", "benchmarks.consume_peers.raw_loop"]


def work() -> None:
    """Until somebody ends the process."""
    connection.execute("LISTEN raw_jobs")
    while True:
        if claimed := connection.execute(CLAIM).fetchone():
            id, path = claimed
            if path:
                report(path)
            connection.execute(DONE, [id])
        else:
            next(connection.notifies(timeout=1, stop_after=1), None)


if __name__ == "__main__":
    work()
