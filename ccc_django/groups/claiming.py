"""Claim: a worker gets one partition with open work, the earliest first; whoever finds none advances the group."""

import time
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

from django.db import transaction

from ccc_django import db, stages
from ccc_django.claims import Claim
from ccc_django.conf import conf
from ccc_django.errors import UnknownGroup
from ccc_django.groups import acking
from ccc_django.groups.advancing import advance
from ccc_django.groups.delivering import Claimed, delivered
from ccc_django.groups.looking import Look, look_at
from ccc_django.partitions import Partition

LIMIT = 100
MOST_EMPTY = 100  # partitions with nothing to deliver that one call passes over
FROM_THE_START = {"floor_epoch": 0, "floor_position": 0, "floor_id": 0}


def claim_next(
    name: str, *, worker: str, limit: int = LIMIT, lease: timedelta = acking.LEASE, ack: Claim | None = None
) -> Claim | None:
    """The partition with the earliest open message that nobody is at, with its next messages; None if there is none.

    With ``ack`` the batch that was claimed before is acked in the same commit. If it was lost, ``ClaimLost`` is raised
    and nothing is claimed.
    """
    if limit < 1:
        raise ValueError(f"limit={limit}: a batch has one message at least.")
    if not worker:
        raise ValueError("A worker has a name, by which others can see who holds a partition.")
    if ack is not None and ack.dead_letter is not None:
        acking.ack(ack)
        ack = None
    call = {"name": name, "worker": worker, "lease": acking.seconds(lease.total_seconds())}
    for _ in range(MOST_EMPTY):
        look = Look() if db.in_transaction() else look_at(name)  # what is rolled back must not be remembered
        claimed = _claimed(call, look, ack)
        ack = None
        if claimed is None:
            return None
        if claim := delivered(claimed, name, worker, limit):
            return claim
    return None


def claim_named(
    name: str, partition: Partition, *, worker: str, upto: int, limit: int = LIMIT, lease: timedelta = acking.LEASE
) -> Claim | None:
    """A certain partition with its next messages up to a position, marked or not; None if it is not free, or has none.

    Everything up to the position must be final.
    """
    held = {"worker": worker, "lease": acking.seconds(lease.total_seconds())}
    rows = db.rows("claim_named_partition", name=name, partition=partition.id, upto=upto, **held)
    return delivered(Claimed(*rows[0])._replace(head_position=upto), name, worker, limit) if rows else None


def _claimed(call: dict[str, Any], look: Look, ack: Claim | None) -> Claimed | None:
    """What is ready; or, if nothing is, what is new in the log and becomes ready."""
    name = call["name"]
    if look.is_idle or look.is_advance_due:
        started = time.monotonic()
        is_active, is_behind, watermark, is_open, _ = _state(name, look)
        has_advanced = is_active and is_behind and advance(name, beyond=watermark)
        look.advanced(time.monotonic() - started)
        if look.is_idle and ack is None and not has_advanced and not (is_active and is_open):
            return None
    claimed = _looked(call, look, ack)
    while claimed is None and _advanced(name, look):
        claimed = _looked(call, look, None)
    look.is_idle = claimed is None
    return claimed


def _state(name: str, look: Look) -> tuple[Any, ...]:
    """Whether a group is active, whether the log has grown beyond its watermark, and whether anything waits."""
    if not look.is_idle or not (look.is_whole or look.is_rested):  # the next claim looks from the beginning itself
        rows = db.rows("look_at_group", name=name, **look.floor)
    else:
        started = time.monotonic()
        rows = db.rows("look_at_group", name=name, **FROM_THE_START)
        look.looked(time.monotonic() - started)
    if not rows:
        raise UnknownGroup(name)
    look.is_active = bool(rows[0][0])
    look.due_in(rows[0][-1] if look.is_active else None)  # nothing of a stopped group will be due
    return rows[0]


def _advanced(name: str, look: Look) -> bool:
    is_active, is_behind, watermark, *_ = _state(name, look)
    return bool(is_active and is_behind and advance(name, beyond=watermark))


def _looked(call: dict[str, Any], look: Look, ack: Claim | None) -> Claimed | None:
    """From where this process found work before; from the beginning if nothing is there, or when it is time."""
    if not look.is_whole:
        if claimed := _taken({**call, **look.floor, "look_for_late": False}, look, ack):
            return claimed
        ack = None
    started = time.monotonic()
    claimed = _taken({**call, **FROM_THE_START, "look_for_late": True}, look, ack)
    look.looked(time.monotonic() - started)
    return claimed


def _taken(call: dict[str, Any], look: Look, ack: Claim | None) -> Claimed | None:
    if ack is None:
        rows = db.rows("claim_partition", **call, lazy=not db.in_transaction())
    else:
        rows = _acked_and_taken(call, ack)
    if not rows:
        return None
    claimed = Claimed(*rows[0])
    if claimed.is_late:
        look.whole_at = 0.0  # there may be others
    else:
        look.raise_to(claimed.epoch, claimed.next_position, claimed.id)
    return claimed


def _acked_and_taken(call: dict[str, Any], ack: Claim) -> list[db.Row]:
    """One journey and one commit; the ack is first: behind the claim it could wait for an advance that waits for us."""
    position = acking.acked_position(ack, None)
    calls = acking.ack_call(ack, position, ack.after(position)), ("claim_partition", {**call, "lazy": False})
    with transaction.atomic(using=conf.database) if db.is_sqlite() else nullcontext():
        acked, taken = db.in_one_trip(*calls)
        if not acked and taken:
            db.rows("free_claim", id=taken[0][0], token=taken[0][1])
        acking.freed(ack, acked)
        stages.acked(ack, position)
    return taken
