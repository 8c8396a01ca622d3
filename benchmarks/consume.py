"""Consumers: worker processes that empty a backlog, beside other job queues for Python and a raw loop."""

import os
import signal
import statistics
import sys
import tempfile
from typing import Any

from benchmarks.consume_peers import Contestant
from benchmarks.consume_peers.client import Client
from benchmarks.consuming import Figures, drain, idle_latency
from benchmarks.measuring import publish, say

QUICK = bool(os.environ.get("CCC_BENCH_QUICK"))
BACKLOGS = (2_000, 20_000) if QUICK else (10_000, 200_000)
PROCESSES = (1, 4)
ROUNDS = 1 if QUICK else int(os.environ.get("CCC_BENCH_ROUNDS", "2"))
TAKEN = "One round" if ROUNDS == 1 else f"Medians of {ROUNDS} rounds"
CAP = 4.0 if QUICK else 5.0  # seconds of one drain
REPORTS = 10 if QUICK else 20

RAW = Client("consume_peers.raw_loop", "psycopg")
SETTINGS = "consume_ours.settings"
OURS = [
    Client(f"consume_ours.with_{name}", "ccc-django", "Django", settings=SETTINGS)
    for name in ("batches", "singles", "partitions")
] + [
    Client("consume_ours.with_sqlite", "ccc-django", "Django", settings=SETTINGS, CCC_BENCH_ON_SQLITE="yes"),
]
MANY = 20_000 if QUICK else 1_000_000
PEERS = [
    Client("consume_peers.with_procrastinate", "procrastinate"),
    Client(
        "consume_peers.with_django_tasks",
        "django-tasks-db",
        "django-tasks",
        settings="consume_peers.django_tasks_settings",
    ),
    Client("consume_peers.with_django_q", "django-q2", settings="consume_peers.django_q_settings", together=True),
    Client("consume_peers.with_huey_postgres", "huey"),
    Client("consume_peers.with_huey_sqlite", "huey"),
    Client(
        "consume_peers.with_oban",
        "oban",
        needs="it asks for Python 3.12 or newer: name one that has it by CCC_BENCH_OBAN_PYTHON",
        python=os.environ.get("CCC_BENCH_OBAN_PYTHON", sys.executable),
    ),
]

Size = tuple[int, int]  # backlog and processes
SIZES: list[Size] = [(backlog, processes) for backlog in BACKLOGS for processes in PROCESSES]


def main() -> None:
    """Measure and publish."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the workers end, too
    missing = [reason for peer in PEERS if (reason := peer.missing())]
    contestants = [RAW, *OURS, *(peer for peer in PEERS if not peer.missing())]
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CCC_BENCH_FOLDER"] = folder
        try:
            text = page(contestants, *measure(contestants), missing)
            publish("consume", "Consumers", f"{text}\n\n{long_backlog()}")
        finally:
            for client in (RAW, *PEERS):
                client.close()


def measure(contestants: list[Contestant]) -> tuple[dict[str, dict[Size, Figures]], dict[str, float]]:
    """The medians of what each contestant did for each size, and its latency; each round visits every contestant."""
    runs: dict[str, dict[Size, list[Figures]]] = {each.NAME: {size: [] for size in SIZES} for each in contestants}
    latencies: dict[str, list[float]] = {each.NAME: [] for each in contestants}
    for number in range(1, ROUNDS + 1):
        for size in SIZES:
            for each in contestants:
                figures = drain(each, backlog=size[0], processes=size[1], cap=CAP)
                runs[each.NAME][size].append(figures)
                say(
                    f"{number}: {each.NAME}, {size[0]:,} × {size[1]}: {figures.rate:,.0f}/s, {figures.cpu_per_job_ms:.2f} ms"
                )
        for each in contestants:
            latencies[each.NAME].append(idle_latency(each, count=REPORTS))
            say(f"{number}: {each.NAME}, idle: {latencies[each.NAME][-1]:.1f} ms")
    medians = {name: {size: median(figures) for size, figures in taken.items()} for name, taken in runs.items()}
    return medians, {name: statistics.median(taken) for name, taken in latencies.items()}


def long_backlog() -> str:
    """Processor time of a message in a short backlog, a long one, and a short one again."""
    batches = OURS[0]
    short, long = BACKLOGS[0], MANY
    taken = [drain(batches, backlog=size, processes=1, cap=10 * CAP) for size in (short, long, short)]
    before, many, after = (each.cpu_per_job_ms * 1e3 for each in taken)
    return (
        f"{batches.NAME}, one process: {before:.1f} and {after:.1f} µs of processor time a message with a backlog of {short:,}, "
        f"before and after {many:.1f} µs with one of {long:,} ({taken[1].rate:,.0f}/s)."
    )


def median(figures: list[Figures]) -> Figures:
    """Of each figure."""
    rates, costs = [each.rate for each in figures], [each.cpu_per_job_ms for each in figures]
    return Figures(statistics.median(rates), statistics.median(costs))


def page(
    contestants: list[Any], runs: dict[str, dict[Size, Figures]], latencies: dict[str, float], missing: list[str]
) -> str:
    """The table, and how everyone was configured."""
    columns = [f"{backlog:,}, {processes} process{'es' if processes > 1 else ''}" for backlog, processes in SIZES]
    lines = [
        f"Jobs a second of worker processes that empty a backlog, one job at a time in each, with handlers that do nothing; in brackets the share of the raw loop's rate. Processor time is that of a worker process, its children and threads, for a job of the last two columns; the last column is from before a job is enqueued until its handler runs in a worker that was idle, the median of {REPORTS}. Starting is not counted; a backlog that is empty within a second is made five times as long; a drain ends after {CAP:.0f} s. {TAKEN}, in turns, on one PostgreSQL that syncs to disk.",
        "",
        f"| contestant | {' | '.join(columns)} | CPU ms a job, 1 / 4 processes | idle to handler, ms |",
        f"| --- | {' | '.join('---' for _ in columns)} | --- | --- |",
    ]
    for each in contestants:
        cells = [
            f"{runs[each.NAME][size].rate:,.0f} ({runs[each.NAME][size].rate / runs[RAW.NAME][size].rate:.2f})"
            for size in SIZES
        ]
        costs = " / ".join(f"{runs[each.NAME][size].cpu_per_job_ms:.3f}" for size in SIZES[2:])
        lines.append(f"| {each.NAME} | {' | '.join(cells)} | {costs} | {latencies[each.NAME]:.1f} |")
    lines.append("")
    for each in contestants:
        versions = ", ".join(f"{package} {each.version(package)}" for package in each.PACKAGES)
        lines.append(f"- **{each.NAME}** ({versions}): {each.CONFIGURATION}")
    lines += [f"- Not measured: {reason}." for reason in missing]
    return "\n".join(lines)
