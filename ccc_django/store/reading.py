"""Read: messages by conditions, by type, by trace, or all of them, and the guard for what was decided on them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

from ccc_django import db, declared
from ccc_django.conditions import Condition
from ccc_django.errors import EmptyGuard
from ccc_django.expressions import Types, type_names
from ccc_django.filters import Conditional, Filter
from ccc_django.guards import Guard
from ccc_django.heads import checked_head
from ccc_django.messages import Message
from ccc_django.models import StoredMessage, matching
from ccc_django.wanted import EVERYTHING

PAGE = 1_000


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
    conditions: Filter | Iterable[Condition] = (),
    *,
    type: Types = (),
    correlation_id: UUID | None = None,
    after: int = 0,
    upto: int | None = None,
    limit: int | None = None,
    backwards: bool = False,
) -> ReadResult:
    """Messages in the order of the log, with a guard, unless the read was cut by a limit or an upper bound.

    Conditions and types are alternatives; a filter says everything by itself. Without any, everything is read, and
    there is no guard: one on everything needs ``where()``.
    """
    if isinstance(conditions, list) and not conditions and not type_names(type) and correlation_id is None:
        raise EmptyGuard(
            "This list of conditions is empty: the class is found by none of the given attributes, and what is decided "
            "would be guarded by nothing. To read everything, leave it out."
        )
    sought = _sought(conditions, type)
    if correlation_id is not None or sought is None:
        if correlation_id is not None and not (isinstance(conditions, tuple) and not conditions):
            raise TypeError("correlation_id goes together with type=, not with conditions or a filter")
        return _read_rows(type_names(type), correlation_id, after, upto, limit, backwards=backwards)
    messages, position = _matching(sought, after, upto, limit, backwards=backwards)
    if limit is not None or upto is not None:
        return ReadResult(messages=messages, guard=None, position=position)
    seen = frozenset(message.position for message in messages if message.position and message.position > position)
    return ReadResult(messages=messages, guard=_guard(sought, position, seen), position=position)


def _sought(conditions: Filter | Iterable[Condition], type: Types) -> Filter | None:
    """Conditions and filters as one: a list of conditions is the leaf that is conditional."""
    if isinstance(conditions, Filter):
        if type_names(type):
            raise TypeError("A filter names types by itself: where(type=…), combined by & or by |.")
        return conditions
    listed = (*conditions, *(Condition(name) for name in type_names(type)))
    return Conditional(tuple(dict.fromkeys(listed))) if listed else None


def _guard(sought: Filter, after: int, seen: frozenset[int]) -> Guard:
    if isinstance(sought, Conditional):
        return Guard(conditions=sought.conditions, after=after, seen=seen)
    return Guard(filter=sought, after=after, seen=seen)


def _matching(
    sought: Filter, after: int, upto: int | None, limit: int | None, *, backwards: bool
) -> tuple[list[Message], int]:
    """Matches and the head; once more if what a filter relies on was declared or dropped meanwhile."""
    known, wanted = declared.sought(sought)
    last = EVERYTHING if upto is None else upto
    messages, head = matching.messages_and_head(wanted, after=after, upto=last, limit=limit, backwards=backwards)
    if wanted.relies_on_indexes and not declared.is_current(known.version):
        declared.reload()
        return _matching(sought, after, upto, limit, backwards=backwards)
    return messages, checked_head(*head)


def _read_rows(
    types: list[str], correlation_id: UUID | None, after: int, upto: int | None, limit: int | None, *, backwards: bool
) -> ReadResult:
    position = head()
    rows = StoredMessage.objects.after(after).order_by("-position" if backwards else "position")
    rows = rows if upto is None else rows.upto(upto)
    rows = rows if correlation_id is None else rows.correlated(correlation_id)
    rows = rows.of_types(types) if types else rows
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
