"""The SQLite part of the append benchmark, in a process and a file of its own."""

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from django.conf import settings

SECONDS = 1.5


def main(path: Path) -> None:
    """Print the rates of raw inserts, plain and guarded appends."""
    options = {
        "transaction_mode": "IMMEDIATE",
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL",
    }
    database = {"ENGINE": "django.db.backends.sqlite3", "NAME": path, "OPTIONS": options}
    settings.configure(USE_TZ=True, INSTALLED_APPS=["ccc_django"], DATABASES={"default": database})
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    print(json.dumps(measure()))


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
    for _ in range(5):
        for work, taken in zip(works, rates, strict=True):
            started, count = time.perf_counter(), 0
            while time.perf_counter() - started < SECONDS:
                number += 1
                work(number)
                count += 1
            taken.append(count / (time.perf_counter() - started))
    return [statistics.median(each) for each in rates]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(Path(folder) / "log.sqlite3")
