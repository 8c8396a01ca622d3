"""States: what partitions have come to, stored by projection and version; the snapshots of deciders too."""

from typing import Any

from pydantic_core import from_json, to_json

from ccc_django import db
from ccc_django.claims import Claim
from ccc_django.consumers.evolving import NOTHING, Evolving, StoredState
from ccc_django.partitions import Partition, partition_of


def partition_in(claim: Claim) -> Partition:
    """The partition of a claim."""
    return partition_of(from_json(claim.partition_key))


def stored(consumer: type[Evolving], claim: Claim) -> StoredState:
    """What is stored for a partition, if anything is."""
    return read(consumer.options.group, consumer.version, partition_in(claim))


def read(projection: str, version: int, partition: Partition) -> StoredState:
    """What a version of a projection has stored for a partition, if anything is."""
    rows = db.rows("stored_state", projection=projection, version=version, partition=partition.id)
    return StoredState(None if rows[0][0] is None else from_json(rows[0][0]), rows[0][1]) if rows else NOTHING


def save(consumer: type[Evolving], claim: Claim, state: Any, position: int) -> None:
    """Store a partition's state, as JSON holds it."""
    partition = partition_in(claim)
    db.rows(
        "save_state",
        projection=consumer.options.group,
        version=consumer.version,
        partition=partition.id,
        key=claim.partition_key,
        state=to_json(state).decode(),
        position=position,
    )
