"""Retention: pruning beside a plain batched DELETE, backfills beside a plain INSERT, sessions beside a raw loop."""

import json
import os
import statistics
import time
from collections.abc import Callable
from typing import Any

from benchmarks import retention_contestants as contestants
from benchmarks.groups import raw_cursor, settle
from benchmarks.measuring import publish, say, take_turns

QUICK = bool(os.environ.get("CCC_BENCH_QUICK"))
ROUNDS = 5 if QUICK else 10
SIZE = 10_000 if QUICK else 100_000  # messages of a topic; a round prunes, or backfills, one of them
CALLS, TURNS = (50, 5) if QUICK else (200, 15)

Figures = dict[str, float]


def main() -> None:
    """Measure and publish."""
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    parts = os.environ.get("CCC_BENCH_PARTS", "pruning backfilling reading").split()
    measures = {"pruning": pruning, "backfilling": backfilling, "reading": reading}
    figures = {}
    for name in parts:
        figures[name] = measures[name]()
        say(f"{name}: {json.dumps(figures[name])}")
    if len(parts) == len(measures):
        publish("retention", "Retention, backfill and sessions", page(figures))


def pruning() -> dict[str, Figures]:
    """Messages a second, in turns; what the longest statement of ours took; and the same between others' messages."""
    figures: dict[str, Figures] = {}
    for label, between in (("alone", 0), ("between", 1)):
        taken: dict[str, list[float]] = {"ours": [], "plain": [], "lazy": []}
        longest = 0.0
        for number in range(ROUNDS + 1):
            names = {what: f"{label}-{what}-{number}" for what in taken}
            for name in names.values():
                contestants.fill(name, SIZE, between=between)
            contestants.finish(names["ours"])
            settle()
            order = [*taken][number % 3 :] + [*taken][: number % 3]
            for what in order:
                started = time.perf_counter()
                if what == "ours":
                    longest = max(longest, contestants.prune(names[what], SIZE))
                else:
                    contestants.delete_plainly(names[what], is_lazy=what == "lazy", between=between)
                taken[what].append((time.perf_counter() - started) / SIZE)
            contestants.empty()
        say(json.dumps({what: [round(1 / each) for each in values] for what, values in taken.items()}))
        figures[label] = rates(taken, "lazy") | {"longest": longest}
    return figures


def rates(taken: dict[str, list[float]], base: str) -> Figures:
    """Medians, the first round only warms up; a ratio is the median of the rounds' own."""
    ratios = {what: [theirs / ours for ours, theirs in zip(values, taken[base])] for what, values in taken.items()}
    found = {what: 1 / statistics.median(values[1:]) for what, values in taken.items()}
    return found | {f"{what}_ratio": statistics.median(values[1:]) for what, values in ratios.items()}


def backfilling() -> Figures:
    """Messages a second that become deliveries of a group that comes late."""
    from ccc_django import topics

    contestants.fill("history", SIZE)
    settle()
    plain = contestants.plain_deliveries("history")
    taken: dict[str, list[float]] = {"ours": [], "plain": [], "batches": []}
    for number in range(ROUNDS + 1):
        topics.subscribe("history", group=f"late-{number}", mode="all")
        works: dict[str, Callable[[], object]] = {
            "ours": lambda n=number: topics.backfill("history", group=f"late-{n}"),
            "plain": lambda: plain(SIZE),
            "batches": lambda: plain(10_000),
        }
        for what in [*works][number % 3 :] + [*works][: number % 3]:
            started = time.perf_counter()
            works[what]()
            taken[what].append((time.perf_counter() - started) / SIZE)
        contestants.check_deliveries(f"late-{number}", SIZE)
        topics.remove_group("history", f"late-{number}")
    say(json.dumps({what: [round(1 / each) for each in values] for what, values in taken.items()}))
    return rates(taken, "plain")


def reading() -> dict[str, Figures]:
    """Records a second, one by one and a hundred at a time."""
    needed = (TURNS + 2) * CALLS
    contestants.fill("read", max(needed * 100, 1_000) if not QUICK else needed * 100)
    settle()
    cursor = raw_cursor()
    figures = {}
    for label, limit, calls in (("one", 1, CALLS), ("hundred", 100, CALLS // 5)):
        works = {
            "raw": contestants.raw_reader(cursor, "read", limit),
            "manual": contestants.session_reader("read", "manual", limit),
            "auto": contestants.session_reader("read", "auto", limit),
        }
        taken: dict[str, list[float]] = {what: [] for what in works}
        for _ in range(TURNS + 1):
            for what, seconds in take_turns(works, calls=calls, rounds=1).items():
                taken[what].append(seconds / limit)
        figures[label] = rates(taken, "raw")
    cursor.connection.close()
    return figures


def page(figures: dict[str, Any]) -> str:
    """The tables."""
    return "\n\n".join([pruned(figures["pruning"]), backfilled(figures["backfilling"]), read(figures["reading"])])


def pruned(figures: dict[str, Figures]) -> str:
    """Beside plain statements."""
    lines = [
        f"PostgreSQL, one process. {ROUNDS} topics of {SIZE:,} messages that everybody has done, with two index entries each, pruned by `topics.prune`, in turns with a plain `DELETE` of a range of messages and one of their entries, 10,000 messages a commit. Ratios are medians of the rounds' own, to the plain one that does not wait for the disk, as ours does not.",
        "",
        "| messages | plain a second | plain, not waiting for the disk | `topics.prune` | of that | longest statement ms |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    rows = {"alone": "of one topic alone", "between": "every other one is of another topic"}
    for name, label in rows.items():
        each = figures[name]
        lines.append(
            f"| {label} | {each['plain']:,.0f} | {each['lazy']:,.0f} | {each['ours']:,.0f} | {each['ours_ratio']:.2f} | {each['longest'] * 1e3:.0f} |"
        )
    return "\n".join(lines)


def backfilled(figures: Figures) -> str:
    """Beside a plain INSERT."""
    return "\n".join(
        [
            f"A backfill of {SIZE:,} messages for a group that comes late, in turns with a plain `INSERT … SELECT` of the same rows into a table with the same indexes, at once, and 10,000 a commit.",
            "",
            "| how | messages a second | of the plain one |",
            "| --- | --- | --- |",
            f"| plain, at once | {figures['plain']:,.0f} | 1 |",
            f"| plain, 10,000 a commit | {figures['batches']:,.0f} | {figures['batches_ratio']:.2f} |",
            f"| `topics.backfill` | {figures['ours']:,.0f} | {figures['ours_ratio']:.2f} |",
        ]
    )


def read(figures: dict[str, Figures]) -> str:
    """Beside a raw loop."""
    lines = [
        "A session, in turns with a raw loop: select the next row of the topic by its index, parse its payload, update an offset, commit.",
        "",
        "| records | raw loop a second | poll and commit | of the raw loop | poll with auto commit | of the raw loop |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, label in {"one": "one by one", "hundred": "a hundred at a time"}.items():
        each = figures[name]
        ours = f"{each['manual']:,.0f} | {each['manual_ratio']:.2f} | {each['auto']:,.0f} | {each['auto_ratio']:.2f}"
        lines.append(f"| {label} | {each['raw']:,.0f} | {ours} |")
    return "\n".join(lines)
