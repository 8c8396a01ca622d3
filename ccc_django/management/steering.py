"""Steering: how ccc_groups shows groups, and what it does to one."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError

from ccc_django import groups
from ccc_django.consumers import registry
from ccc_django.instrumentation.overview import GroupOverview, overview
from ccc_django.instrumentation.troubles import troubles
from ccc_django.management.arguments import partition
from ccc_django.management.tables import json_text, table

TROUBLES = {
    "ordered": ("partition", "state", "position", "attempts", "until", "error"),
    "shared": ("topic", "position", "state", "attempts", "until", "error"),
}
COLUMNS = ("group", "kind", "status", "lag", "pending", "in_flight", "failures", "oldest", "rate", "reason")
CALLS: dict[str, Callable[..., Any]] = {
    "start": groups.start,
    "stop": groups.stop,
    "reset": groups.reset,
    "seek": groups.seek,
    "delete": groups.delete,
}


def shown(names: Iterable[str], *, as_json: bool) -> str:
    """How groups are doing, in lines, or for scripts."""
    found = overview(names)
    if as_json:
        return json_text(found)
    if not found:
        declared = ", ".join(each.group_name() for each in registry.consumers()) or "none"
        return f"There are no groups yet. manage.py consume makes those that consumers.py declares: {declared}."
    return table(COLUMNS, [_row(group) for group in found])


def shown_troubles(names: list[str], *, as_json: bool) -> str:
    """Which partitions of a group are in trouble, and why; of a shared group, which messages."""
    if len(names) != 1:
        raise CommandError("Name one group, whose partitions are shown.", returncode=2)
    found = [asdict(trouble) for trouble in troubles(names[0])]
    if as_json:
        return json_text(found)
    kind = groups.status(names[0]).kind
    what = "message" if kind == "shared" else "partition"
    return table(TROUBLES[kind], found) if found else f"No {what} of {names[0]} has failed or is stopped."


def _row(group: GroupOverview) -> dict[str, Any]:
    rate = f"{group.rate:,.1f}/s"
    return {**asdict(group), "group": group.name, "oldest": group.oldest_age, "rate": rate, "reason": _reason(group)}


def _reason(group: GroupOverview) -> str:
    """Why it is stopped; nothing about a stop whose time is over."""
    return "" if group.status == "active" else group.error_context


def refuse_confusion(names: list[str], verb: str | None, options: Mapping[str, Any]) -> None:
    """Something is done to one group, and what belongs to it is not given for nothing."""
    if verb is not None and len(names) != 1:
        raise CommandError(f"Name one group to {verb}; {len(names)} were named.", returncode=2)
    if options["partition"] is not None and verb is None:
        raise CommandError("--partition belongs to --start, --stop, --reset, --seek or --delete.", returncode=2)
    if options["reason"] is not None and verb != "stop":
        raise CommandError("--reason belongs to --stop.", returncode=2)
    if options["keep_subscriptions"] and (verb != "delete" or options["partition"] is not None):
        raise CommandError("--keep-subscriptions belongs to --delete of a whole group.", returncode=2)


def where(options: Mapping[str, Any], to: Any) -> dict[str, Any]:
    """To what of a group something is done, as preview and verb take it."""
    given: dict[str, Any] = {"partition": partition(options["partition"])}
    given |= {} if to is None else {"to": to}
    return given | ({"keep_subscriptions": True} if options["keep_subscriptions"] else {})


def act(preview: groups.Preview, given: Mapping[str, Any], reason: str | None) -> dict[str, Any]:
    """Do what was foreseen; what that was, for scripts."""
    CALLS[preview.verb](preview.group, **given, **({} if reason is None else {"reason": reason}))
    return {**asdict(preview), "sentence": preview.sentence}
