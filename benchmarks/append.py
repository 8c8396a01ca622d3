"""Append and read, against raw inserts and eventsourcing's DCB recorder, on logs of several sizes."""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks import append_contestants as contestants
from benchmarks.clients import Figures, django_backend, processor_time, take_turns
from benchmarks.measuring import publish

QUICK = bool(os.environ.get("CCC_BENCH_QUICK"))
SIZES = (0, 20_000) if QUICK else (0, 100_000, 1_000_000)
ROUNDS, SECONDS = (2, 1.0) if QUICK else (5, 2.0)


def main() -> None:
    """Measure and publish; on a PostgreSQL that syncs to disk."""
    if "CCC_TEST_DATABASE_URL" not in os.environ:
        command = [sys.executable, "-m", "tests.postgres", "--durable", sys.executable, "-m", "benchmarks", "append"]
        environment = {**os.environ, "CCC_TEST_DATABASE": "postgres", "DJANGO_SETTINGS_MODULE": "tests.settings"}
        raise SystemExit(subprocess.run(command, env=environment, check=False).returncode)
    prepare_tables()
    sections, held = [], 0
    for size in SIZES:
        fill(size - held, start=held)
        held = size
        say(f"log of {size:,}")
        sections.append(append_section(size))
    sections.append(read_section(held))
    sections.append(sqlite_section())
    publish("append", "Append and read", "\n\n".join([settings(), *sections]))


def append_section(size: int) -> str:
    """Rates as ratios of raw inserts, and processor time."""
    rows = []
    for label, batch, guarded, clients in (
        ("guarded append, 1 message", 1, True, 1),
        ("guarded append, 1 message", 1, True, 4),
        ("guarded append, 1 message", 1, True, 8),
        ("plain append, 1 message", 1, False, 4),
        ("plain append, 1 message", 1, False, 8),
        ("plain append, 100 messages", 100, False, 4),
    ):
        figures = take_turns(
            {
                "raw": contestants.raw(batch),
                "eventsourcing": contestants.eventsourcing(batch, guarded=guarded),
                "ours": contestants.ours(batch, guarded=guarded),
            },
            clients=clients,
            rounds=ROUNDS,
            seconds=SECONDS,
        )
        say(f"{label}, {clients} clients: {figures}")
        rows.append(append_row(f"{label}, {clients} clients", figures))
    head = "| measure | raw /s | eventsourcing of raw | ours of raw | ours of eventsourcing | µs client + server: raw | eventsourcing | ours |"
    return "\n".join([f"### Log of {size:,} messages", "", head, "|" + " --- |" * 8, *rows])


def append_row(label: str, figures: dict[str, Figures]) -> str:
    raw, theirs, ours = figures["raw"], figures["eventsourcing"], figures["ours"]
    ratios = f"{theirs.rate / raw.rate:.2f} | {ours.rate / raw.rate:.2f} | {ours.rate / theirs.rate:.1f}×"
    times = " | ".join(f"{each.client:.0f} + {each.server:.0f}" for each in (raw, theirs, ours))
    return f"| {label} | {raw.rate:,.0f} | {ratios} | {times} |"


def read_section(size: int) -> str:
    """Server time of reads as multiples of a select by primary key."""
    from eventsourcing.dcb.api import DCBQuery, DCBQueryItem

    from ccc_django import Condition, db
    from ccc_django.guards import EVERYTHING, Wanted

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
    title = (
        f"### Reads at {size:,} messages\n\nServer time as a multiple of a select by primary key ({base * 1e6:.0f} µs)."
    )
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


def sqlite_section() -> str:
    """One process, synchronous FULL."""
    command = [sys.executable, "-m", "benchmarks.append_sqlite"]
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    raw, plain, guarded = json.loads(output.stdout)
    return (
        "### SQLite\n\nOne process, WAL, synchronous FULL; committed one by one.\n\n"
        "| measure | /s | of raw |\n| --- | --- | --- |\n"
        f"| raw insert | {raw:,.0f} | 1 |\n| plain append | {plain:,.0f} | {plain / raw:.2f} |\n"
        f"| guarded append | {guarded:,.0f} | {guarded / raw:.2f} |"
    )


def prepare_tables() -> None:
    """Tables of all contestants."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute(contestants.RAW_TABLE)
    contestants.eventsourcing_recorder().create_table()


def fill(count: int, start: int) -> None:
    """Messages of 5 to a course, with one value on 10 % of them, in our log and in theirs."""
    from eventsourcing.dcb.api import DCBEvent

    from ccc_django import store

    recorder = contestants.eventsourcing_recorder()
    for first in range(start, start + count, 10_000):
        values = [filled(number) for number in range(first, min(first + 10_000, start + count))]
        store.append([contestants.UserJoinedCourse(**each) for each in values])
        events = [
            DCBEvent(type="joined", data=json.dumps(each).encode(), tags=[f"{k}:{v}" for k, v in each.items()])
            for each in values
        ]
        recorder.append(events)
        if first % 100_000 == 0:
            say(f"filled {first:,}")


def filled(number: int) -> dict[str, str]:
    """Ten messages to a course: five of a rare user, one of a popular one."""
    course = number // 10
    users = {0: "popular"} | dict.fromkeys(range(1, 6), f"few-{course}")
    return {"course_name": f"filled-{course}", "user_id": users.get(number % 10, f"user-{number}")}


def settings() -> str:
    """What the figures depend on."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT version(), current_setting('fsync'), current_setting('synchronous_commit')")
        version, fsync, commit = cursor.fetchone()
    from importlib.metadata import version as installed

    packages = ", ".join(f"{name} {installed(name)}" for name in ("Django", "psycopg", "pydantic", "eventsourcing"))
    return (
        f"{version.split(' on ')[0]}, fsync {fsync}, synchronous_commit {commit}; {packages}; {os.cpu_count()} cores, clients "
        f"and server on one machine. Medians of {ROUNDS} interleaved slices of {SECONDS:.0f} s. Every operation is committed by itself; "
        "every message has two attributes with values that are new. *raw* is a prepared, committed `INSERT … jsonb` into a table with a primary key and no "
        "other index. *ours* includes making and checking the messages. The guard names two attributes and is checked from position 0 on."
    )


def say(text: str) -> None:
    """Progress, for whoever waits."""
    print(text, file=sys.stderr, flush=True)
