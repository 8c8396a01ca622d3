"""Measuring: contestants take turns, so that a noisy machine is noisy for all of them."""

import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs" / "benchmarks"


def take_turns(contestants: dict[str, Callable[[], object]], *, calls: int, rounds: int) -> dict[str, float]:
    """The median time of one call of each contestant, in seconds."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, contestant in contestants.items():
            started = time.perf_counter()
            for _ in range(calls):
                contestant()
            times[name].append((time.perf_counter() - started) / calls)
    return {name: statistics.median(taken) for name, taken in times.items()}


def publish(name: str, title: str, text: str) -> None:
    """Write a section of docs/benchmarks.md, and show it."""
    machine = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    page = f"## {title}\n\n{text}\n\nMeasured with {machine}.\n"
    DOCS.mkdir(exist_ok=True)
    (DOCS / f"{name}.md").write_text(page)
    print(page)


def say(text: str) -> None:
    """Progress, for whoever waits."""
    print(text, file=sys.stderr, flush=True)
