"""ccc_trace: draw what has led to a message and what has followed from it."""

from typing import Any

from django.core.management.base import CommandParser

from ccc_django.instrumentation.traces import LIMIT, trace
from ccc_django.management.doors import Door
from ccc_django.management.painting import paint_for
from ccc_django.management.pictures import json_of, lines_for, picture
from ccc_django.management.tailing import number


class Command(Door):
    """A door to instrumentation.traces."""

    help = (
        "Draw the trace of a message: commands, the events that followed, and the reactions to them, with times since "
        "the first, the group that made each, and what every group that gets it has done with it."
    )
    examples = """\
  manage.py ccc_trace 42                    the message at this position, as ccc_tail shows it
  manage.py ccc_trace 019a8c1e-77e0         the message whose id begins so
  manage.py ccc_trace 42 --payload          with payloads; sensitive fields are hidden
  manage.py ccc_trace 42 --json | jq .root.handled"""

    def add_arguments(self, parser: CommandParser) -> None:
        """Which message, and how much of its trace."""
        parser.add_argument("message", metavar="MESSAGE", help="its id, the beginning of it, or its position")
        parser.add_argument("--limit", type=number, default=LIMIT, metavar="N", help=f"most messages ({LIMIT})")
        parser.add_argument("--payload", action="store_true", help="show payloads")
        parser.add_argument("--reveal", action="store_true", help="show sensitive fields too")
        self.add_json(parser)

    def handle(self, *_: Any, message: str, limit: int, **options: Any) -> None:
        """Trace, and print."""
        found, reveal = trace(message, limit=limit), options["reveal"]
        if options["json"]:
            for piece in json_of(found, reveal=reveal):
                self.stdout.write(piece, ending="")
            self.stdout.write("")
        else:
            paint, lines = paint_for(self.stdout, options), lines_for(self.stdout)
            for line in picture(found, lines=lines, payload=options["payload"], reveal=reveal):
                self.stdout.write(paint(line))
        self.stdout.flush()
