"""ccc_bench: measure the log on this database with these settings."""

import signal
from typing import Any

from django.core.management.base import CommandParser

from ccc_django.instrumentation import bench
from ccc_django.instrumentation.bench.measuring import CLIENTS, SECONDS
from ccc_django.management.benching import as_json, described, preview
from ccc_django.management.doors import Door


class Command(Door):
    """A door to instrumentation.bench."""

    help = (
        "Measure append, guarded append, claim and consume on the database of the log, with the project's settings, "
        "and say what limits them. It removes what it wrote, also after Ctrl-C; the positions stay used. A log with "
        "messages is refused."
    )
    examples = """\
  manage.py ccc_bench                               on an empty database
  manage.py ccc_bench --seconds 10 --clients 8
  manage.py ccc_bench --yes --json > before.json    for a script, to compare
  manage.py ccc_bench --with-messages               beside the messages of a log that is in use
  manage.py ccc_bench --clean                       remove what a measurement that was killed has left"""

    def add_arguments(self, parser: CommandParser) -> None:
        """How long, how many at once, and whether that is all right."""
        add = parser.add_argument
        add("--seconds", type=float, default=SECONDS, metavar="N", help=f"for each of the figures ({SECONDS:g})")
        add("--clients", type=int, metavar="N", help=f"connections at once ({CLIENTS}; on SQLite 1)")
        add("--with-messages", action="store_true", help="also on a log that has messages")
        add("--clean", action="store_true", help="measure nothing, and remove what was left behind")
        add("--yes", action="store_true", help="do not ask")
        self.add_json(parser)

    def handle(self, *_: Any, seconds: float, clients: int | None, **options: Any) -> None:
        """Measure, and print."""
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # clean up then too
        if options["clean"]:
            self.stdout.write(f"{bench.clean():,} messages of measurements were removed.")
            return
        chosen: dict[str, Any] = {"seconds": seconds, "clients": clients, "with_messages": options["with_messages"]}
        bench.refuse(**chosen)
        self.confirm(preview(seconds=seconds, clients=clients or bench.default_clients()), yes=options["yes"])
        report = bench.measure(**chosen, progress=self.progress)
        if options["json"]:
            self.show_json(as_json(report))
        else:
            self.stdout.write(described(report))

    def progress(self, step: str, number: int, of: int) -> None:
        """A line for who watches."""
        if self.stderr.isatty():
            self.stderr.write(f"{number}/{of} {step} …", str)
