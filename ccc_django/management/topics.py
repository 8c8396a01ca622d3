"""Topics at a command line: which options belong to which verb, and the one call that each verb is."""

from collections.abc import Callable, Mapping
from typing import Any

from django.core.management.base import CommandError

from ccc_django import topics
from ccc_django.models import Topic

SCOPE = ("group", "namespace", "task")
START = ("mode", "at", "lookback")
TAKES: dict[str, tuple[str, ...]] = {  # options by verb; without any, topics are listed
    "list": SCOPE,
    "configure": (*SCOPE, "semantics", "retention", "force"),
    "subscribe": (*SCOPE, *START),
    "pause": SCOPE,
    "resume": SCOPE,
    "cancel": SCOPE,
    "remove": SCOPE,
    "restart": (*SCOPE, *START, "apply_to"),
    "force-complete": ("group", "older_than"),
    "delete": ("force",),
}
CALLS: dict[str, Callable[..., Any]] = {
    "configure": topics.configure,
    "subscribe": topics.subscribe,
    "pause": topics.pause,
    "resume": topics.resume,
    "cancel": topics.cancel,
    "remove": topics.remove_group,
    "restart": topics.restart,
    "force-complete": topics.force_complete,
    "delete": topics.delete,
}
HELP = {
    "configure": "make a topic or change it; what is not given stays as it is",
    "subscribe": "let a group get it; whoever has subscribed keeps the place",
    "pause": "deliver nothing until it is resumed, and keep everything",
    "resume": "deliver again, from where it stood; also what was cancelled or has died",
    "cancel": "deliver nothing any more, and keep nothing for it",
    "remove": "forget a subscription and what is open by it",
    "restart": "let a subscription begin at another place",
    "force-complete": "let groups pass over what is older, done or not",
    "delete": "forget a topic and who has subscribed to it; messages stay",
}
OF_TOPICS = ("configure", "force-complete", "delete")
FACTS = ("topic", "namespace", "task", "status", "mode", "start_position", "start_at")


def understood(verb: str, names: list[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """What was given to a verb, as its function takes it; or an advice, if that is not enough or too much."""
    given = {name: options[name] for taken in TAKES.values() for name in taken if name in options}
    for name in given:
        if name not in TAKES[verb]:
            verbs = [f"--{each}" for each, taken in TAKES.items() if name in taken and each != "list"]
            raise CommandError(f"{_option(name)} belongs to {' or '.join(verbs)}.", returncode=2)
    if verb != "list" and (advice := _missing(verb, names, given)):
        raise CommandError(advice, returncode=2)
    if "at" in given and "mode" not in given:
        given["mode"] = "position" if isinstance(given["at"], int) else "timestamp"
    return given


def _missing(verb: str, names: list[str], given: Mapping[str, Any]) -> str:
    """What a verb cannot be without."""
    is_wide = "namespace" in given or "task" in given
    if verb in OF_TOPICS and len(names) != 1:
        return f"Name one topic to {verb}; {len(names)} were named."
    if verb == "force-complete" and "older_than" not in given:
        return "Say what is given up: --older-than 7d."
    if verb in OF_TOPICS:
        return ""
    if len(names) + is_wide != 1:
        return f"Name one topic to {verb}, or a --namespace, a --task or both instead."
    if "group" not in given:
        return f"Say which group: --{verb} --group NAME."
    return "Say where it begins: --mode or --at." if verb == "restart" and not {"mode", "at"} & {*given} else ""


def foreseen(verb: Any, topic: str, given: Mapping[str, Any]) -> topics.Preview | None:
    """What a verb will do to what is there; None if it makes something, or lets a subscription go on."""
    if verb == "subscribe" or (verb == "configure" and not Topic.objects.filter(name=topic).exists()):
        return None
    return topics.preview(verb, topic, **{name: value for name, value in given.items() if name != "force"})


def done(verb: str, topic: str, given: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Do it, in one call; what has become of it for scripts, and in words."""
    result = CALLS[verb](topic, **given)
    if isinstance(result, int):
        return {"passed": result}, f"Done: {result:,} open passed over."
    if isinstance(result, Topic):
        return topic_facts(result), f"{result} is {result.semantics}."
    if result is None:
        return {}, "Done."
    facts = {"group": result.group_name, **{name: getattr(result, name) for name in FACTS}}
    begins = f"from position {result.start_position} on ({result.mode})"
    return facts, f"{result.group_name}, {result.scope}: {result.status}, {begins}."


def topic_facts(topic: Topic) -> dict[str, Any]:
    """What a topic is."""
    return {
        "topic": topic.name,
        "semantics": topic.semantics,
        "namespace": topic.namespace,
        "task": topic.task,
        "retention": topic.retention,
    }


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
