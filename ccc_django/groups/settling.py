"""Ack, release and renew of shared claims: each message by itself, and whoever has lost one changes nothing."""

from datetime import timedelta
from typing import Any, NoReturn

from django.db import transaction
from pydantic_core import to_json

from ccc_django import db, dead_letters, stages
from ccc_django.claims import Claim, SharedClaim
from ccc_django.conf import conf
from ccc_django.errors import ClaimLost
from ccc_django.groups import counting, lifecycle, looking
from ccc_django.groups.durations import seconds
from ccc_django.models.offset import STOPPED_FOR
from ccc_django.retry import STOP_GROUP, STOP_PARTITION


def is_special(claim: Claim) -> bool:
    """Whether an ack is more than one statement, and cannot travel with a claim."""
    return bool(claim.replayed) if isinstance(claim, SharedClaim) else claim.dead_letter is not None


def ack(claim: SharedClaim) -> None:
    """Messages are done."""
    if not claim.places:
        return
    if not claim.replayed:
        settled(claim, db.in_one_trip(ack_call(claim))[0])
        return
    with transaction.atomic(using=conf.database):
        settled(claim, db.in_one_trip(ack_call(claim))[0])
        dead_letters.settle(claim.group_id, claim.replayed)


def pass_over(claim: SharedClaim) -> None:
    """Messages that are not delivered are done; a letter among them is open again."""
    with transaction.atomic(using=conf.database):
        rows = db.in_one_trip(ack_call(claim))[0]
        if len(rows) < len(claim.places):
            lose(claim)
        dead_letters.reopen(claim.group_id, claim.replayed)


def ack_call(claim: SharedClaim) -> Any:
    """The statement that acks, which may travel with others."""
    return "ack_deliveries", _fence(claim)


def settled(claim: SharedClaim, rows: list[db.Row]) -> None:
    """They are done, unless the claim was lost."""
    if len(rows) < len(claim.places):
        lose(claim)
    counting.count(claim, claim.messages)
    if claim.messages:
        stages.acked(claim, claim.position)


def renew(claim: SharedClaim, *, lease: timedelta) -> None:
    """Hold messages for another lease; those that were acked meanwhile are not missed."""
    if not db.rows("renew_deliveries", **_fence(claim), lease=seconds(lease.total_seconds())):
        lose(claim)


def release(claim: SharedClaim, *, error: BaseException | None, delay: timedelta | None = None) -> None:
    """Give messages back, each with a failed attempt if there was an error; after the last one a policy decides."""
    if not claim.places:
        return
    if error is None:
        _free(claim, attempts=claim.attempt - 1, pause=None if delay is None else delay.total_seconds())
    elif claim.replayed and len(claim.replayed) < len(claim.places):  # a dead letter has one attempt, the others more
        release(claim.with_positions({*claim.replayed}), error=error)
        release(claim.with_positions({*claim.places} - claim.replayed), error=error, delay=delay)
    elif claim.retry.is_last(claim.attempt) or claim.replayed:
        give_up(claim, error)
    else:
        pause = claim.retry.pause(claim.attempt) if delay is None else delay.total_seconds()
        _free(claim, attempts=claim.attempt, pause=pause, error=error)


def put_off(claim: SharedClaim, error: BaseException, *, times: int) -> None:
    """Nobody is to blame, and it is no failed attempt; but the messages pause, longer each time in a row."""
    pause = claim.retry.pause(times) if isinstance(error, Exception) else None
    _free(claim, attempts=claim.attempt - 1, pause=pause, error=error)


def give_up(claim: SharedClaim, error: BaseException) -> None:
    """No other attempt: what the group's policy says. Without partitions, a message stops by itself."""
    if claim.retry.then == STOP_GROUP:
        with transaction.atomic(using=conf.database):
            group = lifecycle.locked(claim.group)
            _free(claim, attempts=0, error=error)
            lifecycle.fail(group, reason=f"{_named(claim)}: {dead_letters.described(error)}")
    elif claim.retry.then == STOP_PARTITION:
        _free(claim, attempts=claim.attempt, pause=STOPPED_FOR.total_seconds(), error=error)
    else:
        with transaction.atomic(using=conf.database):
            rows = db.in_one_trip(ack_call(claim))[0]
            if len(rows) < len(claim.places):
                lose(claim)
            for message in claim.messages:
                dead_letters.put_shared(claim, message, error)
                stages.gave_up(claim, message, error)


def lose(claim: SharedClaim) -> NoReturn:
    """What was fenced before anybody could see it still blocks its messages: give them back at least."""
    db.rows("free_deliveries", **named(claim.places), token=claim.token)
    raise ClaimLost(claim)


def named(places: dict[int, int]) -> dict[str, Any]:
    """Deliveries as each database takes them."""
    pairs = sorted((place, position) for position, place in places.items())
    if db.is_sqlite():
        return {"wanted": to_json(pairs).decode()}
    return {"places": [place for place, _ in pairs], "positions": [position for _, position in pairs]}


def _fence(claim: SharedClaim) -> dict[str, Any]:
    return {**named(claim.places), "token": claim.token, "epoch": claim.epoch, "group": claim.group_id}


def _named(claim: SharedClaim) -> str:
    return ", ".join(map(str, claim.messages))


def _free(claim: SharedClaim, *, attempts: int, pause: float | None = None, error: BaseException | None = None) -> None:
    rows = db.rows(
        "release_deliveries",
        **_fence(claim),
        paused=pause is not None,
        pause=seconds(pause or 0),
        attempts=attempts,
        error="" if error is None else dead_letters.described(error),
    )
    if len(rows) < len(claim.places):
        lose(claim)
    if pause is None:
        looking.lower(claim.group, min(claim.places))
    stages.released(claim, error)
