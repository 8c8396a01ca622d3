"""Ack, release, renew: a claim ends with progress or without, or goes on; whoever has lost it changes nothing."""

from datetime import timedelta

from ccc_django import db
from ccc_django.claims import Claim
from ccc_django.errors import ClaimLost

FIRST_PAUSE = 1.0  # seconds after a first failure; each further one doubles it
LONGEST_PAUSE = 300.0


def ack(claim: Claim, *, position: int | None = None) -> None:
    """All messages of the batch are done, or those up to a position; the partition is free again."""
    done = claim.position if position is None else position
    fence = {"id": claim.offset_id, "token": claim.token}
    known = {"known_next": claim.after(done), "types_version": claim.types_version}
    if db.rows("ack_claim", **fence, position=done, **known) == []:
        raise ClaimLost(claim)


def release(claim: Claim, *, error: BaseException | None = None) -> None:
    """Give the partition back without progress; with an error it counts as a failed attempt, and there is a pause."""
    pause = min(FIRST_PAUSE * 2 ** (claim.attempt - 1), LONGEST_PAUSE) if error else 0.0
    text = f"{type(error).__name__}: {error}" if error else ""
    given_back = 0 if error else 1
    fence = {"id": claim.offset_id, "token": claim.token}
    if db.rows("release_claim", **fence, pause=pause, given_back=given_back, error=text) == []:
        raise ClaimLost(claim)


def renew(claim: Claim, *, lease: timedelta = timedelta(seconds=60)) -> None:
    """Hold the partition for another lease."""
    if db.rows("renew_claim", id=claim.offset_id, token=claim.token, lease=lease.total_seconds()) == []:
        raise ClaimLost(claim)
