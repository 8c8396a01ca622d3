"""ccc_sweep: do what has to be done now and then, once or again and again."""

import json
from typing import Any

from django.core.management.base import CommandParser

from ccc_django import maintenance
from ccc_django.management.doors import Door
from ccc_django.management.sweeping import sweep_every

LOUD = 2  # the verbosity that says when the next is due; jobs that run now and then say nothing if all is well


class Command(Door):
    """A door to ccc_django.maintenance."""

    help = (
        "Promote scheduled messages that are due, sample every group, forget workers that are gone. "
        "Workers do this by themselves; this is for projects that run none all the time."
    )
    examples = """\
  manage.py ccc_sweep                once, from cron: it says nothing if all is well
  manage.py ccc_sweep --every 60     until Ctrl-C
  manage.py ccc_sweep -v 2           and say when the next is due
"""

    def add_arguments(self, parser: CommandParser) -> None:
        """Once, or again and again."""
        parser.add_argument("--every", type=float, metavar="SECONDS", help="go on until Ctrl-C, so often at least")
        self.add_json(parser)

    def handle(self, *_: Any, every: float | None, **options: Any) -> None:
        """Sweep."""

        def say(rest: float) -> None:
            if options["json"]:
                self.stdout.write(json.dumps({"next_in": round(rest, 3)}))
            elif options["verbosity"] >= LOUD:
                self.stdout.write(f"Swept. The next is due in {rest:.1f} s.")

        if every is None:
            say(maintenance.sweep())
        else:
            sweep_every(every, say, self.stderr)
