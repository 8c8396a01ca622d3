"""Appends to SQLite, one by one, in a process and a file of their own."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

from benchmarks.measuring import publish

SECONDS = 1.5
ROUNDS = 7


def main() -> None:
    """Measure and publish."""
    with tempfile.TemporaryDirectory() as folder:
        here = {"DJANGO_SETTINGS_MODULE": "benchmarks.sqlite_settings", "CCC_BENCH_SQLITE": f"{folder}/log.sqlite3"}
        command = [sys.executable, "-m", "benchmarks.append_sqlite"]
        output = subprocess.run(command, env=os.environ | here, stdout=subprocess.PIPE, text=True, check=True).stdout
    raw, plain, guarded = json.loads(output)
    text = (
        f"One process, WAL, synchronous FULL, committed one by one; medians of {ROUNDS} interleaved slices of {SECONDS} s.\n\n"
        "| measure | /s | of raw |\n| --- | --- | --- |\n"
        f"| raw insert | {raw:,.0f} | 1 |\n| plain append | {plain:,.0f} | {plain / raw:.2f} |\n"
        f"| guarded append | {guarded:,.0f} | {guarded / raw:.2f} |"
    )
    publish("append_sqlite", "Append on SQLite", text)


def measure() -> list[float]:
    """Rates in operations a second, in turns."""
    from django.db import connection

    from benchmarks.append_contestants import UserJoinedCourse, guard, payload
    from ccc_django import store

    cursor = connection.cursor()
    cursor.execute("CREATE TABLE raw_messages (position integer PRIMARY KEY AUTOINCREMENT, payload text NOT NULL)")

    def raw(number: int) -> None:
        cursor.execute("INSERT INTO raw_messages (payload) VALUES (%s)", [json.dumps(payload(number))])

    def plain(number: int) -> None:
        store.append(UserJoinedCourse(**payload(number)))

    def guarded(number: int) -> None:
        store.append(UserJoinedCourse(**payload(number)), guard=guard(number))

    works: list[Callable[[int], None]] = [raw, plain, guarded]
    rates: list[list[float]] = [[], [], []]
    number = 0
    for _ in range(ROUNDS):
        for work, taken in zip(works, rates, strict=True):
            started, count = time.perf_counter(), 0
            while time.perf_counter() - started < SECONDS:
                number += 1
                work(number)
                count += 1
            taken.append(count / (time.perf_counter() - started))
    return [statistics.median(each) for each in rates]


if __name__ == "__main__":
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)
    print(json.dumps(measure()))
