"""Status: where a group stands, derived from its watermark and its open work."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from operator import attrgetter
from typing import Any

from django.db.models import Exists, OuterRef
from pydantic_core import to_json

from ccc_django import db
from ccc_django.errors import UnknownGroup
from ccc_django.groups.lifecycle import is_put_off
from ccc_django.groups.previews import MOST_COUNTED
from ccc_django.groups.searching import FROM_THE_START
from ccc_django.models import ConsumerGroup, StoredMessage, TopicSubscription
from ccc_django.models.consumer_group import Kind
from ccc_django.models.offset import STOPPED_FOR
from ccc_django.store.reading import head


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """A group at one moment.

    ``lag`` counts positions between the head of the log and ``low_watermark``, up to which everything is done.
    """

    name: str
    kind: str
    status: str
    error_context: str
    head: int
    watermark: int
    low_watermark: int
    lag: int
    partitions: int
    pending: int
    claims: int
    failures: int
    dead_letters: int
    oldest_pending_age: timedelta | None


def is_empty(name: str) -> bool:
    """Whether everything that a group has to do is done, but for partitions and messages that wait for somebody."""
    rows = db.rows("look_at_group", name=name, **FROM_THE_START)
    if not rows:
        raise UnknownGroup(name)
    _, is_behind, _, is_open, due_in, kind = rows[0]
    if kind == Kind.SHARED:
        rows = db.rows("look_at_shared_group", name=name, topic="", **FROM_THE_START)
        _, is_behind, _, is_open, due_in, _ = rows[0]
    if kind == Kind.ORDERED and (is_behind or is_open) and is_put_off(name):
        return True  # as a shared group that gets nothing now
    return not is_behind and not is_open and (due_in is None or due_in > STOPPED_FOR.total_seconds() / 2)


def status(name: str) -> Status:
    """How far a group is, what it has in hand, and what has failed."""
    return statuses([name])[0]


def statuses(names: Iterable[str] = ()) -> list[Status]:
    """The same of some groups, or of all, by name, at one moment."""
    wanted = [*names]
    listed = to_json(wanted).decode() if db.is_sqlite() else wanted
    final = head()
    chosen = {"names": listed, "every": not wanted}
    rows = [
        *db.rows("group_status", **chosen),
        *db.rows("shared_status", **chosen, head=final, most=MOST_COUNTED + 1),
    ]
    found = sorted((_status(final, row) for row in rows), key=attrgetter("name"))
    behind = [each.name for each in found if each.lag and each.kind == Kind.ORDERED]
    unwaited = {*_unwaited(behind, final)}
    found = [replace(each, lag=0) if each.name in unwaited else each for each in found]
    if unknown := {*wanted} - {each.name for each in found}:
        raise UnknownGroup(min(unknown))
    return found


def _unwaited(names: Iterable[str], final: int) -> Iterator[str]:
    """Ordered groups of topics that nobody waits for: their subscription was cancelled or has died.

    And sessions that have read their topic: nobody advances them over the rest of the log.
    """
    records = TopicSubscription.objects.whole().filter(group_name=OuterRef("name"))
    of_topics = ConsumerGroup.objects.filter(name__in=[*names], topics__isnull=False)
    for group in of_topics.annotate(is_live=Exists(records.live()), has_record=Exists(records)):
        looks_at_queue = group.is_session and not group.has_record
        coming = StoredMessage.objects.filter(topic__in=group.topics or []).after(group.watermark).upto(final)
        if not (group.is_live or looks_at_queue) or (group.is_session and not coming.exists()):
            yield group.name


def _status(final: int, row: tuple[Any, ...]) -> Status:
    name, kind, state, reason, watermark, lowest, partitions, pending, claims, failures, letters, age = row
    low_watermark = watermark if lowest is None else min(lowest - 1, watermark)
    return Status(
        name=name,
        kind=kind,
        status=state,
        error_context=reason,
        head=final,
        watermark=watermark,
        low_watermark=low_watermark,
        lag=max(final - low_watermark, 0),
        partitions=partitions,
        pending=pending,
        claims=claims,
        failures=failures,
        dead_letters=letters,
        oldest_pending_age=None if age is None or final <= low_watermark else timedelta(seconds=max(age, 0.0)),
    )
