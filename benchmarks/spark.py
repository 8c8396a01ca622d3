"""Spark: read, assign and fold, archive, at three sizes, as multiples of psql COPY of the same rows."""

import json
import multiprocessing
import os
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from benchmarks import spark_contestants as contestants
from benchmarks.measuring import publish, say

QUICK = bool(os.environ.get("CCC_BENCH_QUICK"))
SIZES = {100_000: 2} if QUICK else {1_000_000: 5, 4_000_000: 3, 10_000_000: 2}  # with how many rounds
AIMS = {"read": 1.2, "assign": 3.5, "export": 4.0}

Figures = dict[str, float]


def main() -> None:
    """Measure and publish."""
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    from ccc_django import spark as ccc

    session = ccc.session()
    figures: dict[int, Figures] = {}
    for size, rounds in SIZES.items():
        contestants.fill(size, say)
        figures[size] = measured(session, rounds)
        say(f"{size:,}: {json.dumps(figures[size])}")
    publish("spark", "Spark", page(figures))


def measured(session: Any, rounds: int) -> Figures:
    """Median seconds of each contestant, in turns, after one round that warms everything up; what that took, too."""
    tasks: dict[str, Callable[[], Any]] = {
        "copy": contestants.copy,
        "read": lambda: read(session),
        "assign": lambda: assign(session),
        "assign sql": contestants.assign_in_sql,
        "assign python": lambda: alone(contestants.assign_in_python),
        "export": lambda: export(session),
        "export python": lambda: alone(export_in_python),
    }
    taken: dict[str, list[float]] = {name: [] for name in tasks}
    for number in range(rounds + 1):
        found = {}
        for name, task in tasks.items():
            started = time.perf_counter()
            found[name] = task()
            taken[name].append(time.perf_counter() - started)
        say(json.dumps({"round": number, **{name: round(times[-1], 2) for name, times in taken.items()}}))
        totals = {found[name] for name in ("assign", "assign sql", "assign python")}
        assert len(totals) == 1, f"Spark, SQL and Python do not agree: {totals}"
    figures = {name: statistics.median(times[1:]) for name, times in taken.items()}
    figures |= {f"first {name}": taken[name][0] for name in AIMS}
    return figures | {"driver MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def alone(task: Callable[[], Any]) -> Any:
    """In a process of its own: what it needs of memory is not the driver's."""
    from django.db import connections

    connections.close_all()
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        return pool.submit(task).result()


def read(session: Any) -> None:
    from ccc_django import spark as ccc

    ccc.read(session).write.format("noop").mode("overwrite").save()


def assign(session: Any) -> tuple[int, ...]:
    """Count and last position of every partition; then three totals, which SQL and Python must come to as well."""
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    from ccc_django import spark as ccc

    assignment = ccc.assign(["course_name", "user_id"], keep=["position"])
    folded = (
        ccc.read(session, columns=["position", "message_type", "payload", "attributes"])
        .transform(assignment)
        .groupBy("partition_id")
        .agg(F.count("*").alias("messages"), F.max("position").alias("position"))
    )
    totals = folded.agg(F.count("*"), F.sum("messages"), F.sum("position")).first()
    assignment.forget()
    return tuple(totals)


def export(session: Any) -> None:
    from ccc_django.spark.exporting import export as exported

    folder = tempfile.mkdtemp(prefix="ccc-bench-")
    exported(session, folder)
    shutil.rmtree(folder)


def export_in_python() -> None:
    folder = tempfile.mkdtemp(prefix="ccc-bench-")
    contestants.export_in_python(folder)
    shutil.rmtree(folder)


def page(figures: dict[int, Figures]) -> str:
    """The tables of the documentation."""
    lines = [
        "Medians as multiples of that of `psql COPY` of the same rows, in turns; the first run at a size, of which the very first compiles, in\nbrackets. The log has one hot course on a fifth of it, and every tenth message names its partitions in part.",
        "",
        "| messages | COPY | read (aim 1.2) | assign + fold (3.5) | the same in SQL | in Python | Parquet export (4) | in Python |",
        "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for size, found in figures.items():
        ratio = {name: value / found["copy"] for name, value in found.items()}
        cells = [
            f"{size:,}",
            f"{found['copy']:.1f} s",
            *(f"{ratio[name]:.2f} ({ratio[f'first {name}']:.1f})" for name in ("read", "assign")),
            f"{ratio['assign sql']:.2f}",
            f"{ratio['assign python']:.2f}",
            f"{ratio['export']:.2f} ({ratio['first export']:.1f})",
            f"{ratio['export python']:.2f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    sizes = [*figures]
    if len(sizes) > 1:
        small, large = figures[sizes[0]], figures[sizes[-1]]
        lines += ["", f"From {sizes[0]:,} to {sizes[-1]:,} messages the time grows by (aim: less than 11):", ""]
        lines += [
            f"- {name}: {large[name] / small[name]:.1f}" for name in ("copy", *AIMS, "assign sql", "assign python")
        ]
    driver = ", ".join(f"{found['driver MB']:.0f} MB at {size:,}" for size, found in figures.items())
    return "\n".join([*lines, "", f"The driver's Python process took at most {driver}."])
