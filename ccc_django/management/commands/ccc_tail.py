"""ccc_tail: print the log from a place on, or as it grows."""

from argparse import BooleanOptionalAction
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser

from ccc_django.management.doors import Door
from ccc_django.management.painting import paint_for
from ccc_django.management.tailing import LAST, attribute, followed, json_of, line_of, number, place


class Command(Door):
    """A door to store.follow."""

    help = (
        "Print messages in the order of the log, up to its head: never one that another append, still open, could come "
        "before. On a terminal it goes on as the log grows; Ctrl-C ends it. Sensitive fields are hidden."
    )
    examples = """\
  manage.py ccc_tail                                   the last 10 messages, and on a terminal what comes
  manage.py ccc_tail --from beginning --json | jq .    everything, for a script
  manage.py ccc_tail --from 2026-01-31T12:00 --type user.joined_course
  manage.py ccc_tail --attribute course_name=Algebra --attribute count=3
  manage.py ccc_tail --attribute 'count="3"'           the text "3", which is not the number
  manage.py ccc_tail --last 0 --follow | grep joe      only what comes, also in a pipe"""

    def add_arguments(self, parser: CommandParser) -> None:
        """From where, until when, and what of it."""
        add, start = parser.add_argument, parser.add_mutually_exclusive_group().add_argument
        place_help = 'the first position, "beginning", or a time (of the project\'s time zone, if it names none)'
        start("--from", type=place, metavar="PLACE", help=place_help)
        start("--last", type=number, default=LAST, metavar="N", help=f"begin with the last N that match ({LAST})")
        add("--follow", action=BooleanOptionalAction, help="go on as the log grows (on a terminal, yes)")
        add("--type", action="append", default=[], dest="types", metavar="TYPE", help="of this type; repeatable")
        add("--topic", help="of this topic")
        value_help = "a JSON scalar (3, true, '\"3\"') or else plain text; it needs an index; repeatable, all count"
        add("--attribute", action="append", default=[], type=attribute, dest="attributes", metavar="NAME=VALUE",
            help=value_help)  # fmt: skip
        add("--correlation", type=UUID, metavar="ID", help="of this trace")
        add("--limit", type=number, metavar="N", help="end after N messages")
        add("--reveal", action="store_true", help="show sensitive fields too")
        self.add_json(parser)

    def handle(self, *_: Any, follow: bool | None, **options: Any) -> None:
        """Follow, and print."""
        forever = self.stdout.isatty() if follow is None else follow
        paint, reveal = paint_for(self.stdout, options), options["reveal"]
        try:
            for message in followed(options, forever=forever):
                line = json_of(message, reveal=reveal) if options["json"] else paint(line_of(message, reveal=reveal))
                self.stdout.write(line)
                self.stdout.flush()
        except KeyboardInterrupt:
            if not forever:
                raise
            self.stderr.write("")  # behind the ^C
