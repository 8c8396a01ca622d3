"""ccc_indexes: list, declare, build and drop payload indexes."""

from contextlib import nullcontext
from typing import Any

from django.core.management.base import CommandParser

from ccc_django import indexes
from ccc_django.management.doors import Door
from ccc_django.management.tables import index_progress

COLUMNS = ("name", "kind", "status", "coverage", "entries", "values", "needed_by")


class Command(Door):
    """A door to ccc_django.indexes."""

    help = "Payload indexes: list them with size, use and coverage; declare, build or drop one."
    examples = """\
  manage.py ccc_indexes                                what is indexed
  manage.py ccc_indexes declare address.city           a field, also of old messages
  manage.py ccc_indexes declare course_name user_id    two fields together
  manage.py ccc_indexes --json drop address.city       give it up, and print the rest for a script
"""

    def add_arguments(self, parser: CommandParser) -> None:
        """Verbs as subcommands; without any, the list."""
        verbs = parser.add_subparsers(dest="verb", metavar="verb")
        verbs.add_parser("list", help="what is indexed (the default)")
        declare = verbs.add_parser("declare", help="index a field, or several together as a combination")
        declare.add_argument("fields", nargs="+", metavar="FIELD", help="a field, or one inside of it: address.city")
        declare.add_argument("--nulls", action="store_true", help="null is a value too")
        declare.add_argument("--later", action="store_true", help="leave old messages to: ccc_indexes build")
        build = verbs.add_parser("build", help="give old messages the entries that they lack; goes on after Ctrl-C")
        build.add_argument("name", nargs="?", help="one index; otherwise all")
        drop = verbs.add_parser("drop", help="give up an index and remove its entries")
        drop.add_argument("names", nargs="+", metavar="NAME", help="its name, or the fields of a combination")
        self.add_json(parser, *verbs.choices.values())

    def handle(self, *_: Any, verb: str | None, **options: Any) -> None:
        """Call one function, and show what there is afterwards."""
        quiet = options["json"] or not self.stdout.isatty()
        with nullcontext() if quiet else index_progress() as progress:
            self.act(verb, progress, **options)
        self.show(COLUMNS, indexes.overview(), as_json=options["json"])

    def act(self, verb: str | None, progress: Any, **options: Any) -> None:
        """The verb that was asked for."""
        if verb == "declare":
            kind = "payload" if len(options["fields"]) == 1 else "payload_hash"
            later, nulls = options["later"], options["nulls"]
            indexes.declare(kind, options["fields"], nulls=nulls, complete=not later, progress=progress)
        elif verb == "build":
            indexes.build(options["name"], progress=progress)
        elif verb == "drop":
            names = options["names"]
            indexes.drop(names[0] if len(names) == 1 else names)
