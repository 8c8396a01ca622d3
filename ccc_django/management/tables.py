"""Tables: rows and progress for people at a terminal."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ccc_django.extras import is_installed
from ccc_django.models import PayloadIndex


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
    if isinstance(value, float):
        return f"{value:.0%}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return ", ".join(map(str, value)) or "-" if isinstance(value, list) else str(value)


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
