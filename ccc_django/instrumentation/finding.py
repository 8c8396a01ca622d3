"""Finding: a message by its id, the beginning of it, or its position, and the others of its trace."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from pydantic_core import to_json

from ccc_django.envelope import Envelope
from ccc_django.errors import MessageNotFound
from ccc_django.messages import Message
from ccc_django.models import ScheduledMessage, StoredMessage
from ccc_django.restoring import restore

if TYPE_CHECKING:
    from django.db.models import QuerySet

DIGITS = 32  # of an id
SEVERAL = 3  # ids that an error names


@dataclass(frozen=True, slots=True)
class Found:
    """A message in the log, or one that waits for its time."""

    message: Message
    at: datetime
    due_at: datetime | None = None


def find(what: UUID | int | str) -> Found:
    """The one message that is meant; digits alone are a position, if there is a message."""
    if isinstance(what, int) or re.fullmatch(r"[1-9]\d*", str(what), re.ASCII):
        found = list(_stored(StoredMessage.objects.filter(position=min(int(what), 2**63 - 1))))
        if found or isinstance(what, int):
            return _only(what, found)
    begun = str(what).replace("-", "").lower()
    if not re.fullmatch(rf"[0-9a-f]{{1,{DIGITS}}}", begun):
        raise MessageNotFound(f"{what!r} is neither an id, nor the beginning of one, nor a position.")
    within = (UUID(hex=begun.ljust(DIGITS, "0")), UUID(hex=begun.ljust(DIGITS, "f")))
    stored = StoredMessage.objects.filter(message_id__range=within).order_by("position")[: SEVERAL + 1]
    scheduled = ScheduledMessage.objects.filter(message_id__range=within)[: SEVERAL + 1]
    return _only(what, [*_stored(stored), *_scheduled(scheduled)])


def collected(asked: Found, limit: int) -> tuple[dict[UUID, Found], int]:
    """The first messages of a trace in the order of the log, then those that wait, by id; and how many there are."""
    correlation_id = asked.message.correlation_id
    stored = StoredMessage.objects.correlated(correlation_id).order_by("position")
    scheduled = ScheduledMessage.objects.filter(correlation_id=correlation_id).order_by("due_at", "id")
    found = list(_stored(stored[:limit]))
    if len(found) < limit:
        found += _scheduled(scheduled[: limit - len(found)])
    shown = {each.message.id: each for each in found}
    return _with_causes(asked, shown, limit), stored.count() + scheduled.count()


def _with_causes(asked: Found, shown: dict[UUID, Found], limit: int) -> dict[UUID, Found]:
    """The message that was asked for, and what has led to it, also where the limit has left it out."""
    each: Found | None = asked
    for _ in range(limit):
        if each is None or each.message.id in shown:
            break
        shown[each.message.id] = each
        cause = StoredMessage.objects.correlated(asked.message.correlation_id).filter(
            message_id=each.message.causation_id
        )
        each = next(_stored(cause), None)
    return shown


def _only(what: object, found: list[Found]) -> Found:
    if not found:
        raise MessageNotFound(f"There is no message {what}: manage.py ccc_tail shows positions, and ids with --json.")
    if len(found) > 1:
        ids = ", ".join(str(each.message.id) for each in found[:SEVERAL])
        more = ", …" if len(found) > SEVERAL else ""
        raise MessageNotFound(f"{what} begins the ids of several messages: {ids}{more}. Give more of it.")
    return found[0]


def _stored(rows: "QuerySet[StoredMessage]") -> Iterator[Found]:
    for message in rows.messages():  # type: ignore[attr-defined]
        yield Found(message, message.envelope.appended_at)


def _scheduled(rows: "QuerySet[ScheduledMessage]") -> Iterator[Found]:
    for row in rows:
        envelope = Envelope(
            id=row.message_id,
            type=row.message_type,
            version=row.version,
            topic=row.topic,
            created_at=row.created_at,
            metadata=row.metadata,
            correlation_id=row.correlation_id,
            causation_id=row.causation_id,
        )
        yield Found(restore(envelope, to_json(row.payload).decode()), row.due_at, row.due_at)
