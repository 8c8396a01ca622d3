"""Health of topics: for each group, whether it lives, how far it is, and what waits."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils.timezone import is_naive
from pydantic_core import to_json

from ccc_django import db
from ccc_django.errors import UnknownTopic
from ccc_django.groups import counting
from ccc_django.groups.previews import MOST_COUNTED
from ccc_django.models import Topic
from ccc_django.store.reading import head


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupHealth:
    """One group in one topic, at one moment.

    ``pending`` counts open messages, of an ordered group partitions that have some, up to ten thousand. ``lag`` counts
    positions between the head of the log and what is open. ``processed`` is for people, and a second late. Between
    ``lost_from`` and ``lost_to`` messages were pruned that it had not done.
    """

    topic: str
    group: str
    kind: str
    status: str
    mode: str
    start: int
    last_heartbeat_at: datetime | None
    lag: int
    pending: int
    processed: int
    oldest_pending_age: timedelta | None
    lost_from: int | None = None
    lost_to: int | None = None

    @property
    def pending_text(self) -> str:
        """As people read it."""
        return f"{MOST_COUNTED:,}+" if self.pending > MOST_COUNTED else f"{self.pending:,}"


def health(topic: str) -> list[GroupHealth]:
    """How the groups of a topic are doing, by name."""
    found = _health([topic])
    if not found and not Topic.objects.filter(name=topic).exists():
        raise UnknownTopic(topic)
    return found


def fan_out(topics: Iterable[str] = ()) -> list[GroupHealth]:
    """Every group in every topic, or in some of them, in one statement; nothing is said of what is not known."""
    return _health([*topics])


def _health(topics: list[str]) -> list[GroupHealth]:
    counting.write()
    final = head()
    listed: Any = to_json(topics).decode() if db.is_sqlite() else topics
    rows = db.rows("topic_health", topics=listed, every=not topics, head=final, most=MOST_COUNTED + 1)
    return [_of_group(final, row) for row in rows]


def _of_group(final: int, row: db.Row) -> GroupHealth:
    topic, group, kind, status, mode, start, beaten_at, processed, lowest, pending, age, lost_from, lost_to = row
    return GroupHealth(
        topic=topic,
        group=group,
        kind=kind,
        status=status,
        mode=mode,
        start=start,
        last_heartbeat_at=_time(beaten_at),
        lag=0 if lowest is None else max(final - lowest + 1, 0),
        pending=min(pending, MOST_COUNTED + 1),
        processed=processed,
        oldest_pending_age=None if age is None else timedelta(seconds=max(age, 0.0)),
        lost_from=lost_from,
        lost_to=lost_to,
    )


def _time(value: datetime | str | None) -> datetime | None:
    """SQLite keeps times of UTC without saying so."""
    time = datetime.fromisoformat(value) if isinstance(value, str) else value
    return time.replace(tzinfo=UTC) if time is not None and is_naive(time) else time
