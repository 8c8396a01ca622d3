"""Fan-out at a command line: topics as they are, and for each group that gets one how far it is."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.utils import timezone

from ccc_django import topics
from ccc_django.errors import UnknownTopic
from ccc_django.management.tables import json_text, table
from ccc_django.management.topics import topic_facts
from ccc_django.models import GroupTopic, Topic, TopicSubscription
from ccc_django.topics import GroupHealth

TOPICS = ("topic", "semantics", "namespace", "task", "retention", "groups")
GROUPS = (
    "topic", "group", "kind", "by", "status", "mode", "lag", "pending", "processed", "oldest", "heartbeat",
)  # fmt: skip

NONE = "There are no topics yet. manage.py ccc_topics NAME --configure makes one, and so does whoever publishes to it."
NONE_SUCH = "There are no such topics."


def shown(names: list[str], given: Mapping[str, str], *, as_json: bool) -> str:
    """Topics and their groups, some or all of them, in lines, or for scripts."""
    found = _topics(names, given)
    groups = _groups(found, given.get("group"))
    listed = [topic_facts(topic) | {"groups": groups.get(topic.name, [])} for topic in found]
    if "group" in given:
        listed = [topic for topic in listed if topic["groups"]]
    if as_json:
        return json_text([topic | {"groups": [*map(_facts, topic["groups"])]} for topic in listed])
    rows = [_row(group, by) for topic in listed for group, by in topic["groups"]]
    parts = [table(TOPICS, map(_line, listed)) if listed else NONE_SUCH if names or given else NONE]
    columns = (*GROUPS, "lost") if any(row["lost"] for row in rows) else GROUPS
    parts += [table(columns, rows)] if rows else []
    return "\n\n".join([*parts, *([] if names else _idle(given))])


def _topics(names: list[str], given: Mapping[str, str]) -> list[Topic]:
    wanted = {what: given[what] for what in ("namespace", "task") if what in given}
    topics_there = Topic.objects.filter(**wanted).order_by("name")
    found = [*(topics_there.filter(name__in=names) if names else topics_there)]
    if unknown := {*names} - {*Topic.objects.filter(name__in=names).values_list("name", flat=True)}:
        raise UnknownTopic(min(unknown))
    return found


def _groups(found: list[Topic], group: str | None) -> dict[str, list[tuple[GroupHealth, str]]]:
    """How groups are doing by topic, each with the subscription that it gets it by."""
    if not found:
        return {}
    names = [topic.name for topic in found]
    places = GroupTopic.objects.filter(topic__in=names).select_related("group", "subscription")
    scopes = {(place.topic, place.group.name): place.subscription for place in places}
    seen: dict[str, list[tuple[GroupHealth, str]]] = {}
    for each in topics.fan_out(names):
        record = scopes.get((each.topic, each.group))
        if group in {None, each.group}:
            by = "topic" if record is None or record.topic else record.scope
            seen.setdefault(each.topic, []).append((each, by))
    return seen


def _facts(seen: tuple[GroupHealth, str]) -> dict[str, Any]:
    group, by = seen
    return {**asdict(group), "by": by}


def _line(topic: dict[str, Any]) -> dict[str, Any]:
    """A topic in a line."""
    named = {what: topic[what] or None for what in ("namespace", "task")}
    return {**topic, **named, "groups": [group.group for group, _ in topic["groups"]]}


def _row(group: GroupHealth, by: str) -> dict[str, Any]:
    """A group of a topic in a line."""
    beaten_at = group.last_heartbeat_at
    return {
        **asdict(group),
        "by": by,
        "pending": group.pending_text,
        "oldest": group.oldest_pending_age,
        "heartbeat": None if beaten_at is None else timezone.now() - beaten_at,
        "lost": None if group.lost_from is None else f"{group.lost_from:,} to {group.lost_to:,}",
    }


def _idle(given: Mapping[str, str]) -> list[str]:
    """Subscriptions that no topic comes by, such as to a namespace that is empty."""
    columns = {"group": "group_name", "namespace": "namespace", "task": "task"}
    wanted = {columns[what]: name for what, name in given.items()}
    idle = TopicSubscription.objects.whole().filter(places__isnull=True, **wanted).order_by("group_name", "id")
    return [f"Subscribed, and nothing comes by it: {'; '.join(map(str, idle))}."] if idle else []
