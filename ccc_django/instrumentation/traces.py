"""Traces: what has followed from a message: the tree of all messages with one correlation id, and who handled them."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from ccc_django.instrumentation.finding import Found, collected, find
from ccc_django.instrumentation.handled import Handled, handled
from ccc_django.messages import Message

LIMIT = 500
KNOWN, NONE, GONE = "known", "none", "gone"

Effects = dict[UUID, list[UUID]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A message in its trace.

    ``by`` is the group that made it, ``after`` the time since the root. ``cause`` says whether what it stands under is
    its cause; if it has none, or it is gone, it stands under the root. ``due_at`` is set while it waits for its time.
    """

    message: Message
    after: timedelta
    by: str
    cause: str
    due_at: datetime | None
    is_asked: bool
    handled: tuple[Handled, ...]
    children: tuple["Node", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """All messages that belong together, or the first of them, and how many more there are."""

    correlation_id: UUID
    root: Node
    messages: int
    left_out: int


def trace(what: UUID | int | str, *, limit: int = LIMIT) -> Trace:
    """The trace that a message belongs to, which is named by its id, the beginning of its id, or its position.

    No more than ``limit`` messages are read, the first of the trace; the one that was asked for is always there, with
    what has led to it.
    """
    if limit < 1:
        raise ValueError(f"limit={limit}: a trace has one message at least.")
    asked = find(what)
    shown, total = collected(asked, limit)
    root = _root(asked.message.correlation_id, shown)
    effects, causes = _tree(root, [each.message for each in shown.values()])
    done = handled(each.message for each in shown.values())
    began_at = shown[root].at
    nodes: dict[UUID, Node] = {}
    for id in reversed(effects):  # effects stand behind their causes
        found = shown[id]
        nodes[id] = Node(
            message=found.message,
            after=found.at - began_at,
            by=str(found.message.envelope.metadata.get("consumer", "")),
            cause=causes[id],
            due_at=found.due_at,
            is_asked=id == asked.message.id,
            handled=done.get(found.message.position or 0, ()),
            children=tuple(nodes[effect] for effect in effects[id]),
        )
    left_out = max(total - len(shown), 0)
    return Trace(correlation_id=asked.message.correlation_id, root=nodes[root], messages=len(shown), left_out=left_out)


def _root(correlation_id: UUID, shown: dict[UUID, Found]) -> UUID:
    """The message that the trace is named for; else the first that has no cause, or the first of all."""
    if correlation_id in shown:
        return correlation_id
    without = [id for id, found in shown.items() if found.message.causation_id == id]
    return next(iter([*without, *shown]))


def _tree(root: UUID, messages: list[Message]) -> tuple[Effects, dict[UUID, str]]:
    """The effects of each message, each message once however causes run in circles, and what is known of causes."""
    known, direct = {message.id for message in messages}, defaultdict[UUID, list[UUID]](list)
    for message in messages:
        direct[message.causation_id].append(message.id)
    effects: Effects = {}
    causes = {message.id: KNOWN for message in messages}
    _reach(root, direct, effects)
    lost = [message for message in messages if message.causation_id == message.id or message.causation_id not in known]
    for message in [*lost, *messages]:  # those in circles come last
        if message.id not in effects:
            effects[root].append(message.id)
            causes[message.id] = NONE if message.causation_id == message.id else GONE
            _reach(message.id, direct, effects)
    return effects, causes


def _reach(first: UUID, direct: dict[UUID, list[UUID]], effects: Effects) -> None:
    """Add a message and everything that follows from it, but for what is there already."""
    effects[first] = []
    waiting: list[UUID] = [first]
    while waiting:
        cause = waiting.pop()
        for effect in _new(direct.get(cause, ()), effects):
            effects[effect] = []
            effects[cause].append(effect)
            waiting.append(effect)


def _new(ids: Iterable[UUID], effects: Effects) -> list[UUID]:
    return [id for id in ids if id not in effects]
