"""Sparking: what manage.py ccc_spark does: start Spark, run a job with a bar, end Spark, tell what came of it."""

import sys
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from ccc_django.conf import conf
from ccc_django.extras import is_installed, require
from ccc_django.management.arguments import positive
from ccc_django.management.tables import table
from ccc_django.worker.stopping import Stopping

JOBS = {
    "export": "add what has become final to an archive of Parquet files",
    "verify": "compare an archive with its manifest and with the database",
    "report": "throughput, partition sizes and skew, lag, archived and pruned ranges",
}


def add_jobs(verbs: Any) -> None:
    """The jobs as subcommands, each with what all have."""
    jobs = {name: verbs.add_parser(name, help=text, description=text) for name, text in JOBS.items()}
    jobs["export"].add_argument("--to", required=True, metavar="DIR", help="the archive, old or new")
    jobs["export"].add_argument("--follow", action="store_true", help="go on as messages come, until Ctrl-C")
    jobs["export"].add_argument("--every", help="with --follow: how often (10 seconds)")
    jobs["export"].add_argument("--max-messages", type=positive, help="with --follow: at most so many at once")
    jobs["verify"].add_argument("--from", dest="archive", required=True, metavar="DIR", help="the archive")
    jobs["report"].add_argument("--from", dest="archive", metavar="DIR", help="an archive, instead of the database")
    jobs["report"].add_argument("--html", metavar="FILE", help="write one page with plots")
    for job in jobs.values():
        _add_options(job)


def _add_options(job: ArgumentParser) -> None:
    job.add_argument("--master", metavar="URL", help="where Spark runs (local[*])")
    job.add_argument(
        "--conf", action="append", type=_setting, metavar="K=V", help="a setting of Spark; may be repeated"
    )
    job.add_argument("--after", type=_position, metavar="N", help="messages beyond this position")
    job.add_argument("--upto", type=_position, metavar="N", help="messages up to this position")
    job.add_argument("--dry-run", action="store_true", help="say what would be read, and change nothing")


def run(job: str, options: dict[str, Any]) -> tuple[Any, str]:
    """Run a job, or foresee it: facts for scripts, and a text for people."""
    require("pyspark")
    _refuse_what_does_not_fit(options)
    if options["dry_run"]:
        foreseen = _foreseen(job, options)
        return foreseen, foreseen.sentence
    facts = _ran(job, options)
    return facts, TEXTS[job](facts)


def _refuse_what_does_not_fit(options: dict[str, Any]) -> None:
    """Before Spark is started, and before anything is counted."""
    if options.get("follow") and options["upto"] is not None:
        raise CommandError("--follow has no end: leave --upto out.")
    if not options.get("follow") and (options.get("every") or options.get("max_messages")):
        raise CommandError("--every and --max-messages are for --follow.")
    if (page := options.get("html")) and not Path(page).absolute().parent.is_dir():
        raise CommandError(f"There is no folder for {page}.")


def _foreseen(job: str, options: dict[str, Any]) -> Any:
    from ccc_django.spark import foreseeing  # noqa: PLC0415 - an extra

    between = {"after": options["after"], "upto": options["upto"]}
    if job == "export":
        return foreseeing.foreseen_export(options["to"], **between)
    if job == "verify":
        return foreseeing.foreseen_verify(options["archive"], **between)
    return foreseeing.foreseen_report(options["archive"], **between)


def _ran(job: str, options: dict[str, Any]) -> Any:
    with _session(options) as session:
        if job == "export" and options["follow"]:
            return _followed(session, options)
        with _shown(session, job):
            return RUN[job](session, options)


def _exported(session: Any, options: dict[str, Any]) -> Any:
    from ccc_django.spark import exporting  # noqa: PLC0415 - an extra

    return exporting.export(session, options["to"], after=options["after"], upto=options["upto"])


def _verified(session: Any, options: dict[str, Any]) -> Any:
    from ccc_django.spark import verifying  # noqa: PLC0415 - an extra

    return verifying.verify(session, options["archive"], after=options["after"], upto=options["upto"])


def _reported(session: Any, options: dict[str, Any]) -> Any:
    from ccc_django.spark import reporting  # noqa: PLC0415 - an extra

    between = {"after": options["after"] or 0, "upto": options["upto"]}
    return reporting.report(session, archive=options["archive"], **between)


RUN: dict[str, Callable[[Any, dict[str, Any]], Any]] = {
    "export": _exported,
    "verify": _verified,
    "report": _reported,
}


def _followed(session: Any, options: dict[str, Any]) -> Any:
    """Until a signal comes: then what is committed stays, and the rest is for the next time."""
    from ccc_django.spark import exporting  # noqa: PLC0415 - an extra

    stopping = Stopping(conf.grace)

    def say(segment: Any) -> None:
        sys.stderr.write(f"{segment.rows:,} messages up to {segment.upto:,}\n")

    with stopping.on_signals():
        return exporting.follow(
            session,
            options["to"],
            after=options["after"],
            max_messages=options["max_messages"],
            every=options["every"] or "10 seconds",
            stop=stopping,
            say=say,
        )


@contextmanager
def _session(options: dict[str, Any]) -> Iterator[Any]:
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


def _exported_text(done: Any) -> str:
    if not done.upto:
        return "There is nothing to archive yet."
    if not done.rows:
        return f"Nothing is new: {done.archive} has everything up to {done.upto:,}."
    size = f"{done.files:,} files, {done.bytes:,} bytes, {done.segments:,} segments"
    return f"{done.rows:,} messages up to {done.upto:,} are in {done.archive} ({size})."


def _verified_text(found: Any) -> str:
    pruned = f", of which {found.pruned:,} were pruned from the database" if found.pruned else ""
    told = f"{found.rows:,} messages up to {found.upto:,} in {found.files:,} files{pruned}"
    if found.is_whole:
        return f"{found.archive} is whole: {told}."
    listed = "\n".join(f"  {problem}" for problem in found.problems)
    return f"{found.archive} is not whole ({told}):\n{listed}"


def _report_text(report: Any) -> str:
    from ccc_django.spark.sections import sections  # noqa: PLC0415 - an extra

    parts = [
        "\n".join(
            filter(None, [section.title, table(section.columns, section.rows), section.note if section.rows else ""])
        )
        for section in sections(report)
    ]
    return "\n\n".join(parts)


TEXTS: dict[str, Callable[[Any], str]] = {
    "export": _exported_text,
    "verify": _verified_text,
    "report": _report_text,
}


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
