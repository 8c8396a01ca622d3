"""Release: a claim ends without progress; it is tried again later, and after the last attempt a policy decides."""

from collections.abc import Iterable
from datetime import timedelta

from django.db import transaction

from ccc_django import db, dead_letters, stages
from ccc_django.claims import Claim, SharedClaim
from ccc_django.conf import conf
from ccc_django.groups import lifecycle, settling
from ccc_django.groups.acking import end_replay, fence, freed, pass_to
from ccc_django.groups.durations import seconds
from ccc_django.messages import Message
from ccc_django.models.offset import STOPPED_FOR
from ccc_django.retry import STOP_GROUP, STOP_PARTITION


class AttemptsUsedUp(Exception):
    """Every attempt ended without a word: its worker was killed, or its lease was over."""


def release(
    claim: Claim,
    *,
    error: BaseException | None = None,
    messages: Iterable[Message] | None = None,
    delay: timedelta | None = None,
) -> None:
    """Give the partition back without progress; with an error it counts as a failed attempt, and there is a pause.

    After the last attempt the group's policy decides: the message becomes a dead letter, or the partition or the group
    stops. Of a shared group some messages can be released by themselves. ``delay`` is the pause, if not the policy's.
    """
    if error is not None and not isinstance(error, BaseException):
        raise TypeError(f"error={error!r}: give the exception itself.")
    if isinstance(claim, SharedClaim):
        settling.release(claim.of(messages), error=error, delay=delay)
        return
    if messages is not None:
        raise ValueError(f"{claim.group} is in order: what is released is everything that is not acked.")
    if error is None:
        _give_back(claim, delay)
    elif claim.dead_letter is not None:
        end_replay(claim, error=error)
    elif claim.retry.is_last(claim.attempt):
        give_up(claim, claim.messages[0], error)
    else:
        pause = claim.retry.pause(claim.attempt) if delay is None else delay.total_seconds()
        _free(claim, attempts=claim.attempt, pause=pause, error=error)


def fail_first(claim: Claim, error: BaseException) -> None:
    """The first message that is left has failed: an ordered group waits for it, a shared one goes on with others."""
    if not isinstance(claim, SharedClaim):
        release(claim, error=error)
        return
    first = claim.messages[:1]
    others = claim.without(first)
    release(claim.of(first), error=error)
    release(others)


def _give_back(claim: Claim, delay: timedelta | None) -> None:
    if claim.dead_letter is None:
        _free(claim, attempts=claim.attempt - 1, pause=None if delay is None else delay.total_seconds())
        return
    with transaction.atomic(using=conf.database):
        _free(claim, attempts=claim.attempt - 1)
        dead_letters.give_back(claim)


def put_off(claim: Claim, error: BaseException, *, times: int | None = None) -> None:
    """Nobody is to blame, and it is no failed attempt; but the partition pauses, longer each time in a row."""
    if isinstance(claim, SharedClaim):
        settling.put_off(claim, error, times=times or claim.attempt)
        return
    pause = claim.retry.pause(times or claim.attempt) if isinstance(error, Exception) else None
    _free(claim, attempts=claim.attempt - 1, pause=pause, error=error)


def give_up(claim: Claim, message: Message, error: BaseException) -> None:
    """No other attempt: what the group's policy says."""
    if claim.retry.then == STOP_GROUP:
        with transaction.atomic(using=conf.database):
            group = lifecycle.locked(claim.group)
            _free(claim, attempts=0, error=error)
            lifecycle.fail(group, reason=f"{claim.partition_key}: {dead_letters.described(error)}")
    elif claim.retry.then == STOP_PARTITION:
        _free(claim, attempts=claim.attempt, pause=STOPPED_FOR.total_seconds(), error=error)
    else:
        position = message.position or 0
        with transaction.atomic(using=conf.database):
            pass_to(claim, position, known_next=claim.after(position))  # the fence: if it is lost, nothing happens
            dead_letters.add(claim, message, error)
            stages.gave_up(claim, message, error)


def _free(claim: Claim, *, attempts: int, pause: float | None = None, error: BaseException | None = None) -> None:
    rows = db.rows(
        "release_claim",
        **fence(claim),
        paused=pause is not None,
        pause=seconds(pause or 0),
        attempts=attempts,
        error="" if error is None else dead_letters.described(error),
    )
    freed(claim, rows)
    stages.released(claim, error)
