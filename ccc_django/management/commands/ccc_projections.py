"""ccc_projections: list the versions of projections, switch to one, build one again, forget one."""

from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser

from ccc_django.consumers import projections
from ccc_django.management.doors import Door

COLUMNS = ("projection", "version", "is_live", "is_declared", "partitions", "lag", "failures")


class Command(Door):
    """A door to ccc_django.consumers.projections."""

    help = (
        "Projections: their versions and how far each is; switch to a version that has caught up, rebuild or drop one."
    )
    examples = """\
  manage.py ccc_projections                                          every version
  manage.py ccc_projections switch course-roster                     to the newest, once it has caught up
  manage.py ccc_projections rebuild course-roster                    forget its states, and build them again
  manage.py ccc_projections drop course-roster --version-number 1    forget an old version
"""

    def add_arguments(self, parser: CommandParser) -> None:
        """Verbs as subcommands; without any, the list."""
        verbs = parser.add_subparsers(dest="verb", metavar="verb")
        verbs.add_parser("list", help="every version (the default)")
        switch = verbs.add_parser("switch", help="let a version be the one to look at")
        switch.add_argument("name")
        switch.add_argument("--to", type=int, metavar="VERSION", help="the newest, if not given")
        switch.add_argument("--within", type=int, default=0, metavar="LAG", help="how far behind it may be (0)")
        switch.add_argument("--despite-failures", action="store_true", help="although it gave up on messages")
        rebuild = verbs.add_parser("rebuild", help="forget the states of a version, and build them again")
        rebuild.add_argument("name")
        rebuild.add_argument("--version-number", type=int, metavar="VERSION", help="the live one, if not given")
        drop = verbs.add_parser("drop", help="forget a version that is not live")
        drop.add_argument("name")
        drop.add_argument("--version-number", type=int, required=True, metavar="VERSION")
        for verb in (rebuild, drop):
            verb.add_argument("--yes", action="store_true", help="do not ask")
        self.add_json(parser, *verbs.choices.values())

    def handle(self, *_: Any, verb: str | None, **options: Any) -> None:
        """Call one function, and show what there is afterwards."""
        if verb == "switch":
            allowed = {name: options[name] for name in ("to", "within", "despite_failures")}
            projections.switch(options["name"], **allowed)
        elif verb in {"rebuild", "drop"}:
            self.confirm(projections.preview(verb, options["name"], options["version_number"]), yes=options["yes"])
            call = projections.rebuild if verb == "rebuild" else projections.drop
            call(options["name"], version=options["version_number"])
        self.show(COLUMNS, [asdict(version) for version in projections.versions()], as_json=options["json"])
