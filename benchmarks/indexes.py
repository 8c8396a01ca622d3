"""Payload indexes: reads by filters, conditional appends by a combination, and building against plain inserts."""

import os
import statistics
import time
from typing import Any

from benchmarks.append_contestants import UserJoinedCourse, payload
from benchmarks.clients import Figures, django_backend, take_turns
from benchmarks.filling import filled
from benchmarks.measuring import publish, say
from benchmarks.reads import db_by_key, server_time
from ccc_django import Condition, Event, Guard, indexes, store, where

QUICK = bool(os.environ.get("CCC_BENCH_QUICK"))
SIZE = 40_000 if QUICK else 1_000_000
BATCH = 20_000
FIELDS = ["course_name", "user_id"]

TWINS = """
CREATE TABLE twin_entries (LIKE ccc_message_key_pairs INCLUDING ALL);
CREATE TABLE twin_pairs (LIKE ccc_key_pairs INCLUDING ALL);
INSERT INTO twin_entries SELECT * FROM ccc_message_key_pairs;
INSERT INTO twin_pairs SELECT * FROM ccc_key_pairs;
"""
SAVE = """
CREATE TABLE saved AS
SELECT pair.digest, pair.name, pair.value, entry.shape, entry.position
FROM ccc_message_key_pairs AS entry JOIN ccc_key_pairs AS pair ON pair.digest = entry.key_pair
WHERE entry.position > %s AND entry.position <= %s AND pair.name = %s
"""


class UserLeftCourse(Event, type="benchmark.left"):
    """A message of two attributes that no combination covers."""

    course: str
    user: str


def main() -> None:
    """Measure and publish."""
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    for first in range(0, SIZE, 10_000):
        store.append([UserJoinedCourse(**filled(number)) for number in range(first, first + 10_000)])
        if first % 100_000 == 0:
            say(f"filled {first:,}")
    building = building_section()
    publish("indexes", "Payload indexes", "\n\n".join([reading_section(), appending_section(), building]))


def building_section() -> str:
    """Entries of a combination for old messages, batch by batch, in turns with inserts of the same rows."""
    from django.db import connection

    from ccc_django.indexes import building
    from ccc_django.models import PayloadIndex

    building.BATCH = BATCH
    cursor = connection.cursor()
    cursor.execute(TWINS)
    row = indexes.declare("payload_hash", FIELDS, complete=False)
    ratios, ours, plain = [], [], []
    while (state := PayloadIndex.objects.get(pk=row.pk)).status != "ready":
        after, started = state.built_upto, time.perf_counter()
        building.build_batch(row.pk)
        ours.append(time.perf_counter() - started)
        cursor.execute("DROP TABLE IF EXISTS saved")
        cursor.execute(SAVE, [after, PayloadIndex.objects.get(pk=row.pk).built_upto, state.name])
        started = time.perf_counter()
        cursor.execute("INSERT INTO twin_entries SELECT digest, shape, position FROM saved")
        cursor.execute("INSERT INTO twin_pairs SELECT DISTINCT digest, name, value FROM saved")
        plain.append(time.perf_counter() - started)
        ratios.append(plain[-1] / ours[-1])
    return (
        f"Building the combination for {SIZE:,} messages in batches of {BATCH:,}, in turns with a plain `INSERT … SELECT` of the same rows "
        f"into tables of the same size: {statistics.median(ratios):.2f} of its speed (median of {len(ratios)} batches; "
        f"{sum(ours) / SIZE * 1e6:.0f} and {sum(plain) / SIZE * 1e6:.0f} µs a message)."
    )


def statement_for(wanted: Any) -> str:
    """The statement that a read would use."""
    return "read_conditions" if wanted.is_plain else "read_filter"


def reading_section() -> str:
    """Server time of filters as multiples of a select by primary key."""
    from ccc_django import db, declared
    from ccc_django.compiling import compiled
    from ccc_django.wanted import EVERYTHING, Wanted

    known, pid = declared.reload(), django_backend()
    base = server_time(db_by_key(SIZE), pid)

    def reading(wanted: Wanted) -> float:
        return (
            server_time(lambda: db.rows(statement_for(wanted), **wanted.parameters(after=0, most=EVERYTHING)), pid)
            / base
        )

    of_type = {"type": UserJoinedCourse, "course_name": "filled-7"}
    rows = [
        ("a combination, one probe: 5 messages", known.wanted(where(**of_type, user_id="few-7"))),
        ("the same, of any type", known.wanted(where(course_name="filled-7", user_id="few-7"))),
        ("a combination with a value on 10 % of the log: 1 message", known.wanted(where(**of_type, user_id="popular"))),
        ("two fields, the selective AND the popular: 1 message", compiled(where(**of_type, user_id="popular"), [])),
        (
            "two alternatives",
            known.wanted(where(**of_type, user_id="few-7") | where(course_name="filled-9", user_id="few-9")),
        ),
    ]
    lines = [f"| {label} | {reading(wanted):.1f}× |" for label, wanted in rows]
    title = f"At {SIZE:,} messages. Server time as a multiple of a select by primary key ({base * 1e6:.0f} µs)."
    return "\n".join([title, "", "| filter | ours |", "| --- | --- |", *lines])


def appending_section() -> str:
    """Conditional appends by the combination, in turns with guarded appends by two conditions."""

    def by_combination(_client: int) -> Any:
        def work(number: int) -> None:
            values = payload(number)
            free = where(type=UserJoinedCourse, **values)
            store.append(UserJoinedCourse(**values), guard=Guard(filter=free, after=0))

        return work, django_backend

    def by_conditions(_client: int) -> Any:
        def work(number: int) -> None:
            values = {"course": f"course-{number}", "user": f"user-{number}"}
            conditions = tuple(Condition(UserLeftCourse.type, name, value) for name, value in values.items())
            store.append(UserLeftCourse(**values), guard=Guard(conditions=conditions, after=0))

        return work, django_backend

    lines = []
    for clients in (1, 4):
        figures: dict[str, Figures] = take_turns(
            {"conditions": by_conditions, "combination": by_combination},
            clients=clients,
            rounds=2 if QUICK else 7,
            seconds=1.0 if QUICK else 2.0,
        )
        plain, ours = figures["conditions"], figures["combination"]
        times = f"{plain.client:.0f} + {plain.server:.0f} | {ours.client:.0f} + {ours.server:.0f}"
        lines.append(f"| {clients} | {ours.rate / plain.rate:.2f} | {times} |")
    title = (
        "Conditional append by the combination, which has one entry more, against a guarded append by two conditions."
    )
    head = "| clients | rate | µs client + server: by conditions | by combination |"
    return "\n".join([title, "", head, "| --- | --- | --- | --- |", *lines])
