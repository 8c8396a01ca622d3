"""Reads by attributes, against eventsourcing's DCB recorder and a select by primary key."""

import os
import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks import append_contestants as contestants
from benchmarks.clients import django_backend, processor_time
from benchmarks.filling import fill, prepare_tables
from benchmarks.measuring import publish

SIZE = 20_000 if os.environ.get("CCC_BENCH_QUICK") else 1_000_000


def main() -> None:
    """Measure and publish."""
    prepare_tables()
    fill(SIZE, start=0)
    publish("reads", "Reads", section(SIZE))


def section(size: int) -> str:
    """Server time of reads as multiples of a select by primary key."""
    from eventsourcing.dcb.api import DCBQuery, DCBQueryItem

    from ccc_django import Condition, db
    from ccc_django.wanted import EVERYTHING, Wanted

    recorder = contestants.eventsourcing_recorder()
    name = contestants.UserJoinedCourse.type

    def ours(**values: str) -> Callable[[], Any]:
        wanted = Wanted.by([Condition(name, key, value) for key, value in values.items()])
        return lambda: db.rows("read_conditions", **wanted.parameters(after=0, most=EVERYTHING))

    def theirs(**values: str) -> Callable[[], Any]:
        query = DCBQuery(items=[DCBQueryItem(types=["joined"], tags=[f"{k}:{v}" for k, v in values.items()])])
        return lambda: list(recorder.read(query))

    with recorder.datastore.transaction(commit=False) as cursor:
        cursor.execute("SELECT pg_backend_pid() AS pid")
        their_pid = int(cursor.fetchone()["pid"])
    own_pid = django_backend()
    by_key = db_by_key(size)
    selective = {"course_name": "filled-7", "user_id": "few-7"}
    popular = {"course_name": "filled-7", "user_id": "popular"}
    base = server_time(by_key, own_pid)
    rows = []
    for label, values in (("2 selective attributes", selective), ("1 selective, 1 on 10 % of the log", popular)):
        found = len(ours(**values)())
        mine, their = server_time(ours(**values), own_pid), server_time(theirs(**values), their_pid, most=20)
        rows.append(f"| {found} messages by {label} | {mine / base:.1f}× | {their / base:,.0f}× |")
    title = f"At {size:,} messages. Server time as a multiple of a select by primary key ({base * 1e6:.0f} µs)."
    return "\n".join([title, "", "| read | ours | eventsourcing |", "| --- | --- | --- |", *rows])


def db_by_key(size: int) -> Callable[[], Any]:
    """A prepared select of one row by its primary key."""
    import psycopg
    from django.db import connection

    connection.connection.prepare_threshold = 0
    cursor = psycopg.RawCursor(connection.connection)
    return lambda: cursor.execute("SELECT * FROM ccc_messages WHERE position = $1", [size // 2]).fetchall()


def server_time(work: Callable[[], Any], pid: int, most: int = 2_000) -> float:
    """The median server time of a call over slices, in seconds; slow calls are called less often."""
    work()
    started = time.perf_counter()
    for _ in range(7):
        work()
    calls = max(1, min(most, int(0.3 / ((time.perf_counter() - started) / 7))))
    taken = []
    for _ in range(5):
        before = processor_time(pid)
        for _ in range(calls):
            work()
        taken.append((processor_time(pid) - before) / calls)
    return statistics.median(taken)
