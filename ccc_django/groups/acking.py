"""Ack, release, renew: a claim ends with progress or without, or goes on; whoever has lost it changes nothing."""

import random
from datetime import timedelta
from typing import Any

from ccc_django import db
from ccc_django.claims import Claim
from ccc_django.errors import ClaimLost

FIRST_PAUSE = 1.0  # seconds after a first failure; each further one doubles it
LONGEST_PAUSE = 300.0
DOUBLINGS = 20
LEASE = timedelta(seconds=60)


def ack(claim: Claim, *, position: int | None = None) -> None:
    """All messages of the batch are done, or those up to a position; the partition is free again."""
    done = claim.position if position is None else position
    first = claim.messages[0].position or 0
    if not first - 1 <= done <= claim.position:
        raise ValueError(f"{done} is not in this batch: it has the positions {first} to {claim.position}.")
    pass_to(claim, done, known_next=claim.after(done))


def pass_to(claim: Claim, position: int, *, known_next: int | None = None) -> None:
    """Go on behind a position."""
    if db.rows("ack_claim", **_fence(claim), position=position, known_next=known_next) == []:
        raise ClaimLost(claim)


def release(claim: Claim, *, error: BaseException | None = None) -> None:
    """Give the partition back without progress; with an error it counts as a failed attempt, and there is a pause."""
    longest = min(FIRST_PAUSE * 2 ** min(claim.attempt - 1, DOUBLINGS), LONGEST_PAUSE)
    pause = longest * random.uniform(0.75, 1.0)  # noqa: S311 - jitter
    text = "" if error is None else f"{type(error).__name__}: {error}".encode(errors="replace").decode()
    given_back = 1 if error is None else 0
    outcome = {"paused": error is not None, "pause": seconds(pause), "given_back": given_back, "error": text}
    if db.rows("release_claim", **_fence(claim), **outcome) == []:
        raise ClaimLost(claim)


def renew(claim: Claim, *, lease: timedelta = LEASE) -> None:
    """Hold the partition for another lease."""
    if db.rows("renew_claim", **_fence(claim), lease=seconds(lease.total_seconds())) == []:
        raise ClaimLost(claim)


def seconds(duration: float) -> Any:
    """A duration as each database takes it."""
    return f"{duration:+.3f} seconds" if db.is_sqlite() else duration


def _fence(claim: Claim) -> dict[str, int]:
    return {"id": claim.offset_id, "token": claim.token, "epoch": claim.epoch}
