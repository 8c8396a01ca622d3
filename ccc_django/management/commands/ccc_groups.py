"""ccc_groups: how groups are doing; start, stop, reset, seek or delete one, or one partition of it."""

from typing import Any

from django.core.management.base import CommandParser

from ccc_django import groups
from ccc_django.management.arguments import partition_part, pause, place
from ccc_django.management.doors import Door
from ccc_django.management.steering import act, refuse_confusion, shown, shown_troubles, where
from ccc_django.management.tables import watch


class Command(Door):
    """A door to ccc_django.groups and the overview of them."""

    help = "Groups: how they are doing; start, stop, reset, seek or delete one, or one partition, after a preview."
    examples = """\
  manage.py ccc_groups --watch                            all of them, every two seconds
  manage.py ccc_groups enrolment --failing                what is wrong with it, by partition
  manage.py ccc_groups enrolment --stop --reason "the mailer is down"
  manage.py ccc_groups enrolment --seek 2026-01-31T12:00+00:00
  manage.py ccc_groups enrolment --reset --partition course_name=Algebra user_id=joe
  manage.py ccc_groups enrolment --start --partition '{"course_name": "Algebra", "user_id": "joe"}' --yes"""

    def add_arguments(self, parser: CommandParser) -> None:
        """Which groups, and what to do with one."""
        add, either = parser.add_argument, parser.add_mutually_exclusive_group().add_argument
        verb: Any = {"action": "store_const", "dest": "verb"}
        add("names", nargs="*", metavar="NAME", help="only these groups; what is done is done to one")
        either("--watch", nargs="?", type=pause, const=2.0, metavar="SECONDS", help="show them again and again (2)")
        either("--failing", action="store_true", help="what of a group failed last or is stopped, and why")
        either("--start", **verb, const="start", help="let partitions or messages be claimed")
        either("--stop", **verb, const="stop", help="let nobody claim partitions, and fence running claims")
        either("--reset", **verb, const="reset", help="deliver everything again, as replayed")
        either("--seek", dest="to", type=place, metavar="TO", help="deliver from a position, beginning, end or time on")
        either("--delete", **verb, const="delete", help="forget progress and dead letters")
        values: Any = {"nargs": "+", "type": partition_part, "metavar": "NAME=VALUE"}
        add("--partition", **values, help="only this one: all its values, or JSON of them")
        add("--reason", help="why it is stopped")
        add("--keep-subscriptions", action="store_true", help="do not forget them with a group that is deleted")
        add("--yes", action="store_true", help="do not ask")
        self.add_json(parser)

    def handle(self, *_: Any, names: list[str], verb: Any, to: Any, **options: Any) -> None:
        """Show the groups, or do something to one."""
        verb = verb if to is None else "seek"
        refuse_confusion(names, verb, options)
        if verb is not None:
            given = where(options, to)
            preview = groups.preview(verb, names[0], **given)
            self.confirm("\n".join(preview.sentences), yes=options["yes"])
            done = act(preview, given, options["reason"])
            self.show_json(done) if options["json"] else self.stdout.write("Done.")
        elif options["failing"]:
            self.stdout.write(shown_troubles(names, as_json=options["json"]))
        elif options["watch"] is None:
            self.stdout.write(shown(names, as_json=options["json"]))
        else:
            watch(lambda: shown(names, as_json=options["json"]), options["watch"], self.stdout)
