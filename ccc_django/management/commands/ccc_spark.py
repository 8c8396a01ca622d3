"""ccc_spark: bulk work on the log by Spark: archive it, verify an archive, report on it, prune what is archived."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from ccc_django.management.doors import Door, plain
from ccc_django.management.sparking import add_jobs, run, write_page


class Command(Door):
    """A door to ccc_django.spark."""

    help = "Bulk work on the log by Spark, here or on a cluster: archive it, verify an archive, report on it, prune it."
    examples = """\
  manage.py ccc_spark export --to /archive                what is new, as Parquet files by day
  manage.py ccc_spark export --to /archive --follow       go on as messages come, until Ctrl-C
  manage.py ccc_spark verify --from /archive              is everything there, as it was written?
  manage.py ccc_spark report --html report.html           tables here, and one page with plots
  manage.py ccc_spark report --from /archive --master spark://cluster:7077 --conf spark.executor.memory=4g
  manage.py ccc_spark prune --archived /archive           what it has, and retention lets go
  manage.py ccc_spark export --to /archive --dry-run"""

    def add_arguments(self, parser: CommandParser) -> None:
        """Jobs as subcommands."""
        jobs = parser.add_subparsers(dest="job", metavar="job", required=True)
        add_jobs(jobs)
        self.add_json(parser, *jobs.choices.values())

    def handle(self, *_: Any, job: str, **options: Any) -> None:
        """Run a job, and tell what came of it."""
        try:
            facts, text = run(job, options)
            self.show_json(facts) if options["json"] else self.stdout.write(text)
            if options.get("html") and not options["dry_run"]:
                write_page(facts, options["html"])
                self.stderr.write(f"The page is in {options['html']}.", plain)
        except BrokenPipeError:  # a reader that goes away is no failure
            raise
        except OSError as problem:
            raise CommandError(f"{problem.strerror or problem}: {problem.filename or 'what is written'}") from problem
        if getattr(facts, "problems", None):
            raise CommandError("The archive is not whole.")
