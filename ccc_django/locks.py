"""Locks: what an append holds so that nobody decides on facts that are just changing.

Every append locks, shared, the log, its types and its key pairs. A guard locks what it looks at exclusively. So a plain
append waits for nobody but a guard on what it writes.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from ccc_django.canonical import hex_digest
from ccc_django.entries import Entry
from ccc_django.wanted import Wanted

OURS = 1 << 61  # apart from the keys that say where transactions started, which are below


def key(identifier: str) -> int:
    """An advisory lock's key: 61 bits of a digest, marked as ours."""
    return OURS | int(identifier[:16], 16) >> 3


MOST = 64  # locks of one transaction: more, and it takes the few bulk locks instead

LOG = key(hex_digest("log"))
BULK = key(hex_digest("bulk"))


def call(entries: Iterable[Entry], wanted: Wanted | None, *, in_transaction: bool) -> tuple[str, dict[str, Any]]:
    """The statement that takes an append's locks: each key once, exclusive if the guard needs it so."""
    locks = {LOG: False}
    for entry in entries:
        locks[type_key(entry.message_type)] = False
        locks |= dict.fromkeys([key(pair) for pair in entry.pair_ids], False)
    if wanted is not None:
        locks |= {BULK: False, LOG: wanted.everything}
        locks |= dict.fromkeys([key(pair) for pair in wanted.locked_pairs], True)
        locks |= dict.fromkeys([type_key(message_type) for message_type in wanted.whole_types], True)
    bulk = {LOG: wanted is not None, BULK: True}
    if in_transaction:
        return "lock_append_in_transaction", columns(locks) | columns(bulk, prefix="bulk_")
    return "lock_append", columns(locks if len(locks) <= MOST else bulk)


def columns(locks: dict[int, bool], prefix: str = "") -> dict[str, Any]:
    """Locks as the arrays that the statements take."""
    return {f"{prefix}keys": list(locks), f"{prefix}exclusive": list(locks.values())}


@lru_cache(maxsize=4096)
def type_key(message_type: str) -> int:
    """The lock of a whole message type."""
    return key(hex_digest("type", message_type))
