"""Counting: how many messages of a topic a group has done, written down once a second; nothing depends on it."""

import time
from collections import Counter
from collections.abc import Mapping
from functools import partial

from django.db import Error, transaction

from ccc_django import db
from ccc_django.conf import conf

EVERY = 1.0  # seconds

_counts: Counter[tuple[str, int]] = Counter()
_written_at = [0.0]


def count(done: Mapping[int, int]) -> None:
    """So many messages of these places are done, if the transaction is committed."""
    if db.connection().in_atomic_block:
        transaction.on_commit(partial(_add, dict(done)), using=conf.database, robust=True)
    else:
        _add(done)


def _add(done: Mapping[int, int]) -> None:
    _counts.update({(conf.database, place): number for place, number in done.items()})
    if time.monotonic() - _written_at[0] >= EVERY:
        write()


def write() -> None:
    """Write down what was counted in this process; what somebody else is at is written the next time."""
    _written_at[0] = time.monotonic()
    if db.in_transaction():
        return
    for database, place in [*_counts]:
        if database == conf.database and (number := _counts.pop((database, place), 0)):
            try:
                written = db.rows("count_processed", id=place, number=number)
            except Error:
                return
            if not written and db.rows("known_place", id=place):
                _counts[database, place] += number


def forget() -> None:
    """Nothing was counted."""
    _counts.clear()
