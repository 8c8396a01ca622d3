"""Database: runs our statements, by name, on the connection that Django has open."""

from functools import cache
from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from ccc_django import sqlite
from ccc_django.conf import conf

Row = tuple[Any, ...]
IDLE = 0  # what libpq says of a connection that has no transaction
Call = tuple[str, Any]  # a statement's name and its parameters; on SQLite also rows, to run it for each


def connection() -> BaseDatabaseWrapper:
    """Django's connection to the database of the log."""
    return connections[conf.database]


def is_sqlite() -> bool:
    """Whether the log is in SQLite."""
    return _vendor(conf.database) == "sqlite"


@cache
def _vendor(database: str) -> str:
    return connections[database].vendor


def in_transaction() -> bool:
    """Whether the caller has a transaction open, which ours becomes a part of."""
    return not connection().get_autocommit()


def session() -> Any:
    """The connection that is open now, if any is: Django opens another where one was cut."""
    return connection().connection


def has_ended(before: Any) -> bool:
    """Whether a session was cut or closed since."""
    return before is not None and (session() is not before or bool(getattr(before, "closed", False)))


def is_managed_by_hand() -> bool:
    """Whether the caller commits without Django knowing, so that nothing can wait for it."""
    return in_transaction() and not connection().in_atomic_block


def written() -> int:
    """A mark by which a transaction that has just begun can be asked later whether it is clean."""
    raw: Any = connection().connection
    return int(raw.total_changes) if is_sqlite() else 0


def is_clean(before: int) -> bool:
    """Whether a transaction has done nothing since a mark that would have to be committed."""
    database = connection()
    raw: Any = database.connection
    if database.run_on_commit or raw is None:
        return False
    return bool(raw.total_changes == before if is_sqlite() else raw.pgconn.transaction_status == IDLE)


def let_hooks_fail_alone() -> None:
    """What is to run after the commit may fail then: Django logs it, and nobody takes it for a commit that failed."""
    database: Any = connection()
    database.run_on_commit = [(savepoints, hook, True) for savepoints, hook, *_ in database.run_on_commit]


def rows(name: str, /, **parameters: Any) -> list[Row]:
    """What a statement returns."""
    return in_one_trip((name, parameters))[0]


def in_one_trip(*calls: Call, needed: int | None = None) -> list[list[Row]]:
    """What several statements return, or the first few of them, sent together where the database allows it.

    Outside of a transaction they are one transaction.
    """
    return _run(connection(), calls, len(calls) if needed is None else needed)


def in_one_trip_elsewhere(*calls: Call) -> list[list[Row]]:
    """What several statements return on a connection of their own, outside of the caller's transaction."""
    other = connection().copy()
    try:
        return _run(other, calls, len(calls))
    finally:
        other.close()


def _run(database: BaseDatabaseWrapper, calls: tuple[Call, ...], needed: int) -> list[list[Row]]:
    if database.vendor == "sqlite":
        return sqlite.in_one_trip(database, calls, needed)
    from ccc_django import postgres  # noqa: PLC0415 - an extra

    return postgres.in_one_trip(database, calls, needed)
