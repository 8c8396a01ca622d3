"""Histories: what has happened in a partition, read with the guard for a decision on it, from a snapshot on."""

from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from ccc_django import store
from ccc_django.claims import Claim
from ccc_django.consumers import states
from ccc_django.consumers.decider import Decider
from ccc_django.consumers.evolving import NOTHING, Evolving, History, StoredState
from ccc_django.groups.guarding import guard_of
from ccc_django.guards import Guard


@dataclass(frozen=True, slots=True)
class Found:
    """A history, the guard over it, and the position up to which it is final."""

    history: History
    guard: Guard | None
    position: int


def read(consumer: Evolving, claim: Claim) -> Found:
    """The messages of a claim's partition that the consumer evolves."""
    sought = guard_of(list(consumer.types_of("evolves")), from_json(claim.partition_key), after=0)
    if sought is None:  # no type that it evolves carries an attribute of the partition
        return Found(History(consumer, []), None, 0)
    base = _snapshot(consumer, claim) if isinstance(consumer, Decider) else NOTHING
    found = store.read(sought.conditions, after=base.position)
    return Found(History(consumer, found.messages, base), found.guard, found.position)


def snapshot(decider: Decider, found: Found) -> Any:
    """The state after everything that is final, to be stored, if enough has come since the last time."""
    final = [message for message in found.history.messages if (message.position or 0) <= found.position]
    if decider.snapshot_every is None or len(final) < decider.snapshot_every:
        return None
    state = decider.stored_state(decider.evolved(found.history.start(), final))
    return {"evolves": list(decider.types_of("evolves")), "state": state}


def _snapshot(decider: Decider, claim: Claim) -> StoredState:
    """Where to begin; at the beginning if other types were evolved, or something older is followed up."""
    kept = states.stored(type(decider), claim) if decider.snapshot_every is not None else NOTHING
    if kept.state is None or kept.state["evolves"] != list(decider.types_of("evolves")):
        return NOTHING
    followed_up = [each.position or 0 for each in claim.messages if each.type in decider.types_of("reacts")]
    if min(followed_up, default=kept.position) < kept.position:
        return NOTHING
    return kept._replace(state=kept.state["state"])
