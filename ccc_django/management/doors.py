"""Doors: what every command of ours has: help by example, errors in a line, JSON for scripts, manners in a pipe."""

import os
import sys
from argparse import SUPPRESS, ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser, DjangoHelpFormatter
from django.db import Error
from django.utils.connection import ConnectionDoesNotExist

from ccc_django.errors import CCCError
from ccc_django.management.tables import json_text, table

INTERRUPTED = 130  # the exit code of who was ended by Ctrl-C, as shells know it


class HelpFormatter(RawDescriptionHelpFormatter, DjangoHelpFormatter):
    """Django's help, with examples as they were written."""


def plain(text: str) -> str:
    """Not an error, so not in its colour."""
    return text


class Door(BaseCommand):
    """A command that makes one call.

    ``examples`` are shown by --help. Whatever we or the database refuse is one line on stderr, with exit code 1; a call
    that cannot be understood ends with 2. A reader that goes away ends the command quietly, Ctrl-C with 130.
    """

    examples = ""
    requires_system_checks = ()  # what a check warns of is said at start and by migrate, not in every pipe

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        """With examples at its end."""
        return super().create_parser(
            prog_name, subcommand, formatter_class=HelpFormatter, epilog=f"Examples:\n{self.examples}", **kwargs
        )

    def add_json(self, parser: CommandParser, *verbs: ArgumentParser) -> None:
        """The option that every command has, before its verb and behind it."""
        parser.add_argument("--json", action="store_true", help="for scripts")
        for verb in verbs:
            verb.add_argument("--json", action="store_true", default=SUPPRESS, help="for scripts")

    def execute(self, *args: Any, **options: Any) -> str | None:
        """Run it, and put what went wrong into a line."""
        try:
            try:
                return super().execute(*args, **options)
            finally:
                self._flush()
        except (CCCError, LookupError, ValueError) as problem:
            raise CommandError(str(problem)) from problem
        except Error as problem:
            said = " ".join(str(problem).split())  # in a line
            raise CommandError(
                f"The database cannot be used, or is not migrated (manage.py migrate): {said}"
            ) from problem
        except OverflowError as problem:
            raise CommandError(f"A number is too large: {problem}.") from problem
        except ConnectionDoesNotExist as problem:
            raise CommandError(f"CCC_DATABASE names no database: {problem}") from problem
        except BrokenPipeError:
            return None
        except KeyboardInterrupt:
            self.stderr.write("")
            sys.exit(INTERRUPTED)

    def _flush(self) -> None:
        """While we can: a reader that has gone changes no exit code, and Python would complain at its end."""
        try:
            self.stdout.flush()
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

    def show(self, columns: Sequence[str], rows: Iterable[Mapping[str, Any]], *, as_json: bool) -> None:
        """Rows for people or for scripts."""
        if as_json:
            self.show_json(list(rows))
        else:
            self.stdout.write(table(columns, rows))

    def show_json(self, what: Any) -> None:
        """Anything that we have, as JSON."""
        self.stdout.write(json_text(what))

    def confirm(self, preview: str, *, yes: bool) -> None:
        """Say what will be done and ask, unless it was answered before; whoever cannot answer has to say so."""
        self.stderr.write(preview, plain)
        if yes:
            return
        if not sys.stdin.isatty():
            raise CommandError("Nothing was changed: nobody can be asked here. Say --yes.")
        self.stderr.write("Do it? [y/N] ", plain, ending="")
        self.stderr.flush()
        if sys.stdin.readline().strip().lower() not in {"y", "yes"}:
            raise CommandError("Nothing was changed.")
