"""Read: messages by conditions, by type, by trace, or all of them, and the guard for what was decided on them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

from ccc_django import db
from ccc_django.conditions import Condition
from ccc_django.errors import ReadFromReplica, WrongIsolation
from ccc_django.guards import EVERYTHING, Guard, Wanted
from ccc_django.messages import Message
from ccc_django.models import StoredMessage, matching

PAGE = 1_000

Types = type[Message] | str | Iterable[type[Message] | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResult:
    """What was found, the guard for a decision on it, and the position up to which everything is final."""

    messages: list[Message]
    guard: Guard | None
    position: int


def head() -> int:
    """The highest position below which everything is final: what is there will stay, and nothing will be added."""
    return checked_head(*db.rows("head")[0])


def read(
    conditions: Iterable[Condition] = (),
    *,
    type: Types = (),
    correlation_id: UUID | None = None,
    after: int = 0,
    upto: int | None = None,
    limit: int | None = None,
    backwards: bool = False,
) -> ReadResult:
    """Messages in the order of the log, with a guard, unless the read was cut by a limit or an upper bound.

    Conditions and types are alternatives. Without any, everything is read; a guard on everything does not exist.
    """
    wanted = [*conditions, *(Condition(name) for name in type_names(type))]
    if correlation_id is not None or not wanted:
        return _read_rows(wanted, correlation_id, after, upto, limit, backwards=backwards)
    messages, found_head = matching.messages_and_head(
        Wanted.by(wanted), after=after, upto=EVERYTHING if upto is None else upto, limit=limit, backwards=backwards
    )
    position = checked_head(*found_head)
    if limit is not None or upto is not None:
        return ReadResult(messages=messages, guard=None, position=position)
    seen = frozenset(message.position for message in messages if message.position and message.position > position)
    guard = Guard(conditions=tuple(wanted), after=position, seen=seen)
    return ReadResult(messages=messages, guard=guard, position=position)


def _read_rows(
    wanted: list[Condition],
    correlation_id: UUID | None,
    after: int,
    upto: int | None,
    limit: int | None,
    *,
    backwards: bool,
) -> ReadResult:
    position = head()
    rows = StoredMessage.objects.after(after).order_by("-position" if backwards else "position")
    rows = rows if upto is None else rows.upto(upto)
    rows = rows if correlation_id is None else rows.correlated(correlation_id)
    if wanted:
        rows = rows.of_types(condition.type for condition in wanted)
    return ReadResult(messages=list(rows[:limit].messages()), guard=None, position=position)


def stream(*, after: int = 0, type: Types = (), upto: int | None = None) -> Iterator[Message]:
    """The messages up to the head of this moment, page by page: it ends, and takes no more memory than a page."""
    last = head() if upto is None else min(upto, head())
    rows = StoredMessage.objects.upto(last).order_by("position")
    if names := type_names(type):
        rows = rows.of_types(names)
    while page := list(rows.after(after)[:PAGE].messages()):
        yield from page
        after = page[-1].position or last


def type_names(types: Types) -> list[str]:
    """Message types by name, from classes or names."""
    several = [types] if isinstance(types, str | type_of) else list(types)
    return [each if isinstance(each, str) else each.type for each in several]


type_of = type


def checked_head(position: int, isolation: str, in_recovery: bool) -> int:  # noqa: FBT001 - a row of the statement
    """A head that can be relied upon."""
    if in_recovery:
        raise ReadFromReplica("Positions are read from the database that they are written to, and this is a replica.")
    if isolation != "read committed":
        raise WrongIsolation(f"head() needs READ COMMITTED; this transaction is {isolation.upper()}.")
    return position
