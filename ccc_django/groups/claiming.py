"""Claim: a worker gets one partition with open work, or some messages of a shared group, the earliest first."""

from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction

from ccc_django import db
from ccc_django.claims import Claim, SharedClaim
from ccc_django.conf import conf
from ccc_django.groups import acking, settling
from ccc_django.groups.advancing import advance
from ccc_django.groups.delivering import Claimed, delivered
from ccc_django.groups.durations import LEASE, seconds
from ccc_django.groups.looking import Look, kinds, look_at
from ccc_django.groups.searching import OtherKind, Search
from ccc_django.groups.sharing import DeliverySearch, in_hand
from ccc_django.models.consumer_group import Kind
from ccc_django.partitions import Partition

LIMIT = 100
MOST_EMPTY = 100  # partitions, or messages, with nothing to deliver that one call passes over


def claim_next(
    name: str,
    *,
    worker: str,
    limit: int = LIMIT,
    lease: timedelta = LEASE,
    ack: Claim | None = None,
    topic: str = "",
) -> Claim | None:
    """The partition with the earliest open message that nobody is at, with its next messages; None if there is none.

    Of a shared group, the earliest messages that nobody is at, of one topic or of all. With ``ack`` the batch that was
    claimed before is acked in the same commit. If it was lost, ``ClaimLost`` is raised and nothing is claimed.
    """
    if limit < 1:
        raise ValueError(f"limit={limit}: a batch has one message at least.")
    if not worker:
        raise ValueError("A worker has a name, by which others can see who holds a partition.")
    if isinstance(ack, SharedClaim) and not ack.places:  # nothing is left of it
        ack = None
    if ack is not None and (ack.group != name or settling.is_special(ack)):
        acking.ack(ack)
        ack = None
    if ack is not None:
        kinds[conf.database, name] = Kind.SHARED if isinstance(ack, SharedClaim) else Kind.ORDERED
    call = {"name": name, "worker": worker, "lease": seconds(lease.total_seconds())}
    try:
        return _claim(call, limit, ack, topic)
    except OtherKind:
        return _claim(call, limit, ack, topic)


def _claim(call: dict[str, Any], limit: int, ack: Claim | None, topic: str) -> Claim | None:
    name, worker = call["name"], call["worker"]
    is_shared = kinds.get((conf.database, name)) == Kind.SHARED
    for _ in range(MOST_EMPTY):
        # What is rolled back must not be remembered; partitions are found whatever topic is asked for.
        look = Look() if db.in_transaction() else look_at(name, topic if is_shared else "")
        if is_shared:
            taken = DeliverySearch(name, {**call, "limit": limit, "topic": topic}, look).found(ack)
            claim: Claim | None = in_hand(taken, name, worker) if taken else None
        else:
            claimed = PartitionSearch(name, call, look).found(ack)
            claim = delivered(claimed, name, worker, limit) if claimed else None
        if claim is not None or look.is_idle:  # nothing was found; or what was found had nothing to deliver
            return claim
        ack = None
    return None


def claim_named(
    name: str, partition: Partition, *, worker: str, upto: int, limit: int = LIMIT, lease: timedelta = LEASE
) -> Claim | None:
    """A certain partition with its next messages up to a position, marked or not; None if it is not free, or has none.

    Everything up to the position must be final.
    """
    held = {"worker": worker, "lease": seconds(lease.total_seconds())}
    rows = db.rows("claim_named_partition", name=name, partition=partition.id, upto=upto, **held)
    return delivered(Claimed(*rows[0])._replace(head_position=upto), name, worker, limit) if rows else None


@dataclass(slots=True)
class PartitionSearch(Search[Claimed]):
    """A search for a partition of an ordered group."""

    kind = Kind.ORDERED
    looks_by = "look_at_group"

    def advance(self, beyond: int) -> bool:
        """One batch of the log."""
        return advance(self.name, beyond=beyond)

    def take(self, where: dict[str, Any], ack: Claim | None) -> Claimed | None:
        """One partition."""
        call = {**self.call, **where}
        if ack is None:
            rows = db.rows("claim_partition", **call, lazy=not db.in_transaction())
        else:
            rows = _acked_and_taken(call, ack)
        if not rows:
            return None
        claimed = Claimed(*rows[0])
        self.raise_floor(
            epoch=claimed.epoch, position=claimed.next_position, id=claimed.id, is_late=bool(claimed.is_late)
        )
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
        acking.done_by(ack, position)
    return taken
