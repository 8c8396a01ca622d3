"""Consuming: what manage.py consume does with its arguments: one worker here, or several under a supervisor."""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.core.management.base import OutputWrapper
from django.db import Error
from django.utils import autoreload

from ccc_django.consumers import registry
from ccc_django.consumers.declaring import declare
from ccc_django.errors import CCCError
from ccc_django.management.display import Display, Progress
from ccc_django.management.tables import table
from ccc_django.worker.loop import Limits, Worker
from ccc_django.worker.reloading import Reload, Reloading, start_over
from ccc_django.worker.stopping import Stopping
from ccc_django.worker.supervising import REPORTS, SUPERVISOR, Supervisor

SAY = 0.5  # seconds between two reports to a supervisor
MARGIN = 3.0  # seconds that a supervisor waits for its processes after their grace period
COLUMNS = ("group", "status", "handled", "failed", "lost", "lag", "failures")


def consume(options: dict[str, Any], out: OutputWrapper) -> int:
    """Run workers as they are asked for, until they have ended; the exit code."""
    consumers: Any = registry.consumers(options["groups"])
    if not consumers:
        raise LookupError("There is nothing to consume: declare consumers in an app's consumers.py.")
    stopping = Stopping(options["grace"])
    if SUPERVISOR in os.environ:
        return _child(consumers, options, stopping)
    for consumer in consumers:
        declare(consumer)
    is_live = not options["json"] and sys.stderr.isatty() and options["verbosity"] > 0
    if options["processes"] > 1:
        return _several(consumers, options, stopping, out, live=is_live)
    return _one(consumers, options, stopping, out, live=is_live)


def _one(consumers: Any, options: dict[str, Any], stopping: Stopping, out: OutputWrapper, *, live: bool) -> int:
    worker = _worker(consumers, options, stopping, _reloading(options))
    with stopping.on_signals():
        try:
            with _shown(consumers, worker.progress, live=live) as display:
                worker.run()
        except Reload:
            start_over(*_left(worker))
        _summarize(display, stopping, time.monotonic() - worker.started_at, out, as_json=options["json"])
    return 0


def _several(consumers: Any, options: dict[str, Any], stopping: Stopping, out: OutputWrapper, *, live: bool) -> int:
    started = time.monotonic()
    with stopping.on_signals(margin=MARGIN):
        supervisor = Supervisor(_commands(options), stopping)
        with _shown(consumers, supervisor.progress, live=live) as display:
            code = supervisor.run()
        stopping.ask("all processes have ended")
        _summarize(display, stopping, time.monotonic() - started, out, as_json=options["json"])
    return code


def _child(consumers: Any, options: dict[str, Any], stopping: Stopping) -> int:
    """A worker that tells its supervisor what it has done."""
    said_at = 0.0
    reloading = _reloading(options)

    def say() -> None:
        nonlocal said_at
        if time.monotonic() - said_at >= SAY:
            said_at = time.monotonic()
            reports.write(json.dumps(worker.progress()) + "\n")
            reports.flush()
        reloading()

    worker = _worker(consumers, options, stopping, say, parent=int(os.environ[SUPERVISOR]))
    with os.fdopen(int(os.environ[REPORTS]), "w", closefd=False) as reports:
        try:
            with stopping.on_signals():
                worker.run()
        except Reload:
            start_over(*_left(worker))
        said_at = 0.0
        say()
    return 0


def _reloading(options: dict[str, Any]) -> Callable[[], None]:
    """A program that calls the command is not ours to start over."""
    is_ours = "consume" in sys.argv
    return Reloading("consume") if settings.DEBUG and options["reload"] and is_ours else lambda: None


def _left(worker: Worker) -> list[str]:
    """What is left of a worker's limits, as arguments for the one that goes on."""
    most, seconds = worker.limits.max_messages, worker.limits.max_seconds
    left = [] if most is None else ["--max-messages", str(max(most - worker.handled, 1))]
    if seconds is not None:
        left += ["--max-seconds", str(max(seconds - (time.monotonic() - worker.started_at), 0.1))]
    return left


def _worker(
    consumers: Any, options: dict[str, Any], stopping: Stopping, between: Callable[[], None], parent: int | None = None
) -> Worker:
    limits = Limits(
        until_empty=options["until_empty"], max_messages=options["max_messages"], max_seconds=options["max_seconds"]
    )
    return Worker(
        consumers,
        stopping=stopping,
        name=options["name"],
        batch_size=options["batch_size"],
        limits=limits,
        between=between,
        parent=parent,
    )


def _commands(options: dict[str, Any]) -> list[tuple[list[str], int | None]]:
    """The command line of each process, and its share of a number of messages."""
    if "consume" not in sys.argv:
        raise ValueError("Several processes are started by the command itself: manage.py consume --processes N.")
    count, most = options["processes"], options["max_messages"]
    shares = [None] * count if most is None else [most // count + (n < most % count) for n in range(count)]
    command = [*autoreload.get_child_arguments(), "--processes", "1"]
    return [(command, share) for share in shares if share != 0]


def _shown(consumers: Any, progress: Callable[[], Progress], *, live: bool) -> Display:
    display = Display([each.group_name() for each in consumers], progress, live=live)
    display.show_log_lines()
    return display


def _summarize(display: Display, stopping: Stopping, seconds: float, out: OutputWrapper, *, as_json: bool) -> None:
    try:
        rows = display.rows()
    except (Error, CCCError):  # the database is gone, or a group is
        rows = display.rows_without_database()
    handled = sum(row["handled"] for row in rows)
    if as_json:
        out.write(
            json.dumps({"reason": stopping.reason, "seconds": round(seconds, 3), "handled": handled, "groups": rows})
            + "\n"
        )
        return
    out.write(table(COLUMNS, rows) + "\n")
    out.write(
        f"{handled:,} messages in {seconds:.1f} s ({handled / max(seconds, 0.001):,.0f}/s). Ended: {stopping.reason}.\n"
    )
