"""Fetch: the messages of a partition that was claimed, in a later statement than the claim, and the guard over them."""

from dataclasses import replace
from functools import lru_cache
from itertools import takewhile
from typing import Any, NamedTuple
from uuid import UUID

from django.db import Error
from pydantic_core import from_json

from ccc_django import db, dead_letters, stages
from ccc_django.claims import Claim
from ccc_django.errors import ClaimLost
from ccc_django.groups.acking import end_replay, fence, freed, pass_to
from ccc_django.groups.guarding import declared_values, guard_of
from ccc_django.groups.releasing import AttemptsUsedUp, give_up, put_off
from ccc_django.messages import Message
from ccc_django.models import fetching, matching
from ccc_django.models.stored_message import COLUMNS, message_of
from ccc_django.partitions import may_be_wide
from ccc_django.retry import Retry

TOPIC = COLUMNS.index("topic")


class Claimed(NamedTuple):
    """A partition that was claimed, as the statement returns it."""

    id: int
    token: int
    key: str
    pairs: Any
    last_position: int
    next_position: int
    head_position: int
    replay_until: int
    attempts: int
    replays: int
    is_late: bool
    group_id: int
    epoch: int
    handled_types: str
    partition_by: str
    retry: str
    topics: str | None = None


class Group(NamedTuple):
    """What a group's row says, read once for all claims under the same row."""

    types: list[str]
    names: list[str]
    retry: Retry
    topics: frozenset[str] | None


def delivered(claimed: Claimed, name: str, worker: str, limit: int) -> Claim | None:
    """The claim with its messages; None if there is nothing to deliver, and then the partition is free again.

    After an attempt that ended without ack a batch is one message, so that the one that fails is known.
    """
    group = _group(claimed.handled_types, claimed.partition_by, claimed.retry, claimed.topics)
    claim = _claim(claimed, group, name, worker)
    stages.claimed(claim)
    alone = claimed.attempts > 1 or group.retry.max_attempts == 1
    try:
        if claimed.replays:
            return _replayed(claim, claimed, group)
        return _fetched(claim, claimed, group, 1 if alone else limit)
    except ClaimLost:
        return None
    except BaseException as error:
        _give_back(claim, error)
        raise


def _give_back(claim: Claim, error: BaseException) -> None:
    """What happened is more important; if that fails too, also on a new connection, the lease will be over."""
    for _ in range(2):
        try:
            put_off(claim, error)
        except Error:
            if db.in_transaction():
                return
            db.connection().close()
        except ClaimLost:
            return
        else:
            return


@lru_cache(maxsize=1_000)
def _group(handled_types: str, partition_by: str, retry: str, topics: str | None) -> Group:
    listed = None if topics is None else frozenset(from_json(topics))
    return Group(from_json(handled_types), from_json(partition_by), Retry.of_json(from_json(retry)), listed)


def _claim(claimed: Claimed, group: Group, name: str, worker: str) -> Claim:
    pairs = claimed.pairs
    stored = [UUID(hex=pair) for pair in from_json(pairs)] if isinstance(pairs, str) else pairs
    return Claim(
        group=name,
        worker=worker,
        offset_id=claimed.id,
        token=claimed.token,
        partition_key=claimed.key,
        partition_value=from_json(claimed.key),
        key_pair_ids=tuple(stored),
        attempt=claimed.attempts,
        epoch=claimed.epoch,
        retry=group.retry,
        is_of_topics=group.topics is not None,
    )


def _fetched(claim: Claim, claimed: Claimed, group: Group, limit: int) -> Claim | None:
    """From the partition's last position on, not from its next: what lies between may not be marked yet."""
    rows, behind = _rows(claim, claimed, group, limit + 1)
    if not rows:
        freed(claim, db.rows("pass_claim", **fence(claim), position=claimed.head_position))
        return None
    replayed = [row for row in rows if row[0] <= claimed.replay_until]
    again = dead_letters.coming_again(claim, [row[0] for row in replayed]) if replayed else set()
    is_again = rows[0][0] in again  # it was given up, and not done: nothing is replayed
    same = list(takewhile(lambda row: (row[0] in again) == is_again, replayed or rows))
    batch = same[:limit]  # a mixed batch is split
    messages = _without_dead_letters(claimed, [message_of(row) for row in batch])
    if not messages:
        pass_to(claim, batch[-1][0])
        return None
    behind = rows[len(batch)][0] if len(rows) > len(batch) else behind
    claim = replace(claim, next_position=behind, messages=messages, again=is_again)
    if group.retry.is_used_up(claim.attempt):
        give_up(claim, messages[0], AttemptsUsedUp(f"{claim.attempt - 1} attempts ended without ack or release"))
        return None
    return _with_guard(claim, group, after=claim.position, replaying=bool(replayed) and not is_again)


def _rows(claim: Claim, claimed: Claimed, group: Group, most: int) -> tuple[list[db.Row], int | None]:
    """The next messages of the partition that are of the group's topics; and where others may be, if not all were seen.

    A partition is found by its values, in all topics; what is of another topic is passed over.
    """
    pairs = [pair.hex for pair in claim.key_pair_ids]
    after, upto = claimed.last_position, claimed.head_position
    while True:
        rows = fetching.rows(group.types, group.names, pairs, after=after, upto=upto, most=most)
        if group.topics is None:
            return rows, None
        ours = [row for row in rows if row[TOPIC] in group.topics]
        if len(rows) < most:
            return ours, None
        after = rows[-1][0]
        if ours:
            return ours, after + 1


def _without_dead_letters(claimed: Claimed, messages: list[Message]) -> list[Message]:
    """A message of too many partitions became a dead letter of the group, and is delivered to none of them."""
    wide = [message.position or 0 for message in messages if may_be_wide(message)]
    left_out = dead_letters.without_partition(claimed.group_id, wide) if wide else set()
    return [message for message in messages if message.position not in left_out]


def _replayed(claim: Claim, claimed: Claimed, group: Group) -> Claim | None:
    """A dead letter that is delivered again, by itself."""
    letter = dead_letters.take_first_waiting(claim)
    claim = replace(claim, dead_letter=0 if letter is None else letter.pk)
    rows = [] if letter is None else matching.rows_at([letter.position])
    if letter is None or not rows:
        end_replay(claim, error=LookupError("the message is not in the log any more"))
        return None
    claim = replace(claim, messages=[message_of(row) for row in rows])
    if group.retry.is_used_up(letter.deliveries):
        end_replay(claim, error=AttemptsUsedUp("it was delivered again, and nobody acked or released it"))
        return None
    return _with_guard(claim, group, after=max(claim.position, claimed.last_position), replaying=False)


def _with_guard(claim: Claim, group: Group, *, after: int, replaying: bool) -> Claim:
    # A guard does not know topics: it would find conflicts that the group will never get, and never get past them.
    guard = guard_of(group.types, claim.partition_value, after) if group.topics is None else None
    value = declared_values(claim.partition_value, group.types)
    claim = replace(claim, partition_value=value, guard=guard, replaying=replaying)
    stages.fetched(claim)
    return claim
