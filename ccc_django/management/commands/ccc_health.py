"""ccc_health: whether all is well, for containers, load balancers and scripts."""

import socket
import sys
from typing import Any

from django.core.management.base import CommandParser

from ccc_django.conf import conf
from ccc_django.instrumentation import health
from ccc_django.limits import count, health_limits, seconds
from ccc_django.management.doors import Door

LIMITS = (
    ("--max-lag", "lag", count, "N", "messages that a group may be behind"),
    ("--max-age", "oldest_age", seconds, "SECONDS", "that a message may wait for a group"),
    ("--max-failures", "failures", count, "N", "of a group, with its open dead letters"),
    ("--max-head-held", "head_held", seconds, "SECONDS", "that an open append may hold the head back (60)"),
    ("--max-gone", "gone", count, "N", "workers that may be gone without a word (0)"),
    ("--workers", "workers", count, "N", "workers that have to be there (0)"),
)


class Command(Door):
    """A door to ccc_django.instrumentation.health."""

    help = "Say whether all is well: ends with 0, or with 1 and the reasons in a line. CCC_HEALTH holds the limits."
    requires_system_checks = ()  # it is asked often, and about the log, not about code
    examples = """\
  manage.py ccc_health                                     the limits of CCC_HEALTH
  manage.py ccc_health --max-age 900 --workers 2           others, for every group
  manage.py ccc_health --group mailer --max-lag 1000       one group and its workers
  manage.py ccc_health --here                              in a worker's container
  manage.py ccc_health --json                              with what was looked at
"""

    def add_arguments(self, parser: CommandParser) -> None:
        """What to look at, and limits instead of those of CCC_HEALTH."""
        part = parser.add_mutually_exclusive_group()
        part.add_argument("--group", action="append", default=[], metavar="NAME", help="only this one; repeatable")
        part.add_argument("--here", action="store_true", help="only whether a worker of this host is there")
        for option, name, kind, unit, meaning in LIMITS:
            parser.add_argument(option, dest=name, type=kind, metavar=unit, help=meaning)
        parser.add_argument("--stopped", action="store_true", default=None, help="a stopped group is not well either")
        self.add_json(parser)

    def handle(self, *_: Any, group: list[str], here: bool, **options: Any) -> None:
        """Look, and say it in a line."""
        asked = {name: options[name] for name in (*(limit[1] for limit in LIMITS), "stopped")}
        limits = health_limits(conf.health, **{name: limit for name, limit in asked.items() if limit is not None})
        host = socket.gethostname() if here else ""
        found = health.check(limits, names=group, host=host, figures=options["json"])
        if options["json"]:
            self.show_json(found)
        elif found.is_healthy:
            self.stdout.write("All is well.")
        else:
            self.stderr.write(found.line)
        if not found.is_healthy:
            sys.exit(1)
