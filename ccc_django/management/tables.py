"""Tables: rows and progress for people at a terminal."""

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

from django.core.management.base import OutputWrapper
from pydantic_core import to_jsonable_python

from ccc_django.extras import is_installed
from ccc_django.models import PayloadIndex

CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")  # what somebody has put into an error must not move the cursor
UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def table(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows in columns that line up, as text that can be copied and cut."""
    lines = [[column.replace("_", " ") for column in columns]]
    lines += [[_text(row[column]) for column in columns] for row in rows]
    if len(lines) == 1:
        return "There are none."
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    padded = [[cell.ljust(width) for cell, width in zip(line, widths, strict=True)] for line in lines]
    return "\n".join("  ".join(line).rstrip() for line in padded)


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.0%}"
    if isinstance(value, timedelta):
        return span(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return ", ".join(map(str, value)) or "-" if isinstance(value, list) else CONTROLS.sub(" ", str(value))


def json_text(what: Any) -> str:
    """Anything that we have, for scripts."""
    return json.dumps(to_jsonable_python(what, timedelta_mode="float"), indent=2)


def span(duration: timedelta) -> str:
    """A duration in its largest unit, as people say it."""
    seconds = duration.total_seconds()
    unit, length = next((each for each in UNITS if seconds >= each[1]), UNITS[-1])
    return f"{int(seconds / length):,} {unit}"


def watch(show: Callable[[], str], every: float, out: OutputWrapper) -> None:
    """Show something again and again until Ctrl-C; on a terminal in the same place, if rich is installed."""
    with suppress(KeyboardInterrupt), _painter(out) as paint:
        while True:
            paint(show())
            time.sleep(every)


@contextmanager
def _painter(out: OutputWrapper) -> Iterator[Callable[[str], None]]:
    if not (out.isatty() and is_installed("rich")):
        yield lambda text: (out.write(f"{text}\n"), out.flush())[1]
        return
    from rich.live import Live  # noqa: PLC0415 - an extra
    from rich.text import Text  # noqa: PLC0415 - an extra

    with Live(auto_refresh=False) as live:
        yield lambda text: live.update(Text(text, no_wrap=True, overflow="ellipsis"), refresh=True)


@contextmanager
def progress_bar(label: str, total: int, *, quiet: bool) -> Iterator[Callable[[int], None] | None]:
    """A bar for something that is counted, if rich is installed."""
    if quiet or not is_installed("rich"):
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - an extra
    from rich.progress import Progress  # noqa: PLC0415 - an extra

    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task(label, total=total)
        yield lambda done: progress.update(task, completed=done)


@contextmanager
def index_progress() -> Iterator[Callable[[PayloadIndex], None] | None]:
    """A bar for each index that is built, if rich is installed."""
    if not is_installed("rich"):
        yield None
        return
    from rich.progress import Progress  # noqa: PLC0415 - an extra

    with Progress() as progress:
        tasks: dict[int, Any] = {}

        def draw(row: PayloadIndex) -> None:
            if row.pk not in tasks:
                tasks[row.pk] = progress.add_task(str(row))
            progress.update(tasks[row.pk], completed=row.built_upto, total=row.upto)

        yield draw
