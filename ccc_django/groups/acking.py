"""Ack and renew: a claim ends with progress, or goes on; whoever has lost it changes nothing."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any, NoReturn

from django.db import transaction

from ccc_django import db, dead_letters, stages
from ccc_django.claims import Claim, SharedClaim
from ccc_django.conf import conf
from ccc_django.errors import ClaimLost
from ccc_django.groups import counting, settling
from ccc_django.groups.durations import LEASE, seconds
from ccc_django.groups.looking import look_at
from ccc_django.messages import Message


def ack(claim: Claim, *, position: int | None = None, messages: Iterable[Message] | None = None) -> None:
    """All messages of the batch are done, or those up to a position; the partition is free again.

    Of a shared group some messages can be acked by themselves; the others stay in hand.
    """
    if isinstance(claim, SharedClaim):
        settling.ack(claim.of(_upto(claim, position) if messages is None else messages))
        return
    if messages is not None:
        raise ValueError(f"{claim.group} is in order: ack up to a position=…")
    done = acked_position(claim, position)
    if claim.dead_letter is not None and done == claim.position:
        end_replay(claim, error=None)
        return
    if claim.dead_letter is not None:
        with transaction.atomic(using=conf.database):  # nothing of it is done
            freed(claim, db.rows("free_claim", id=claim.offset_id, token=claim.token))
            dead_letters.give_back(claim)
        return
    pass_to(claim, done, known_next=claim.after(done))


def go_on(claim: Claim, *, position: int) -> Claim:
    """The messages of the batch up to a position are done; the claim of the rest, which stays in hand."""
    if isinstance(claim, SharedClaim):
        done_messages = _upto(claim, position)
        settling.ack(claim.of(done_messages))
        return claim.without(done_messages)
    done = acked_position(claim, position)
    if done == claim.position:
        raise ValueError(f"Nothing is left of the batch behind {done}: ack it.")
    if not db.rows("keep_claim", **fence(claim), position=done):
        lose(claim)
    done_by(claim, done)
    left = next(number for number, message in enumerate(claim.messages) if (message.position or 0) > done)
    return replace(claim, messages=claim.messages[left:], attempt=1)


def _upto(claim: Claim, position: int | None) -> list[Message]:
    return [message for message in claim.messages if position is None or (message.position or 0) <= position]


def acked_position(claim: Claim, position: int | None) -> int:
    """The position to which a batch is done, which must be one of it, or the one before."""
    first = claim.messages[0].position or 0
    done = claim.position if position is None else position
    if not first - 1 <= done <= claim.position:
        raise ValueError(f"{done} is not in this batch: it has the positions {first} to {claim.position}.")
    return done


def pass_to(claim: Claim, position: int, *, known_next: int | None = None) -> None:
    """Go on behind a position."""
    freed(claim, db.in_one_trip(ack_call(claim, position, known_next))[0])
    done_by(claim, position)


def done_by(claim: Claim, position: int) -> None:
    """Tell who watches, and count what is of topics."""
    if claim.is_of_topics:
        counting.count(claim, _upto(claim, position))
    stages.acked(claim, position)


def ack_call(claim: Claim, position: int, known_next: int | None) -> Any:
    """The statement that acks, which may travel with others."""
    return "ack_claim", {**fence(claim), "position": position, "known_next": known_next}


def end_replay(claim: Claim, *, error: BaseException | None) -> None:
    """A dead letter was delivered again, with success or to be a dead letter still."""
    with transaction.atomic(using=conf.database):
        freed(claim, db.rows("ack_replay", **fence(claim)))
        dead_letters.end_replay(claim, error)
        if error is None:
            stages.acked(claim, claim.position)
        elif claim.messages:
            stages.gave_up(claim, claim.messages[0], error)


def renew(claim: Claim, *, lease: timedelta = LEASE) -> None:
    """Hold the partition, or the messages, for another lease."""
    if isinstance(claim, SharedClaim):
        settling.renew(claim, lease=lease)
        return
    if db.rows("renew_claim", **fence(claim), lease=seconds(lease.total_seconds())) == []:
        lose(claim)


def freed(claim: Claim, rows: list[db.Row]) -> None:
    """The partition is free, and if it has open work, this process knows where."""
    if not rows:
        lose(claim)
    look_at(claim.group).lower_to(rows[0][0], claim.offset_id)


def lose(claim: Claim) -> NoReturn:
    """A claim that was fenced before anybody could see it still blocks its partition: give that back at least."""
    db.rows("free_claim", id=claim.offset_id, token=claim.token)
    raise ClaimLost(claim)


def fence(claim: Claim) -> dict[str, Any]:
    """Who holds a claim, as every statement that ends one asks."""
    return {"id": claim.offset_id, "token": claim.token, "epoch": claim.epoch}
