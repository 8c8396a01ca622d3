"""Claim and fetch of shared groups: some messages that nobody is at, the earliest first."""

import secrets
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db import transaction
from pydantic_core import from_json

from ccc_django import db, stages
from ccc_django.claims import Claim, SharedClaim
from ccc_django.conf import conf
from ccc_django.errors import ClaimLost
from ccc_django.groups import settling
from ccc_django.groups.expanding import expand
from ccc_django.groups.releasing import AttemptsUsedUp
from ccc_django.groups.searching import Search
from ccc_django.models import matching
from ccc_django.models.consumer_group import Kind
from ccc_django.models.stored_message import message_of
from ccc_django.retry import Retry

LARGEST_TOKEN = 2**53 - 1


class Taken(NamedTuple):
    """A message that was claimed, as the statement returns it."""

    place: int
    attempts: int
    again: bool
    is_late: bool
    group_id: int
    epoch: int
    token: int
    retry: str
    handled_types: str
    position: int
    message: tuple[Any, ...] = ()


POSITION = Taken._fields.index("position")  # of the row too: a message begins with it


@dataclass(slots=True)
class DeliverySearch(Search[list[Taken]]):
    """A search for messages of a shared group."""

    kind = Kind.SHARED
    looks_by = "look_at_shared_group"

    def advance(self, beyond: int) -> bool:  # noqa: ARG002 - each topic has its own place
        """Some messages of each topic."""
        return expand(self.name)

    def take(self, where: dict[str, Any], ack: Claim | None) -> list[Taken] | None:
        """Some messages, one statement on PostgreSQL; after an ack, in the same commit."""
        call = {**self.call, **where}
        run = _take_on_sqlite if db.is_sqlite() else _take
        with transaction.atomic(using=conf.database) if db.is_sqlite() else nullcontext():
            taken = run(call, ack if isinstance(ack, SharedClaim) else None)
        if not taken:
            return None
        first = taken[0]
        self.raise_floor(epoch=first.epoch, position=first.position, id=0, is_late=first.is_late)
        return taken

    def _rows(self, floor: dict[str, int]) -> list[db.Row]:
        return db.rows(self.looks_by, name=self.name, topic=self.call["topic"], **floor)


def _take(call: dict[str, Any], ack: SharedClaim | None) -> list[Taken]:
    if ack is None:
        return _as_taken(db.rows("claim_deliveries", **call, lazy=not db.in_transaction()))
    calls = settling.ack_call(ack), ("claim_deliveries", {**call, "lazy": False})
    acked, rows = db.in_one_trip(*calls)
    taken = _as_taken(rows)
    if not acked and taken:
        db.rows("free_deliveries", **_held(taken))
    settling.settled(ack, acked)
    return taken


def _as_taken(rows: list[db.Row]) -> list[Taken]:
    return [Taken._make((*row[: POSITION + 1], row[POSITION:])) for row in rows]


def _held(taken: list[Taken]) -> dict[str, Any]:
    return settling.named({each.position: each.place for each in taken}) | {"token": taken[0].token}


def _take_on_sqlite(call: dict[str, Any], ack: SharedClaim | None) -> list[Taken]:
    """There is one writer at a time, so that nobody comes between the statements."""
    if ack is not None:
        settling.settled(ack, db.in_one_trip(settling.ack_call(ack))[0])
    else:
        db.rows("lock_append")
    wanted = {name: call[name] for name in ("name", "topic", "limit")}
    rows = db.rows("open_deliveries", **wanted)
    if not rows:
        return []
    retry: str = rows[0][-2]
    is_alone = rows[0][2] > 0 or Retry.of_json(from_json(retry)).max_attempts == 1
    chosen = rows[:1] if is_alone else [row for row in rows if row[2] == 0]
    token = 1 + secrets.randbelow(LARGEST_TOKEN)
    claims = [(call["worker"], call["lease"], token, place, position) for place, position, *_ in chosen]
    db.in_one_trip(("claim_delivery", claims))
    found = {row[0]: row for row in matching.rows_at([row[1] for row in chosen])}
    return [
        Taken(
            place=place,
            attempts=attempts + 1,
            again=bool(again),
            is_late=False,
            group_id=group,
            epoch=epoch,
            token=token,
            retry=retry,
            handled_types=types,
            position=position,
            message=found.get(position, (position, None)),
        )
        for place, position, attempts, again, group, epoch, _, types in chosen
    ]


def in_hand(taken: list[Taken], name: str, worker: str) -> SharedClaim | None:
    """The claim with its messages; None if there is nothing to deliver.

    A message that is not in the log any more is done, and so is one of a type that the group has given up since. One
    whose attempts are used up is given up.
    """
    first = taken[0]
    types = from_json(first.handled_types)
    whole = SharedClaim(
        group=name,
        worker=worker,
        token=first.token,
        group_id=first.group_id,
        epoch=first.epoch,
        attempt=first.attempts,
        retry=Retry.of_json(from_json(first.retry)),
        messages=[message_of(each.message) for each in taken if _is_wanted(each.message, types)],
        places={each.position: each.place for each in taken},
        replayed=frozenset(each.position for each in taken if each.again),
    )
    stages.claimed(whole)
    is_whole = len(whole.messages) == len(whole.places)
    claim = whole if is_whole else whole.of(whole.messages)
    try:
        if not is_whole:
            settling.pass_over(whole.without(whole.messages))
        if claim.messages and claim.retry.is_used_up(claim.attempt):
            why = AttemptsUsedUp(f"{claim.attempt - 1} attempts ended without ack or release")
            settling.give_up(claim, why)
            return None
    except ClaimLost:
        return None
    if not claim.messages:
        return None
    stages.fetched(claim)
    return claim


def _is_wanted(message: tuple[Any, ...], types: list[str]) -> bool:
    """Whether a message is there, and the group still handles its type; a group without types handles all."""
    return message[1] is not None and (not types or message[2] in types)
