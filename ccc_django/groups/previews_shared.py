"""Previews of shared groups: the same verbs, told of messages and topics, as there are no partitions."""

from dataclasses import dataclass, field

from ccc_django.groups.previews import MOST_COUNTED, Preview, beyond_the_log, said_of_subscriptions, told


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPreview(Preview):
    """What will be done to a shared group.

    ``paused``, ``stopped`` and ``claims`` are messages. ``again`` messages lie before where the group stands, done or
    never delivered, and come like new ones. ``begins`` says for each topic which position is delivered first; ``first``
    is the lowest of them.
    """

    begins: dict[str, int] = field(default_factory=dict)

    @property
    def sentences(self) -> list[str]:
        """What a person is asked to agree to, one by one."""
        tell = {"start": _start, "stop": _stop, "delete": _delete}.get(self.verb, _move)
        return [sentence for sentence in tell(self) if sentence]

    @property
    def topics(self) -> str:
        """How many it gets."""
        return told(len(self.begins), "1 topic", "# topics") or "no topic"


def _start(seen: SharedPreview) -> list[str]:
    is_active = seen.status == "active"
    return [
        f"{seen.group} is active already." if is_active else f"Messages of {seen.group} can be claimed again.",
        told(seen.stopped, "1 message that was stopped stays so.", "# messages that were stopped stay so."),
    ]


def _stop(seen: SharedPreview) -> list[str]:
    return [f"Nobody can claim messages of {seen.group} until it is started.", _fenced(seen)]


def _move(seen: SharedPreview) -> list[str]:
    if not seen.begins:
        return [f"{seen.group} gets no topic: there is nothing to move."]
    is_one_place = len({*seen.begins.values()}) == 1
    where = "to" if is_one_place else "back to where it began in each, at the earliest"
    return [
        f"{seen.group} goes, in {seen.topics}, {where} position {seen.first}.",
        beyond_the_log(seen),
        _counted(
            seen.again,
            "Up to 1 message from before where it stands comes, like a new one.",
            "Up to # messages from before where it stands come, like new ones.",
        ),
        _counted(seen.skipped, "1 message is passed over, not done yet.", "# messages are passed over, not done yet."),
        told(
            seen.dead_letters,
            "1 dead letter is delivered with the rest.",
            "# dead letters are delivered with the rest.",
        ),
        told(
            seen.paused + seen.stopped,
            "1 message that waits comes without waiting.",
            "# messages that wait come without waiting.",
        ),
        _fenced(seen),
    ]


def _delete(seen: SharedPreview) -> list[str]:
    letters = told(seen.dead_letters, "1 open dead letter", "# open dead letters") or "no open dead letter"
    return [
        f"{seen.group} is forgotten, with its progress in {seen.topics} and {letters}.",
        said_of_subscriptions(seen),
        _counted(seen.skipped, "1 message is open, and not delivered.", "# messages are open, and not delivered."),
        _fenced(seen),
    ]


def _fenced(seen: SharedPreview) -> str:
    is_stop = seen.verb == "stop"
    return told(
        seen.claims,
        f"1 message in hand is fenced: its worker can no longer ack it{', and it comes again' if is_stop else ''}.",
        "# messages in hand are fenced: their workers can no longer ack them"
        f"{', and they come again' if is_stop else ''}.",
    )


def _counted(count: int, one: str, several: str) -> str:
    """The same about messages, which are not counted for ever."""
    if count <= MOST_COUNTED:
        return told(count, one, several)
    more = f"ore than {MOST_COUNTED:,}"
    return several.replace("Up to #", f"Perhaps m{more}").replace("#", f"M{more}")
