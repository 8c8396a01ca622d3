"""Jobs of manage.py ccc_spark: what each is told, what it does or would do, and what it says of that."""

import sys
from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ccc_django.conf import conf
from ccc_django.management.arguments import positive
from ccc_django.management.retention import pruned_text
from ccc_django.management.tables import table
from ccc_django.worker.stopping import Stopping

Options = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job: ``foresee`` is its dry run, without Spark; texts are for people."""

    help: str
    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Any, Options], Any]
    text: Callable[[Any], str]
    foresee: Callable[[Options], Any]
    foreseen_text: Callable[[Any], str] = lambda foreseen: str(foreseen.sentence)


def _between(options: Options) -> dict[str, Any]:
    return {"after": options["after"], "upto": options["upto"]}


def _add_archive(parser: ArgumentParser, option: str = "--from") -> None:
    parser.add_argument(option, dest="archive", required=True, metavar="DIR", help="the archive")


def _add_export(parser: ArgumentParser) -> None:
    parser.add_argument("--to", required=True, metavar="DIR", help="the archive, old or new")
    parser.add_argument("--follow", action="store_true", help="go on as messages come, until Ctrl-C")
    parser.add_argument("--every", help="with --follow: how often (10 seconds)")
    parser.add_argument("--max-messages", type=positive, help="with --follow: at most so many at once")


def _export(session: Any, options: Options) -> Any:
    from ccc_django.spark import exporting  # noqa: PLC0415 - an extra

    if options["follow"]:
        return _follow(session, options)
    return exporting.export(session, options["to"], **_between(options))


def _follow(session: Any, options: Options) -> Any:
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


def _foresee_export(options: Options) -> Any:
    from ccc_django.spark import foreseeing  # noqa: PLC0415 - an extra

    return foreseeing.foreseen_export(options["to"], **_between(options))


def _exported_text(done: Any) -> str:
    if not done.upto:
        return "There is nothing to archive yet."
    if not done.rows:
        return f"Nothing is new: {done.archive} has everything up to {done.upto:,}."
    size = f"{done.files:,} files, {done.bytes:,} bytes, {done.segments:,} segments"
    return f"{done.rows:,} messages up to {done.upto:,} are in {done.archive} ({size})."


def _verify(session: Any, options: Options) -> Any:
    from ccc_django.spark import verifying  # noqa: PLC0415 - an extra

    return verifying.verify(session, options["archive"], **_between(options))


def _foresee_verify(options: Options) -> Any:
    from ccc_django.spark import foreseeing  # noqa: PLC0415 - an extra

    return foreseeing.foreseen_verify(options["archive"], **_between(options))


def _verified_text(found: Any) -> str:
    pruned = f", of which {found.pruned:,} were pruned from the database" if found.pruned else ""
    told = f"{found.rows:,} messages up to {found.upto:,} in {found.files:,} files{pruned}"
    if found.is_whole:
        return f"{found.archive} is whole: {told}."
    listed = "\n".join(f"  {problem}" for problem in found.problems)
    return f"{found.archive} is not whole ({told}):\n{listed}"


def _add_report(parser: ArgumentParser) -> None:
    parser.add_argument("--from", dest="archive", metavar="DIR", help="an archive, instead of the database")
    parser.add_argument("--html", metavar="FILE", help="write one page with plots")


def _report(session: Any, options: Options) -> Any:
    from ccc_django.spark import reporting  # noqa: PLC0415 - an extra

    return reporting.report(session, archive=options["archive"], after=options["after"] or 0, upto=options["upto"])


def _foresee_report(options: Options) -> Any:
    from ccc_django.spark import foreseeing  # noqa: PLC0415 - an extra

    return foreseeing.foreseen_report(options["archive"], **_between(options))


def _report_text(report: Any) -> str:
    from ccc_django.spark.sections import sections  # noqa: PLC0415 - an extra

    parts = [
        "\n".join(
            filter(None, [section.title, table(section.columns, section.rows), section.note if section.rows else ""])
        )
        for section in sections(report)
    ]
    return "\n\n".join(parts)


def _add_prune(parser: ArgumentParser) -> None:
    _add_archive(parser, "--archived")
    parser.add_argument("--topic", action="append", default=[], help="of this topic alone; may be repeated")


def _prune(session: Any, options: Options) -> Any:
    from ccc_django.spark import pruning  # noqa: PLC0415 - an extra

    return pruning.prune(session, options["archive"], *options["topic"], **_between(options))


def _foresee_prune(options: Options) -> Any:
    from ccc_django.spark import pruning  # noqa: PLC0415 - an extra

    return pruning.foreseen_prune(options["archive"], *options["topic"], **_between(options))


def _pruned_text(done: Any) -> str:
    told = f"{done.count:,} messages that {done.archive} has up to {done.upto:,} have left the database."
    return f"{told}\n{pruned_text(done.topics, dry_run=False)}"


def _foreseen_prune_text(foreseen: Any) -> str:
    told = (
        f"{foreseen.count:,} messages up to {foreseen.upto:,} would leave the database, if {foreseen.archive} is whole."
    )
    return f"{told}\n{pruned_text(foreseen.topics, dry_run=True)}"


JOBS = {
    "export": Job(
        help="add what has become final to an archive of Parquet files",
        add_arguments=_add_export,
        run=_export,
        text=_exported_text,
        foresee=_foresee_export,
    ),
    "verify": Job(
        help="compare an archive with its manifest and with the database",
        add_arguments=_add_archive,
        run=_verify,
        text=_verified_text,
        foresee=_foresee_verify,
    ),
    "report": Job(
        help="throughput, partition sizes and skew, lag, archived and pruned ranges",
        add_arguments=_add_report,
        run=_report,
        text=_report_text,
        foresee=_foresee_report,
    ),
    "prune": Job(
        help="delete from the database what an archive has, if that is whole and retention allows it",
        add_arguments=_add_prune,
        run=_prune,
        text=_pruned_text,
        foresee=_foresee_prune,
        foreseen_text=_foreseen_prune_text,
    ),
}
