"""Preview: what a verb would do to a topic or a subscription, in words, before anybody does it."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from ccc_django.errors import UnknownTopic
from ccc_django.models import Topic
from ccc_django.topics.health import GroupHealth, health
from ccc_django.topics.records import record_of
from ccc_django.topics.scopes import Scope

Verb = Literal["configure", "pause", "resume", "cancel", "remove", "restart", "force-complete", "delete"]
VERBS: tuple[Verb, ...] = (
    "configure", "pause", "resume", "cancel", "remove", "restart", "force-complete", "delete",
)  # fmt: skip


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


def preview(
    verb: Verb,
    topic: str = "",
    *,
    group: str | None = None,
    namespace: str = "",
    task: str = "",
    semantics: str | None = None,
    older_than: timedelta | None = None,
) -> Preview:
    """What a verb would do now; nothing is changed."""
    if verb not in VERBS:
        raise ValueError(f"{verb!r}: one of {', '.join(VERBS)}.")
    if group is not None and verb not in {"configure", "force-complete"}:
        return _of_subscription(verb, group, Scope(topic=topic, namespace=namespace, task=task))
    known = Topic.objects.filter(name=topic).first()
    if known is None and verb != "configure":
        raise UnknownTopic(topic)
    if known is None:
        return Preview(verb=verb, subject=topic, sentences=(f"{topic} is made, as {semantics or 'QUEUE'}.",))
    concerned = tuple(each for each in health(topic) if group in {None, each.group})
    tell = {"configure": _configured, "delete": _deleted}.get(verb)
    told = tell(known, concerned, semantics) if tell else _forced(known, concerned, older_than)
    return Preview(verb=verb, subject=topic, sentences=tuple(filter(None, told)), groups=concerned)


def _of_subscription(verb: Verb, group: str, scope: Scope) -> Preview:
    record = record_of(group, scope, for_update=False)
    places = record.places.values_list("topic", flat=True)
    concerned = tuple(each for topic in places for each in health(topic) if each.group == group)
    waiting = sum(each.pending for each in concerned)
    open_work = f"{waiting:,} open" if waiting else "Nothing is open"
    told = {
        "pause": f"{group} gets nothing of {scope} until it is resumed. {open_work}: it is kept.",
        "resume": f"{group} gets {scope} again, from where it stood. {open_work}.",
        "cancel": f"{group} gets nothing of {scope} any more, and nothing is kept for it. {open_work}: that counts as "
        "done.",
        "remove": f"{group} leaves {scope}: its place there is forgotten. {open_work}: it is not delivered. "
        "Claims in hand are lost.",
        "restart": f"{group} begins {scope} at another place. {open_work}.",
    }[verb]
    return Preview(verb=verb, subject=f"{group}, {scope}", sentences=(told,), groups=concerned)


def _configured(topic: Topic, concerned: tuple[GroupHealth, ...], semantics: str | None) -> list[str]:
    if semantics is None or semantics == topic.semantics:
        return [f"{topic} stays {topic.semantics}."]
    to_all = f"Each message goes to every group that subscribes; {topic.group_name} is one of them."
    to_one = "Each message goes to one worker of one group; other groups leave the topic."
    return [f"{topic} becomes {semantics}.", to_one if semantics == "QUEUE" else to_all, *_open(concerned)]


def _deleted(topic: Topic, concerned: tuple[GroupHealth, ...], _: str | None) -> list[str]:
    return [f"{topic} is forgotten, and who has subscribed to it. Its messages stay in the log.", *_open(concerned)]


def _forced(topic: Topic, concerned: tuple[GroupHealth, ...], older_than: timedelta | None) -> list[str]:
    return [f"What is older than {older_than} in {topic} counts as done, for every group here.", *_open(concerned)]


def _open(concerned: tuple[GroupHealth, ...]) -> list[str]:
    return [f"{each.group} has {each.pending_text} open." for each in concerned if each.pending]
