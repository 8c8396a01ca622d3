"""consume: run the consumers of the project."""

import sys
from typing import Any

from django.core.management.base import CommandParser

from ccc_django.conf import conf
from ccc_django.management.consuming import consume
from ccc_django.management.doors import Door


class Command(Door):
    """A door to ccc_django.worker."""

    help = (
        "Run consumers. The first Ctrl-C or SIGTERM finishes what is in hand, the second stops at once: "
        "what was in hand is then done again when its lease is over."
    )
    examples = """\
  manage.py consume                                        every consumer of the project, until Ctrl-C
  manage.py consume --group mailer --group enrolment       only these
  manage.py consume --processes 4 --no-reload              in production
  manage.py consume --until-empty --json                   in a job that is to end
"""

    def add_arguments(self, parser: CommandParser) -> None:
        """What to consume, how much at once, and until when."""
        add = parser.add_argument
        add("--group", action="append", default=[], dest="groups", metavar="NAME", help="only this group; repeatable")
        add("--processes", type=positive, default=1, metavar="N", help="worker processes; one that dies is replaced")
        add(
            "--batch-size",
            type=positive,
            default=100,
            metavar="N",
            help="messages of a partition at once (100), unless its consumer says",
        )
        add("--until-empty", action="store_true", help="end when everything is done, also what pauses after a failure")
        add("--max-messages", type=positive, metavar="N", help="end after so many messages")
        add("--max-seconds", type=float, metavar="N", help="end after so many seconds")
        add("--name", default="", metavar="NAME", help="begins the worker's name, which is made unique")
        grace = "time to finish what is in hand (CCC_GRACE)"
        add("--grace", type=float, default=conf.grace, metavar="SECONDS", help=grace)
        reload = "do not start over when code changes (under DEBUG)"
        add("--no-reload", action="store_false", dest="reload", help=reload)
        add("--json", action="store_true", help="the summary for scripts")

    def handle(self, *_: Any, **options: Any) -> None:
        """Consume."""
        if code := consume(options, self.stdout):
            sys.exit(code)


def positive(text: str) -> int:
    """A number of one or more."""
    number = int(text)
    if number < 1:
        raise ValueError(text)
    return number
