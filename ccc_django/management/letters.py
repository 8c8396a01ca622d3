"""Letters: how ccc_dead_letters shows dead letters, and which of them it decides upon."""

import getpass
import re
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError
from django.utils import timezone
from django.utils.text import Truncator

from ccc_django import dead_letters
from ccc_django.management.arguments import partition
from ccc_django.management.tables import json_text, progress_bar, table
from ccc_django.models import DeadLetter
from ccc_django.models.dead_letter import DeadLetterQuerySet

COLUMNS = ("id", "group", "position", "type", "partition", "status", "attempts", "given_up_at", "error")
FILTERS = ("group", "type", "error", "since", "until", "status", "ids")
MOST_LISTED = 100
MOVES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # what somebody has put into an error must not move the cursor
LONGEST = 60  # characters of an error in a table


def listed(options: Mapping[str, Any]) -> str:
    """Letters in lines, the first hundred, or for scripts."""
    letters = found(options).select_related("group").defer("traceback")
    if options["json"]:
        return json_text([_facts(letter) for letter in letters[: options["limit"]]])
    most = options["limit"] or MOST_LISTED
    left = letters.count() - most
    more = f"\n… and {left:,} more: --limit shows more of them." if left > 0 else ""
    return table(COLUMNS, [_row(letter) for letter in letters[:most]]) + more


def shown(options: Mapping[str, Any]) -> str:
    """Letters that are named by their ids, in full."""
    letters = found(options).select_related("group")
    if not options["ids"]:
        raise CommandError("Say which one: show ID.", returncode=2)
    if unknown := {*options["ids"]} - {letter.pk for letter in letters}:
        raise LookupError(f"There is no dead letter {min(unknown)}.")
    if options["json"]:
        return json_text([{**_facts(letter), "traceback": letter.traceback} for letter in letters])
    return "\n\n".join(map(_page, letters))


def found(options: Mapping[str, Any]) -> DeadLetterQuerySet:
    """The letters that the options ask for."""
    wanted = {name: options[name] for name in FILTERS}
    return dead_letters.find(**wanted, partition=partition(options["partition"]))


def refuse_everything(options: Mapping[str, Any]) -> None:
    """A decision upon all that there is has to be asked for."""
    if not options["all"] and not any(options[name] for name in (*FILTERS, "partition")):
        raise CommandError("Say which: ids, --group, --type, --error, --since, …; or --all of them.", returncode=2)


def decide(preview: dead_letters.Preview, letters: DeadLetterQuerySet, options: Mapping[str, Any]) -> dict[str, Any]:
    """Do what was foreseen, with a bar on a terminal; what was done, for scripts."""
    chosen = dead_letters.decidable(preview.verb, letters)[: options["limit"]]
    call = dead_letters.replay if preview.verb == "replay" else dead_letters.discard
    with progress_bar(preview.verb, preview.count, quiet=options["json"] or not sys.stderr.isatty()) as progress:
        count = call(chosen, by=_who(), reason=options["reason"], progress=progress)
    return {**asdict(preview), "count": count}


def _row(letter: DeadLetter) -> dict[str, Any]:
    """A letter in a line."""
    return {**_facts(letter), "position": str(letter.position), "id": str(letter.pk), "error": _short(letter.error)}


def _facts(letter: DeadLetter) -> dict[str, Any]:
    """What is known of a letter, but for where its error comes from."""
    return {
        "id": letter.pk,
        "group": letter.group.name,
        "position": letter.position,
        "type": letter.message_type,
        "message_id": letter.message_id,
        "partition": letter.partition_key or None,
        "status": letter.status,
        "attempts": letter.attempts,
        "given_up_at": _local(letter.created_at),
        "error": letter.error,
        "decided_by": letter.decided_by,
        "decided_at": letter.decided_at and _local(letter.decided_at),
        "reason": letter.reason,
    }


def _page(letter: DeadLetter) -> str:
    """A letter in full, with its traceback."""
    known = {name: value for name, value in _facts(letter).items() if value not in {None, ""}}
    width = max(map(len, known)) + 2
    lines = [f"{name.replace('_', ' '):{width}}{value}" for name, value in known.items()]
    return MOVES.sub(" ", "\n".join([*lines, "", letter.traceback.rstrip() or "There is no traceback."]))


def _who() -> str:
    """Who decides, as the machine knows them."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container without names
        return ""


def _local(time: Any) -> str:
    return timezone.localtime(time).isoformat(sep=" ", timespec="seconds")


def _short(text: str) -> str:
    return Truncator(text).chars(LONGEST)
