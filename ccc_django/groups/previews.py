"""Previews: what a verb will do to a group or to one partition, in figures and in words."""

from dataclasses import dataclass
from typing import Literal

MOST_COUNTED = 10_000  # messages; beyond that there are "more than"

Verb = Literal["start", "stop", "reset", "seek", "delete"]
VERBS: tuple[Verb, ...] = ("start", "stop", "reset", "seek", "delete")


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What will be done, with figures as they are now.

    ``partitions`` are concerned, of which ``paused`` ones wait after a failure and ``stopped`` ones for somebody.
    ``claims`` are fenced. ``again`` messages were acked before and come once more; ``skipped`` ones wait, and are
    passed over. For a whole group both count what is of its types, as an upper bound. ``first`` is the first position
    that is delivered. ``subscriptions`` go with a group that is deleted, unless it keeps them.
    """

    verb: Verb
    group: str
    status: str
    partition: str | None
    head: int
    first: int
    partitions: int
    paused: int
    stopped: int
    claims: int
    again: int = 0
    skipped: int = 0
    dead_letters: int = 0
    subscriptions: int = 0
    keeps_subscriptions: bool = False

    @property
    def sentence(self) -> str:
        """What a person is asked to agree to."""
        return " ".join(self.sentences)

    @property
    def sentences(self) -> list[str]:
        """The same, one by one."""
        tell = {"start": _start, "stop": _stop, "delete": _delete}.get(self.verb, _move)
        return [sentence for sentence in tell(self) if sentence]

    @property
    def subject(self) -> str:
        """The group, or the partition of it."""
        return self.group if self.partition is None else f"{self.partition} of {self.group}"


def _start(seen: Preview) -> list[str]:
    if seen.partition is None:
        is_active = seen.status == "active"
        return [
            f"{seen.group} is active already." if is_active else f"Partitions of {seen.group} can be claimed again.",
            told(seen.stopped, "1 partition that was stopped stays so.", "# partitions that were stopped stay so."),
        ]
    waits = seen.paused or seen.stopped
    return [
        f"{seen.subject} is tried again at once." if waits else f"{seen.subject} neither pauses nor is stopped.",
        "" if seen.status == "active" else f"But {seen.group} is {seen.status}: start it too.",
    ]


def _stop(seen: Preview) -> list[str]:
    what = f"partitions of {seen.group}" if seen.partition is None else seen.subject
    return [f"Nobody can claim {what} until it is started.", _fenced(seen)]


def _move(seen: Preview) -> list[str]:
    whole = f"{seen.group} goes, with {told(seen.partitions, '1 partition', '# partitions') or 'no partition yet'},"
    messages, waiting = _messages(seen, seen.again), _messages(seen, seen.skipped)
    letters, waits = seen.dead_letters, seen.paused + seen.stopped
    return [
        f"{whole if seen.partition is None else f'{seen.subject} goes'} to position {seen.first}.",
        beyond_the_log(seen),
        f"{messages} delivered again, as replayed." if seen.again else "",
        f"{waiting} passed over, not done yet." if seen.skipped else "",
        told(letters, "1 dead letter is delivered with the rest.", "# dead letters are delivered with the rest."),
        told(waits, "1 partition that waits goes on.", "# partitions that wait go on."),
        _fenced(seen),
    ]


def beyond_the_log(seen: Preview) -> str:
    """What it means to go to where there is nothing yet."""
    if seen.first <= seen.head:
        return ""
    if seen.first == seen.head + 1:
        return f"The log ends at {seen.head}: what is there is not delivered."
    until = f"nothing is delivered before it has grown to {seen.first}, what comes until then never is."
    return f"The log ends at {seen.head}: {until}"


def _delete(seen: Preview) -> list[str]:
    letters = told(seen.dead_letters, "1 open dead letter", "# open dead letters") or "no open dead letter"
    progress = f"its progress in {told(seen.partitions, '1 partition', '# partitions') or 'no partition'}"
    back = "If it is registered again,", "It is there again when the next message names it in full: then"
    anew = f"everything from position {seen.first} on is delivered as for the first time, not as replayed."
    return [
        f"{seen.subject} is forgotten, with {'its progress' if seen.partition else progress} and {letters}.",
        said_of_subscriptions(seen) if seen.subscriptions else f"{back[seen.partition is not None]} {anew}",
        f"{_messages(seen, seen.skipped)} not delivered until then." if seen.skipped else "",
        _fenced(seen),
    ]


def said_of_subscriptions(seen: Preview) -> str:
    """Where a group that is deleted begins, if it comes again."""
    if seen.keeps_subscriptions:
        kept = "kept: if it subscribes again, it begins where"
        return told(
            seen.subscriptions, f"Its subscription is {kept} that says.", f"Its # subscriptions are {kept} they say."
        )
    gone = "forgotten too: if it subscribes again, it begins where it then says."
    return told(seen.subscriptions, f"Its subscription is {gone}", f"Its # subscriptions are {gone}")


def _fenced(seen: Preview) -> str:
    again = ", and its messages come again" if seen.verb == "stop" else ""
    return told(
        seen.claims,
        f"1 running claim is fenced: its worker can no longer ack{again}.",
        f"# running claims are fenced: their workers can no longer ack{again.replace('its', 'their')}.",
    )


def _messages(seen: Preview, count: int) -> str:
    """How many there are; for a whole group nobody has looked whether each belongs to a partition."""
    if count > MOST_COUNTED:
        return f"{'More' if seen.partition else 'Perhaps more'} than {MOST_COUNTED:,} messages are"
    some = told(count, "1 message is", "# messages are")
    return some if seen.partition else f"Up to {some}"


def told(count: int, one: str, several: str) -> str:
    """A text about so many things; none about nothing."""
    return "" if not count else one if count == 1 else several.replace("#", f"{count:,}")
