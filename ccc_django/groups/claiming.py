"""Claim and fetch: a worker gets one partition with open work, and its next messages in order."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from pydantic_core import from_json

from ccc_django import db, registry
from ccc_django.claims import Claim
from ccc_django.conditions import Condition
from ccc_django.errors import UnknownGroup
from ccc_django.groups.acking import ack
from ccc_django.groups.advancing import advance
from ccc_django.guards import Guard
from ccc_django.messages import Message
from ccc_django.models import ConsumerGroup, Shape, matching
from ccc_django.wanted import Row, Wanted

LEASE = timedelta(seconds=60)
LIMIT = 100
MOST_EMPTY = 10  # partitions with nothing to do that one call passes over


def claim_next(name: str, *, worker: str, limit: int = LIMIT, lease: timedelta = LEASE) -> Claim | None:
    """The partition with the earliest open message that nobody is at, with its next messages; None if there is none."""
    group = ConsumerGroup.objects.filter(name=name).first()
    if group is None:
        raise UnknownGroup(name)
    empty = 0
    while empty < MOST_EMPTY:
        row = _claimed(name, worker, lease)
        if row is None:
            if not advance(group):
                return None
            continue
        claim = _fetched(group, worker, row, limit)
        if claim.messages:
            return claim
        ack(claim, position=row[5])  # nothing belongs to it any more: it goes on behind
        empty += 1
    return None


def _claimed(name: str, worker: str, lease: timedelta) -> db.Row | None:
    """From the floor on; and if nothing is there, once without."""
    for floored in (1, 0):
        if rows := db.rows("claim_partition", name=name, worker=worker, lease=lease.total_seconds(), floored=floored):
            return rows[0]
    return None


def _fetched(group: ConsumerGroup, worker: str, row: db.Row, limit: int) -> Claim:
    id, token, key, stored_pairs, last, head, replay_until, attempt, types_version = row
    pairs = [UUID(hex=pair) for pair in from_json(stored_pairs)] if isinstance(stored_pairs, str) else stored_pairs
    found, _ = matching.messages_and_head(
        wanted_by(group, pairs), after=last, upto=head, limit=limit + 1, backwards=False
    )
    replayed = [message for message in found if (message.position or 0) <= replay_until]
    messages = (replayed or found)[:limit]  # a mixed batch is split
    value = from_json(key)
    return Claim(
        group=group.name,
        worker=worker,
        offset_id=id,
        token=token,
        partition_key=key,
        partition_value=value,
        key_pair_ids=tuple(pairs),
        messages=messages,
        guard=guard_of(group, value, messages),
        attempt=attempt,
        replaying=bool(replayed),
        next_position=found[len(messages)].position if len(found) > len(messages) else None,
        types_version=types_version,
    )


def wanted_by(group: ConsumerGroup, pairs: list[UUID]) -> Wanted:
    """Which messages belong to a partition: by conditional AND over the handled types, or all of those types."""
    if not pairs:
        return Wanted(whole_types=group.handled_types)
    rows = [
        Row(choice, message_type, part, name, pair.hex, 1, anywhere=False)
        for choice, message_type in enumerate(group.handled_types)
        for part, (name, pair) in enumerate(zip(group.partition_by, pairs, strict=True))
    ]
    return Wanted(rows=rows)


def guard_of(group: ConsumerGroup, value: dict[str, Any], messages: list[Message]) -> Guard | None:
    """A guard over all handled types, also ones not seen yet, by the attributes that each of them has."""
    conditions = [each for message_type in group.handled_types for each in _conditions(message_type, value)]
    if not conditions or not messages:
        return None
    return Guard(conditions=tuple(conditions), after=messages[-1].position or 0)


def _conditions(message_type: str, value: dict[str, Any]) -> list[Condition]:
    """Of a type without a class, the names of its known shapes; without any of those, the type alone."""
    message_class = registry.message_class(message_type)
    if message_class is not None:
        carried = {rule.name for rule in message_class.indexed_fields()}
    else:
        shapes = Shape.objects.filter(message_type=message_type).values_list("names", flat=True)
        carried = {name for names in shapes for name in names}
    named = [Condition(message_type, name, each) for name, each in value.items() if name in carried]
    if named or (message_class is not None and value):
        return named
    return [Condition(message_type)]
