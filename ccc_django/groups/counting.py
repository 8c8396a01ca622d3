"""Counting: how many messages of a topic a group has done, written down once a second; nothing depends on it."""

import time
from collections import Counter
from collections.abc import Iterable
from functools import partial

from django.db import transaction

from ccc_django import db
from ccc_django.claims import Claim
from ccc_django.conf import conf
from ccc_django.messages import Message

EVERY = 1.0  # seconds

_counts: Counter[tuple[str, str, str]] = Counter()  # by database, group and topic
_written_at = [0.0]


def count(claim: Claim, messages: Iterable[Message]) -> None:
    """Messages of a group's topics are done, if the transaction is committed."""
    done = Counter(message.envelope.topic for message in messages)
    if db.connection().in_atomic_block:
        transaction.on_commit(partial(_add, claim.group, done), using=conf.database, robust=True)
    else:
        _add(claim.group, done)


def _add(group: str, done: Counter[str]) -> None:
    _counts.update({(conf.database, group, topic): number for topic, number in done.items()})
    if time.monotonic() - _written_at[0] >= EVERY:
        write()


def write() -> None:
    """Write down what was counted in this process; what somebody else is at is written the next time."""
    _written_at[0] = time.monotonic()
    if db.in_transaction():
        return
    for database, group, topic in [*_counts]:
        if database == conf.database and (number := _counts.pop((database, group, topic), 0)):
            place = {"group": group, "topic": topic}
            if not db.rows("count_processed", **place, number=number) and db.rows("known_place", **place):
                _counts[database, group, topic] += number


def forget() -> None:
    """Nothing was counted."""
    _counts.clear()
