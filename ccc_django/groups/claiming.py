"""Claim and fetch: a worker gets one partition with open work, and its next messages in order."""

import time
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID

from pydantic_core import from_json

from ccc_django import db, registry
from ccc_django.claims import Claim
from ccc_django.conditions import Condition
from ccc_django.errors import ClaimLost, UnknownGroup
from ccc_django.groups.acking import LEASE, pass_to, release, seconds
from ccc_django.groups.advancing import advance
from ccc_django.guards import Guard
from ccc_django.messages import Message
from ccc_django.models import ConsumerGroup, Shape, matching
from ccc_django.wanted import Row, Wanted

LIMIT = 100
MOST_EMPTY = 10  # partitions with nothing to do that one call passes over
LOOK_AGAIN = 0.05  # seconds until a process advances a group that has work: what is new may concern what is in hand

_advanced_at: dict[str, float] = {}


def claim_next(name: str, *, worker: str, limit: int = LIMIT, lease: timedelta = LEASE) -> Claim | None:
    """The partition with the earliest open message that nobody is at, with its next messages; None if there is none."""
    if limit < 1:
        raise ValueError(f"limit={limit}: a batch has one message at least.")
    group = ConsumerGroup.objects.filter(name=name).first()
    if group is None:
        raise UnknownGroup(name)
    if time.monotonic() - _advanced_at.get(name, 0.0) >= LOOK_AGAIN:
        _advance(group)
    for _ in range(MOST_EMPTY):
        row = _claimed(name, worker, lease)
        while row is None:
            if not _advance(group):
                return None
            row = _claimed(name, worker, lease)
        if claim := _with_messages(name, worker, row, limit):
            return claim
    return None


def _advance(group: ConsumerGroup) -> bool:
    _advanced_at[group.name] = time.monotonic()
    return advance(group)


def _claimed(name: str, worker: str, lease: timedelta) -> db.Row | None:
    """From the floor on; and if nothing is there, once without."""
    held_for = seconds(lease.total_seconds())
    for floored in (1, 0):
        if rows := db.rows("claim_partition", name=name, worker=worker, lease=held_for, floored=floored):
            return rows[0]
    return None


def _with_messages(name: str, worker: str, row: db.Row, limit: int) -> Claim | None:
    """The claim with its messages; None if nothing belongs to it any more, and then it has gone on behind."""
    id, token, key, stored_pairs, last, head, replay_until, attempt, epoch, types, names = row
    pairs = [UUID(hex=pair) for pair in from_json(stored_pairs)] if isinstance(stored_pairs, str) else stored_pairs
    value, handled = from_json(key), from_json(types)
    claim = Claim(
        group=name,
        worker=worker,
        offset_id=id,
        token=token,
        partition_key=key,
        partition_value=value,
        key_pair_ids=tuple(pairs),
        attempt=attempt,
        epoch=epoch,
    )
    try:
        wanted = wanted_by(handled, from_json(names), pairs)
        found, _ = matching.messages_and_head(wanted, after=last, upto=head, limit=limit + 1, backwards=False)
    except BaseException as error:
        release(claim, error=error)
        raise
    if not found:
        with suppress(ClaimLost):
            pass_to(claim, head)
        return None
    replayed = [message for message in found if (message.position or 0) <= replay_until]
    messages = (replayed or found)[:limit]  # a mixed batch is split
    return replace(
        claim,
        messages=messages,
        guard=guard_of(handled, value, messages),
        replaying=bool(replayed),
        next_position=found[len(messages)].position if len(found) > len(messages) else None,
    )


def wanted_by(handled_types: list[str], names: list[str], pairs: list[UUID]) -> Wanted:
    """Which messages belong to a partition: by conditional AND over the handled types, or all of those types."""
    if not pairs:
        return Wanted(whole_types=handled_types)
    rows = [
        Row(choice, message_type, part, name, pair.hex, 1, anywhere=False)
        for choice, message_type in enumerate(handled_types)
        for part, (name, pair) in enumerate(zip(names, pairs, strict=True))
    ]
    return Wanted(rows=rows)


def guard_of(handled_types: list[str], value: dict[str, Any], messages: list[Message]) -> Guard | None:
    """A guard over all handled types, also ones not seen yet, by the attributes that each of them has."""
    conditions = [each for message_type in handled_types for each in _conditions(message_type, value)]
    return Guard(conditions=tuple(conditions), after=messages[-1].position or 0) if conditions else None


def _conditions(message_type: str, value: dict[str, Any]) -> list[Condition]:
    """Of a type without a class, the names of its known shapes; if nothing is known of it, the type alone."""
    message_class = registry.message_class(message_type)
    known: set[str] | None = None
    if message_class is not None:
        known = {rule.name for rule in message_class.indexed_fields()}
    elif shapes := list(Shape.objects.filter(message_type=message_type).values_list("names", flat=True)):
        known = {name for names in shapes for name in names}
    if known is None or not value:
        return [Condition(message_type)]
    return [Condition(message_type, name, each) for name, each in value.items() if name in known]
