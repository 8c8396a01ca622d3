"""ccc_dead_letters: list and show what groups gave up on; replay or discard it, one by one or in bulk."""

from typing import Any

from django.core.management.base import CommandError, CommandParser

from ccc_django import dead_letters
from ccc_django.management.arguments import moment, partition_part, positive
from ccc_django.management.doors import Door
from ccc_django.management.letters import MOST_LISTED, decide, found, listed, refuse_everything, shown


class Command(Door):
    """A door to ccc_django.dead_letters."""

    help = "Dead letters: list them, show one with its traceback; replay or discard, by id or by what is true of them."
    examples = """\
  manage.py ccc_dead_letters --group enrolment --since 2026-01-31T12:00+00:00
  manage.py ccc_dead_letters show 17
  manage.py ccc_dead_letters replay 17 18
  manage.py ccc_dead_letters replay --group enrolment --error ConnectionError --reason "the mailer is back"
  manage.py ccc_dead_letters discard --type user.invited --partition user_id=joe --yes"""

    def add_arguments(self, parser: CommandParser) -> None:
        """What to do, with which letters."""
        add = parser.add_argument
        add("verb", nargs="?", choices=["list", "show", "replay", "discard"], default="list", help="list, if not given")
        add("ids", nargs="*", type=positive, metavar="ID", help="these; next to the verb")
        add("--group", metavar="NAME", help="that gave them up")
        add("--type", metavar="TYPE", help="of the message")
        add("--error", metavar="TEXT", help="a part of it")
        add("--since", type=moment, metavar="TIME", help="given up at this time or later")
        add("--until", type=moment, metavar="TIME", help="given up before this time")
        add("--partition", nargs="+", type=partition_part, metavar="NAME=VALUE", help="all its values, or JSON of them")
        add("--status", metavar="STATUS", help="open (if no ids are given), discarded, replaying, …, or any")
        add("--limit", type=positive, metavar="N", help=f"the first N in the log (list: {MOST_LISTED})")
        add("--all", action="store_true", help="replay or discard all that are open")
        add("--reason", default="", help="why, for those who look")
        add("--yes", action="store_true", help="do not ask")
        self.add_json(parser)

    def handle(self, *_: Any, verb: Any, **options: Any) -> None:
        """Look, or decide."""
        if verb in {"list", "show"}:
            self.stdout.write(shown(options) if verb == "show" else listed(options))
            return
        refuse_everything(options)
        letters = found(options)
        preview = dead_letters.preview(verb, letters, limit=options["limit"])
        if not preview.count:
            raise CommandError(f"Nothing was changed. {preview.sentence}")
        self.confirm(preview.sentence, yes=options["yes"])
        done = decide(preview, letters, options)
        said = "to be delivered by workers" if verb == "replay" else "discarded"
        self.show_json(done) if options["json"] else self.stdout.write(f"Done: {done['count']:,} {said}.")
