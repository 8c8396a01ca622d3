"""Preview: what a verb would do to a topic or a subscription, in words, before anybody does it."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, TypedDict, Unpack

from ccc_django.errors import UnknownSubscription, UnknownTopic
from ccc_django.groups.previews import MOST_COUNTED
from ccc_django.models import Topic
from ccc_django.models.consumer_group import Kind
from ccc_django.semantics import QUEUE
from ccc_django.topics.configuring import UNCHANGED, Unchanged
from ccc_django.topics.figures import GroupHealth, fan_out, health
from ccc_django.topics.histories import at_risk, evolved_types
from ccc_django.topics.records import record_of
from ccc_django.topics.restarting import ApplyTo
from ccc_django.topics.scopes import Scope
from ccc_django.topics.starts import At, Start

Verb = Literal[
    "configure", "pause", "resume", "cancel", "remove", "restart", "force-complete", "cancel-backfill", "delete"
]
VERBS: tuple[Verb, ...] = (
    "configure", "pause", "resume", "cancel", "remove", "restart", "force-complete", "cancel-backfill", "delete",
)  # fmt: skip
OF_TOPICS = {"configure", "force-complete", "delete"}  # the others are done to subscriptions


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What will be done, to whom, with figures as they are now."""

    verb: Verb
    subject: str
    sentences: tuple[str, ...]
    groups: tuple[GroupHealth, ...] = ()

    @property
    def sentence(self) -> str:
        """What a person is asked to agree to."""
        return " ".join(self.sentences)


class Details(TypedDict, total=False):
    """How a topic is configured, and where a subscription is to begin; what is not given is not told."""

    semantics: str | None
    retention: timedelta | Unchanged | None
    unsubscribed_retention: timedelta | Unchanged | None
    keep_partial: timedelta | Unchanged | None
    mode: str | None
    at: At
    lookback: timedelta | None
    apply_to: ApplyTo


def preview(
    verb: Verb,
    topic: str = "",
    *,
    group: str | None = None,
    namespace: str = "",
    task: str = "",
    older_than: timedelta | None = None,
    **details: Unpack[Details],
) -> Preview:
    """What a verb would do now; nothing is changed."""
    _refuse(verb, group, details)
    if group is not None and verb not in OF_TOPICS:
        return _of_subscription(verb, group, Scope(topic=topic, namespace=namespace, task=task), details)
    known = Topic.objects.filter(name=topic).first()
    if known is None and verb != "configure":
        raise UnknownTopic(topic)
    if known is None:
        made = f"{topic} is made, as {details.get('semantics') or 'QUEUE'}."
        return Preview(verb=verb, subject=topic, sentences=(made,))
    concerned = tuple(each for each in health(topic) if verb != "force-complete" or group in {None, each.group})
    if verb == "configure":
        told = [*_configured(known, concerned, details, group), *_moved(known, namespace, task), *_kept(known, details)]
    elif verb == "delete":
        told = _deleted(known, concerned)
    else:
        told = _forced(known, concerned, older_than, group)
    return Preview(verb=verb, subject=topic, sentences=tuple(filter(None, told)), groups=concerned)


def _refuse(verb: Verb, group: str | None, details: Details) -> None:
    if verb not in VERBS:
        raise ValueError(f"{verb!r}: one of {', '.join(VERBS)}.")
    if group is None and verb not in OF_TOPICS:
        raise ValueError(f"{verb!r} is done to a subscription: say of which group.")
    if unknown := {*details} - {*Details.__annotations__}:
        raise TypeError(f"{', '.join(sorted(unknown))}: there is no such detail.")


def _of_subscription(verb: Verb, group: str, scope: Scope, details: Details) -> Preview:
    record = record_of(group, scope, for_update=False)
    places = [*record.places.values_list("topic", flat=True)]
    concerned = tuple(each for each in fan_out(places) if each.group == group) if places else ()
    open_work = _open_by(concerned)
    told = {
        "pause": f"{group} gets nothing of {scope} until it is resumed. {open_work}: it is kept.",
        "resume": f"{group} gets {scope} again, from where it stood. {open_work}.",
        "cancel": f"{group} gets nothing of {scope} any more, and nothing is kept for it. {open_work}: that counts as "
        "done.",
        "remove": f"{group} leaves {scope}: its place there is forgotten. {open_work}: it is not delivered. "
        "Claims in hand are lost.",
        "restart": f"{group} begins {scope} at {_begin(details)} {open_work}.",
        "cancel-backfill": f"{group} passes over what was in {scope} before it came and is not open yet. {open_work}.",
    }[verb]
    return Preview(verb=verb, subject=f"{group}, {scope}", sentences=(told,), groups=concerned)


def _open_by(concerned: tuple[GroupHealth, ...]) -> str:
    """What one group has open in some topics: an ordered one has one order over them, and says the same in each."""
    counts = [each.pending for each in concerned]
    is_ordered = any(each.kind == Kind.ORDERED for each in concerned)
    waiting = max(counts) if is_ordered else sum(counts)
    if waiting > MOST_COUNTED:
        return f"{MOST_COUNTED:,}+ open"
    return f"{waiting:,} open" if waiting else "Nothing is open"


def _begin(details: Details) -> str:
    """Where a restart goes, and what goes there."""
    if not details.get("mode"):
        return "another place."
    start = Start.of(details.get("mode"), details.get("at"), details.get("lookback"))
    stays = "What it has not touched yet begins there; the rest stays where it is."
    goes = (
        "Everything goes there: what was done behind it comes again, what is open before it is passed over, claims in "
    )
    is_all = details.get("apply_to") == "all"
    return f"position {start.position()}. {f'{goes}hand are lost.' if is_all else stays}"


def _handed_over(topic: Topic, concerned: tuple[GroupHealth, ...], group: str | None) -> list[str]:
    """A queue that is given to another group leaves what the others have open behind."""
    leaving = tuple(each for each in concerned if group is not None and each.group != group)
    if not topic.is_queue or not leaving:
        return []
    names = ", ".join(each.group for each in leaving)
    return [f"It goes to {group}; {names} leaves it, and what is open there is dropped.", *_open(leaving)]


def _configured(topic: Topic, concerned: tuple[GroupHealth, ...], details: Details, group: str | None) -> list[str]:
    semantics = details.get("semantics")
    if semantics is None or semantics == topic.semantics:
        return [f"{topic} stays {topic.semantics}.", *_handed_over(topic, concerned, group)]
    to_all = f"Each message goes to every group that subscribes; {topic.group_name} is one of them."
    to_one = "Each message goes to one worker of one group; other groups leave the topic."
    return [f"{topic} becomes {semantics}.", to_one if semantics == QUEUE else to_all, *_open(concerned)]


def _moved(topic: Topic, namespace: str, task: str) -> list[str]:
    """Another namespace or task lets other groups get it."""
    given = {"namespace": (topic.namespace, namespace), "task": (topic.task, task)}
    changes = [f"{what} {new}" for what, (old, new) in given.items() if new and new != old]
    return [f"It comes into {', '.join(changes)}: who gets it by that is found anew."] if changes else []


def _kept(topic: Topic, details: Details) -> list[str]:
    """How long messages are kept from now on, and who would miss them."""
    told = []
    retention, unsubscribed = details.get("retention", UNCHANGED), details.get("unsubscribed_retention", UNCHANGED)
    if retention is not UNCHANGED:
        told.append(
            "Its messages are kept for ever." if retention is None else f"Its messages are kept for {retention}."
        )
    if unsubscribed is not UNCHANGED:
        length = "ever" if unsubscribed is None else str(unsubscribed)
        told.append(f"While nobody has subscribed they are kept for {length}.")
    lets_go = any(isinstance(each, timedelta) for each in (retention, unsubscribed))
    return [*told, *(at_risk(topic.name, evolved_types()) if lets_go else [])]


def _deleted(topic: Topic, concerned: tuple[GroupHealth, ...]) -> list[str]:
    return [f"{topic} is forgotten, and who has subscribed to it. Its messages stay in the log.", *_open(concerned)]


def _forced(
    topic: Topic, concerned: tuple[GroupHealth, ...], older_than: timedelta | None, group: str | None
) -> list[str]:
    if group is not None and not concerned:
        raise UnknownSubscription(f"{group} does not get {topic}.")
    whom = "every group here" if group is None else group
    return [f"What is older than {older_than} in {topic} counts as done, for {whom}.", *_open(concerned)]


def _open(concerned: tuple[GroupHealth, ...]) -> list[str]:
    return [f"{each.group} has {each.pending_text} open." for each in concerned if each.pending]
