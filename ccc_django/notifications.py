"""Notify: a hint that something may have come, never needed for correctness; a lost one costs only latency.

It is sent after the outermost commit and outside of the append's transaction: inside, it would serialise every commit
of the database.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from django.db import Error, transaction

from ccc_django import db, stages, wording
from ccc_django.canonical import hex_digest
from ccc_django.conf import conf
from ccc_django.locks import key

CHANNEL = "ccc_django"
INTERVAL = 0.01  # seconds in which a process announces a type once
POLL = 0.125  # seconds between two looks at SQLite, which cannot call
MOST_BYTES = 7_900  # PostgreSQL takes 8,000

LOOK_AGAIN = 1.0  # seconds until a process looks again whether anybody listens
LISTENERS = key(hex_digest("listeners"))

_announced: dict[str, float] = {}
_looked_at = -LOOK_AGAIN
_listeners = False


def announce(types: Iterable[str]) -> None:
    """Tell listeners, after the outermost commit, that messages of these types may have come."""
    if _nobody_listens() or not conf.notify or db.is_sqlite() or db.is_managed_by_hand():
        return
    known = sorted(set(types))
    transaction.on_commit(lambda: _send(known), using=conf.database)


def _nobody_listens() -> bool:
    """What this process saw within the last second, without looking again."""
    return not _listeners and time.monotonic() - _looked_at < LOOK_AGAIN


def _somebody_listens(now: float) -> bool:
    """Looked up once a second: listeners hold a lock that says so."""
    global _looked_at, _listeners
    if now - _looked_at >= LOOK_AGAIN:
        _listeners, _looked_at = bool(db.rows("count_listeners", key=LISTENERS)[0][0]), now
    return _listeners


def _send(types: list[str]) -> None:
    now = time.monotonic()
    fresh = [each for each in types if now - _announced.get(each, -INTERVAL) >= INTERVAL]
    if not fresh or db.in_transaction():
        return
    _announced.update(dict.fromkeys(fresh, now))
    payload = "\n".join(fresh)
    try:
        if _somebody_listens(now):
            db.rows("notify", channel=CHANNEL, payload=payload if len(payload.encode()) <= MOST_BYTES else "")
            stages.notified(fresh)
    except Error:
        wording.not_notified(exc_info=True)


def wait(types: Iterable[str] = (), timeout: float = 1.0) -> bool:
    """Wait until messages of these types, or of any, may have come; False if the time is over first."""
    with listening(types) as listener:
        return listener.wait(timeout)


@contextmanager
def listening(types: Iterable[str] = ()) -> Iterator["Listener | Poller"]:
    """Something that waits again and again, with a connection of its own where the database can call."""
    if db.is_sqlite():
        yield Poller()
        return
    from psycopg import Connection  # noqa: PLC0415 - an extra

    database = db.connection()
    parameters = {name: value for name, value in database.get_connection_params().items() if name not in NOT_OURS}
    with Connection.connect(**parameters, autocommit=True) as connection:
        connection.execute("LISTEN ccc_django")
        connection.execute("SELECT pg_advisory_lock_shared(%s)", [LISTENERS])
        yield Listener(connection, frozenset(types))


NOT_OURS = {"cursor_factory", "context", "prepare_threshold"}


class Listener:
    """Waits for PostgreSQL to call."""

    def __init__(self, connection: Any, types: frozenset[str]) -> None:
        self.connection = connection
        self.types = types

    def wait(self, timeout: float) -> bool:
        """Whether messages may have come within the time."""
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            for notification in self.connection.notifies(timeout=left, stop_after=1):
                if self.concerns(notification.payload.split("\n")):
                    return True
        return False

    def concerns(self, types: list[str]) -> bool:
        """Whether a call is about what we wait for; an empty one may be about anything."""
        return not self.types or types == [""] or not self.types.isdisjoint(types)


class Poller:
    """Looks at SQLite now and then."""

    def __init__(self) -> None:
        self.head, self.looked_at = db.rows("head")[0][0], time.monotonic()

    def wait(self, timeout: float) -> bool:
        """Whether messages have come within the time."""
        deadline = time.monotonic() + timeout
        while (look_at := self.looked_at + POLL) <= deadline:
            time.sleep(max(0.0, look_at - time.monotonic()))
            before, self.head, self.looked_at = self.head, db.rows("head")[0][0], time.monotonic()
            if self.head != before:
                return True
        time.sleep(max(0.0, deadline - time.monotonic()))
        return False
