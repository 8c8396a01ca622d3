"""Schedule: messages wait for their time outside of the log, and enter it in the order of their times."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models.functions import Now
from pydantic_core import from_json, to_json

from ccc_django import db, notifications, stages, tracing
from ccc_django.attributes import KeyPair
from ccc_django.canonical import in_utc
from ccc_django.conf import conf
from ccc_django.entries import Entry
from ccc_django.messages import Message, noted
from ccc_django.models import ScheduledMessage, StoredMessage
from ccc_django.store.appending import add, entry_of

BATCH = 1_000
TICK = timedelta(milliseconds=1)  # SQLite's clock has three digits: what was due when it was scheduled is due now
COPIED = [name for name in Entry._fields if name not in {"pair_ids", "declared_pairs"}]


def schedule(messages: Message | Iterable[Message], *, at: datetime) -> list[ScheduledMessage]:
    """Keep messages until their time has come."""
    given = [messages] if isinstance(messages, Message) else list(messages)
    due_at = in_utc(at)
    with tracing.scheduling(given) as carrier:
        rows = [_row(entry_of(noted(message, **carrier)), due_at) for message in given]
    stages.scheduled(rows, due_at)
    return ScheduledMessage.objects.bulk_create(rows)


def promote(*, limit: int = BATCH) -> int:
    """Append what is due, in the order of time and then of scheduling; how many there were.

    Safe from any number of processes: one at a time promotes, the others find nothing to do.
    """
    with transaction.atomic(using=conf.database):
        if not db.rows("lock_promotion")[0][0]:
            return 0
        now = Now() + TICK if db.is_sqlite() else Now()
        due = list(ScheduledMessage.objects.filter(due_at__lte=now).order_by("due_at", "id")[:limit])
        places = add([_entry(row) for row in due])
        notifications.announce(row.message_type for row in due)
        ScheduledMessage.objects.filter(pk__in=[row.pk for row in due]).delete()
        if due and stages.are_appends_watched():
            positions = [position for position, _ in places.values()]
            stored = StoredMessage.objects.filter(position__in=positions).order_by("position")
            stages.promoted([*stored.messages()])
    return len(due)


def _row(entry: Entry, due_at: datetime) -> ScheduledMessage:
    columns = {name: getattr(entry, name) for name in COPIED}
    columns |= {"payload": from_json(entry.payload), "metadata": from_json(entry.metadata)}
    return ScheduledMessage(due_at=due_at, **columns)


def _entry(row: ScheduledMessage) -> Entry:
    columns = {name: getattr(row, name) for name in COPIED}
    columns |= {"payload": to_json(row.payload).decode(), "metadata": to_json(row.metadata).decode()}
    pairs = tuple(KeyPair(*pair) for pair in row.key_pairs)
    return Entry(**columns | {"key_pairs": pairs, "pair_ids": tuple(pair.hex for pair in pairs)})
