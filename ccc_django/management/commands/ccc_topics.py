"""ccc_topics: topics and who gets them; configure, subscribe, pause, resume, cancel, restart, complete or forget."""

from argparse import SUPPRESS
from typing import Any

from django.core.management.base import CommandParser

from ccc_django.management.arguments import duration, mode, retention, start_place
from ccc_django.management.doors import Door
from ccc_django.management.fan_out import shown
from ccc_django.management.topics import HELP, done, foreseen, understood
from ccc_django.topics import PUB_SUB, QUEUE


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
  manage.py ccc_topics orders.events --force-complete --older-than 7d --yes"""

    def add_arguments(self, parser: CommandParser) -> None:
        """Which topics or subscriptions, and what to do with one."""
        add, either = parser.add_argument, parser.add_mutually_exclusive_group().add_argument
        add("names", nargs="*", metavar="TOPIC", help="only these; what is done is done to one")
        for verb, what in HELP.items():
            either(f"--{verb}", action="store_const", dest="verb", const=verb, default="list", help=what)
        given: Any = {"default": SUPPRESS}
        add("--group", **given, metavar="NAME", help="whose subscription; the one group of a queue")
        add("--namespace", **given, metavar="NAME", help="of a topic; or instead of one, everything in it")
        add("--task", **given, metavar="NAME", help="the same")
        add("--semantics", **given, type=str.upper, choices=[QUEUE, PUB_SUB], help="of a topic (a new one: QUEUE)")
        add("--retention", **given, type=retention, metavar="TIME", help="keep messages for 7d, 36h, …, or forever")
        add("--mode", **given, type=mode, metavar="MODE", help="begin with all, new, at a timestamp, at a position")
        add("--at", **given, type=start_place, metavar="PLACE", help="that time or position")
        add("--lookback", **given, type=duration, metavar="TIME", help="with --mode new, begin so long ago")
        add("--apply-to", **given, choices=["untouched", "all"], help="what goes there (untouched)")
        add("--older-than", **given, type=duration, metavar="TIME", help="what is given up")
        add("--force", **given, action="store_true", help="also with open messages, which are left behind")
        add("--yes", action="store_true", help="do not ask")
        self.add_json(parser)

    def handle(self, *_: Any, names: list[str], verb: Any, **options: Any) -> None:
        """Show topics, or do something to one or to a subscription."""
        given, topic = understood(verb, names, options), "".join(names[:1])
        if verb == "list":
            self.stdout.write(shown(names, given, as_json=options["json"]))
            return
        if preview := foreseen(verb, topic, given):
            self.confirm("\n".join(preview.sentences), yes=options["yes"])
        facts, said = done(verb, topic, given)
        facts = {"verb": verb, "foreseen": preview and preview.sentence, **facts}
        self.show_json(facts) if options["json"] else self.stdout.write(said)
