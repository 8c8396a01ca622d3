"""ccc_topics: topics and who gets them; configure, subscribe, pause, restart, prune, backfill or forget."""

import sys
from typing import Any

from django.core.management.base import CommandParser

from ccc_django.management.doors import Door
from ccc_django.management.fan_out import shown
from ccc_django.management.retention import backfill_text, backfilled, pruned, pruned_text, warned
from ccc_django.management.topics import add_options, as_verb, done, foreseen, understood


class Command(Door):
    """A door to ccc_django.topics."""

    help = "Topics: what they are, who gets them and how far each group is; change them, or a subscription."
    examples = """\
  manage.py ccc_topics --namespace shop                   topics of a namespace, with their groups
  manage.py ccc_topics orders.events --configure --semantics PUB_SUB --namespace shop --task orders --retention 7d
  manage.py ccc_topics orders.events --subscribe --group email --mode new
  manage.py ccc_topics --subscribe --group audit --namespace shop
  manage.py ccc_topics orders.events --pause --group email
  manage.py ccc_topics orders.events --restart --group email --at 100 --apply-to all
  manage.py ccc_topics prune --dry-run                    what would be deleted, and what is kept
  manage.py ccc_topics orders.events --backfill --group stats --rate 5000
  manage.py ccc_topics orders.events --force-complete --older-than 7d --yes"""

    def add_arguments(self, parser: CommandParser) -> None:
        """Which topics or subscriptions, and what to do with one."""
        parser.add_argument("names", nargs="*", metavar="TOPIC", help="only these; what is done is done to one")
        add_options(parser)
        parser.add_argument("--yes", action="store_true", help="do not ask")
        self.add_json(parser)

    def handle(self, *_: Any, names: list[str], verb: Any, **options: Any) -> None:
        """Show topics, or do something to one or to a subscription."""
        verb, names = as_verb(verb, names)
        given, topic, quiet = understood(verb, names, options), "".join(names[:1]), not sys.stderr.isatty()
        if verb == "list":
            self.stdout.write(shown(names, given, as_json=options["json"]))
        elif verb == "prune":
            dry_run = "dry_run" in given
            if not dry_run and not options["yes"]:
                self.confirm(warned(pruned(names, dry_run=True, quiet=True)), yes=False)
            found = pruned(names, dry_run=dry_run, quiet=quiet)
            self.show_json(found) if options["json"] else self.stdout.write(pruned_text(found, dry_run=dry_run))
        elif verb == "backfill":
            state = backfilled(topic, given, quiet=quiet)
            self.show_json(state) if options["json"] else self.stdout.write(backfill_text(state))
        else:
            self.do(verb, topic, given, options)

    def do(self, verb: Any, topic: str, given: dict[str, Any], options: dict[str, Any]) -> None:
        """Say what will be done, ask, and do it."""
        if preview := foreseen(verb, topic, given):
            self.confirm("\n".join(preview.sentences), yes=options["yes"])
        facts, said = done(verb, topic, given)
        facts = {"verb": verb, "foreseen": preview and preview.sentence, **facts}
        self.show_json(facts) if options["json"] else self.stdout.write(said)
