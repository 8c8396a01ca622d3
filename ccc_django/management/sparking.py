"""Sparking: what manage.py ccc_spark does: start Spark, run a job with a bar, end Spark, tell what came of it."""

import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from ccc_django.extras import is_installed, require
from ccc_django.management.spark_jobs import JOBS, Options


def add_jobs(verbs: Any) -> None:
    """The jobs as subcommands, each with what all have."""
    for name, job in JOBS.items():
        parser = verbs.add_parser(name, help=job.help, description=job.help)
        job.add_arguments(parser)
        _add_options(parser)


def _add_options(job: ArgumentParser) -> None:
    job.add_argument("--master", metavar="URL", help="where Spark runs (local[*])")
    job.add_argument(
        "--conf", action="append", type=_setting, metavar="K=V", help="a setting of Spark; may be repeated"
    )
    job.add_argument("--after", type=_position, metavar="N", help="messages beyond this position")
    job.add_argument("--upto", type=_position, metavar="N", help="messages up to this position")
    job.add_argument("--dry-run", action="store_true", help="say what would be done, and change nothing")


def run(name: str, options: Options) -> tuple[Any, str]:
    """Run a job, or foresee it: facts for scripts, and a text for people."""
    require("pyspark")
    _refuse_what_does_not_fit(options)
    job = JOBS[name]
    if options["dry_run"]:
        foreseen = job.foresee(options)
        return foreseen, job.foreseen_text(foreseen)
    with _session(options) as session, nullcontext() if options.get("follow") else _shown(session, name):
        facts = job.run(session, options)
    return facts, job.text(facts)


def _refuse_what_does_not_fit(options: Options) -> None:
    """Before Spark is started, and before anything is counted."""
    if options.get("follow") and options["upto"] is not None:
        raise CommandError("--follow has no end: leave --upto out.")
    if not options.get("follow") and (options.get("every") or options.get("max_messages")):
        raise CommandError("--every and --max-messages are for --follow.")
    if (page := options.get("html")) and not Path(page).absolute().parent.is_dir():
        raise CommandError(f"There is no folder for {page}.")


@contextmanager
def _session(options: Options) -> Iterator[Any]:
    """A session for a job, which ends with it; one that was there before stays."""
    from ccc_django.spark import starting  # noqa: PLC0415 - an extra

    was_there = starting.is_running()
    session = starting.session(master=options["master"], conf=dict(options["conf"] or ()))
    try:
        yield session
    finally:
        if not was_there:
            starting.end(session)


@contextmanager
def _shown(session: Any, job: str) -> Iterator[None]:
    from ccc_django.spark.progressing import watched  # noqa: PLC0415 - an extra

    with _bar(job) as show, watched(session, show):
        yield


@contextmanager
def _bar(job: str) -> Iterator[Callable[[Any], None] | None]:
    if not (sys.stderr.isatty() and is_installed("rich")):
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - an extra
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("tasks"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task(job, total=None)
        yield lambda now: progress.update(task, completed=now.done, total=now.total or None)


def write_page(report: Any, path: str) -> None:
    """The report as one page."""
    from ccc_django.spark.pages import page  # noqa: PLC0415 - an extra

    Path(path).write_text(page(report), encoding="utf-8")


def _setting(text: str) -> tuple[str, str]:
    name, is_there, value = text.partition("=")
    if not (name and is_there):
        raise ArgumentTypeError(f"{text!r}: a setting such as spark.executor.memory=4g")
    return name, value


def _position(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 2**63):
        raise ArgumentTypeError(f"{text!r}: a position, 0 or more")
    return int(text)
