"""Display: how a worker's groups are doing, live on a terminal if rich is installed, as log lines otherwise."""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, Self

from django.db import Error

from ccc_django import groups, wording
from ccc_django.consumers import registry
from ccc_django.errors import CCCError
from ccc_django.extras import is_installed
from ccc_django.models import StoredMessage
from ccc_django.worker.outside import outside

Progress = dict[str, dict[str, Any]]
LIVE, LINES, SELDOM = 0.5, 10.0, 30.0  # seconds between two looks; where nothing happens
SHARE = 20  # looking may take this part of the time
SAID = ("group", "handled", "rate", "lag", "in_flight", "failures")
NOTHING = {"handled": 0, "failed": 0, "lost": 0, "rate": 0.0}


class Display:
    """Shows what is done until it is closed."""

    def __init__(self, names: Iterable[str], progress: Callable[[], Progress], *, live: bool) -> None:
        self.names = list(names)
        self.progress = progress
        self.waiting = dict.fromkeys(self.names, 0)  # messages that were or are to be handled, as far as counted
        self.counted_upto: dict[str, int] = {}
        self.live = self._live() if live and is_installed("rich") else None
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        if self.live is not None:
            self.live.start()
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join(LIVE * 4)
        if self.live is not None:
            self._look()
            self.live.stop()

    def show_log_lines(self) -> None:
        """Where the project has not said what becomes of our log lines, they are shown here."""
        ours = logging.getLogger("ccc_django")
        if ours.hasHandlers():
            return
        handler: logging.Handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        if self.live is not None:
            from rich.logging import RichHandler  # noqa: PLC0415 - an extra

            handler = RichHandler(console=self.live.console, show_path=False)
        ours.addHandler(handler)
        ours.setLevel(logging.INFO)

    def rows(self) -> list[dict[str, Any]]:
        """Each group with what was done for it and how it stands."""
        done = self.progress()
        return [self._row(name, done.get(name, NOTHING)) for name in self.names]

    def rows_without_database(self) -> list[dict[str, Any]]:
        """What was done, and nothing of how the groups stand."""
        done = self.progress()
        unknown = {"status": "?", "lag": "?", "in_flight": "?", "failures": "?"}
        return [{"group": name, **unknown, **done.get(name, NOTHING)} for name in self.names]

    def _row(self, name: str, count: dict[str, Any]) -> dict[str, Any]:
        status = groups.status(name)
        if self.live is not None:
            self._count(name, status)
        failures = status.failures + status.dead_letters
        return {
            "group": name,
            "status": status.status,
            "lag": status.lag,
            "in_flight": status.claims,
            "failures": failures,
            **count,
        }

    def _count(self, name: str, status: groups.Status) -> None:
        """How many messages wait, by their types; each is counted once."""
        after = self.counted_upto.get(name, status.low_watermark)
        types = registry.consumer(name).handled_types()
        new = StoredMessage.objects.after(after).upto(status.head).of_types(types)
        self.waiting[name] += new.count()
        self.counted_upto[name] = max(after, status.head)

    def _run(self) -> None:
        """Look when something was done, and now and then; where nothing happens, looking costs little."""
        pause, look_at, shown = LIVE if self.live is not None else LINES, 0.0, None
        while not self.ended.wait(pause):
            started, handled = time.monotonic(), [count["handled"] for count in self.progress().values()]
            if started < look_at and handled == shown:
                continue
            self._look()
            look_at, shown = started + SELDOM, handled
            pause = max(LIVE if self.live is not None else LINES, SHARE * (time.monotonic() - started))

    def _look(self) -> None:
        try:
            with outside():
                self._show(self.rows())
        except (Error, CCCError) as error:
            wording.not_shown(error=wording.line_of(error))

    def _show(self, rows: list[dict[str, Any]]) -> None:
        if self.live is not None:
            self.live.update(self._table(rows))
            return
        for row in rows:
            if row["rate"]:
                wording.progressed(**{name: row[name] for name in SAID})

    def _live(self) -> Any:
        from rich.console import Console  # noqa: PLC0415 - an extra
        from rich.live import Live  # noqa: PLC0415 - an extra

        return Live(console=Console(stderr=True), refresh_per_second=1 / LIVE)

    def _table(self, rows: list[dict[str, Any]]) -> Any:
        from rich.progress_bar import ProgressBar  # noqa: PLC0415 - an extra
        from rich.table import Table  # noqa: PLC0415 - an extra

        table = Table("group", "", "lag", "rate", "in flight", "handled", "failures", box=None, padding=(0, 2))
        for column in table.columns[2:]:
            column.justify = "right"
        for row in rows:
            total = max(self.waiting[row["group"]], row["handled"], 1)
            bar = ProgressBar(total=total, completed=row["handled"] if row["lag"] else total, width=24)
            name = row["group"] if row["status"] == "active" else f"{row['group']} ({row['status']})"
            figures = (
                f"{row['lag']:,}",
                f"{row['rate']:,.0f}/s",
                row["in_flight"],
                f"{row['handled']:,}",
                row["failures"],
            )
            table.add_row(name, bar, *map(str, figures))
        return table
