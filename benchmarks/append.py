"""Append, against raw inserts and eventsourcing's DCB recorder, on logs of several sizes."""

import os

from benchmarks import append_contestants as contestants
from benchmarks.clients import Figures, take_turns
from benchmarks.filling import fill, prepare_tables
from benchmarks.measuring import publish, say

QUICK = bool(os.environ.get("CCC_BENCH_QUICK"))
SIZES = (0, 20_000) if QUICK else (0, 100_000, 1_000_000)
ROUNDS, SECONDS = (2, 1.0) if QUICK else (5, 2.0)


def main() -> None:
    """Measure and publish."""
    prepare_tables()
    sections, held = [], 0
    for size in SIZES:
        fill(size - held, start=held)
        held = size
        say(f"log of {size:,}")
        sections.append(append_section(size))
    publish("append", "Append", "\n\n".join([settings(), *sections]))


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
