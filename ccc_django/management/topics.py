"""Topics at a command line: which options belong to which verb, and the one call that each verb is."""

from argparse import SUPPRESS
from collections.abc import Callable, Mapping
from typing import Any

from django.core.management.base import CommandError, CommandParser

from ccc_django import topics
from ccc_django.management.arguments import duration, mode, rate, retention, start_place
from ccc_django.models import Topic
from ccc_django.topics import PUB_SUB, QUEUE

SCOPE = ("group", "namespace", "task")
START = ("mode", "at", "lookback")
TAKES: dict[str, tuple[str, ...]] = {  # options by verb; without any, topics are listed
    "list": SCOPE,
    "configure": (*SCOPE, "semantics", "retention", "unsubscribed_retention", "keep_partial", "force"),
    "subscribe": (*SCOPE, *START),
    "pause": SCOPE,
    "resume": SCOPE,
    "cancel": SCOPE,
    "remove": SCOPE,
    "restart": (*SCOPE, *START, "apply_to"),
    "force-complete": ("group", "older_than"),
    "prune": ("dry_run",),
    "backfill": ("group", "rate"),
    "cancel-backfill": ("group",),
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
    "cancel-backfill": topics.cancel_backfill,
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
    "prune": "delete what is older than its retention and needed by nobody, of some topics or of all",
    "backfill": "make open work here and now of what was there before a group came; goes on after Ctrl-C",
    "cancel-backfill": "let a group pass over what was there before it came and is not open yet",
    "delete": "forget a topic and who has subscribed to it; messages stay",
}
OF_TOPICS = ("configure", "force-complete", "delete", "backfill", "cancel-backfill")
FACTS = ("topic", "namespace", "task", "status", "mode", "start_position", "start_at")


def add_options(parser: CommandParser) -> None:
    """Verbs, and what they take."""
    add, either = parser.add_argument, parser.add_mutually_exclusive_group().add_argument
    given: Any = {"default": SUPPRESS}
    for verb, what in HELP.items():
        either(f"--{verb}", action="store_const", dest="verb", const=verb, default="list", help=what)
    options: dict[str, dict[str, Any]] = {
        "group": {"metavar": "NAME", "help": "whose subscription; the one group of a queue"},
        "namespace": {"metavar": "NAME", "help": "of a topic; or instead of one, everything in it"},
        "task": {"metavar": "NAME", "help": "the same"},
        "semantics": {"type": str.upper, "choices": [QUEUE, PUB_SUB], "help": "of a topic (a new one: QUEUE)"},
        "retention": {"type": retention, "metavar": "TIME", "help": "keep messages for 7d, 36h, …, or forever"},
        "unsubscribed-retention": {
            "type": retention,
            "metavar": "TIME",
            "help": "the same while nobody has subscribed",
        },
        "keep-partial": {"type": retention, "metavar": "TIME", "help": "the same of what partitions to come may need"},
        "mode": {"type": mode, "metavar": "MODE", "help": "begin with all, new, at a timestamp, at a position"},
        "at": {"type": start_place, "metavar": "PLACE", "help": "that time or position"},
        "lookback": {"type": duration, "metavar": "TIME", "help": "with --mode new, begin so long ago"},
        "apply-to": {"choices": ["untouched", "all"], "help": "what goes there (untouched)"},
        "older-than": {"type": duration, "metavar": "TIME", "help": "what is given up"},
        "rate": {"type": rate, "metavar": "N", "help": "no more messages a second; 0 lets all"},
        "dry-run": {"action": "store_true", "help": "only count what would be pruned"},
        "force": {"action": "store_true", "help": "also with open messages, which are left behind"},
    }
    for name, option in options.items():
        add(f"--{name}", **given, **option)


def as_verb(verb: str, names: list[str]) -> tuple[str, list[str]]:
    """``ccc_topics prune`` is what it looks like, unless there is a topic of this name."""
    is_said = verb == "list" and names[:1] == ["prune"] and not Topic.objects.filter(name="prune").exists()
    return ("prune", names[1:]) if is_said else (verb, names)


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
    if verb == "prune":
        return ""
    if verb in OF_TOPICS and len(names) != 1:
        return f"Name one topic to {verb}; {len(names)} were named."
    if verb == "force-complete" and "older_than" not in given:
        return "Say what is given up: --older-than 7d."
    if verb in {"backfill", "cancel-backfill"} and "group" not in given:
        return f"Say which group: --{verb} --group NAME."
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
        "unsubscribed_retention": topic.unsubscribed_retention,
        "keep_partial": topic.keep_partial,
        "pruned_upto": topic.pruned_upto,
    }


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
