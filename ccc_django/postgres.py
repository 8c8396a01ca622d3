"""PostgreSQL: statements are prepared once a connection, and several travel in one message.

psycopg's pipeline would do the same at half again the client's time, because it is written in Python: see decisions.
"""

import time
from functools import cache
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import ClientCursor, Connection, RawCursor
from psycopg.errors import InvalidSqlStatementName

from ccc_django.conf import conf
from ccc_django.sql import numbered

Row = tuple[Any, ...]
Call = tuple[str, dict[str, Any]]

UNPREPARED = {"savepoint", "release_savepoint", "rollback_to_savepoint"}


class Prepared(NamedTuple):
    """What a connection has prepared; after a loss under other names, because some may be there still."""

    generation: int
    names: set[str]


_prepared: WeakKeyDictionary[Connection[Any], Prepared] = WeakKeyDictionary()


def in_one_trip(database: BaseDatabaseWrapper, calls: tuple[Call, ...], needed: int) -> list[list[Row]]:
    """What the first statements return, of several; psycopg's errors become Django's."""
    database.ensure_connection()
    database.validate_no_broken_transaction()
    raw: Any = database.connection
    started = time.monotonic()
    with database.wrap_database_errors:
        results = (_execute_prepared if conf.prepare else _execute_plainly)(raw, calls, needed)
    if database.queries_logged:
        _log(database, calls, time.monotonic() - started)
    return results


def _log(database: BaseDatabaseWrapper, calls: tuple[Call, ...], seconds: float) -> None:
    """What Django's own log of queries shows, and assertNumQueries counts."""
    database.queries_log.extend({"sql": f"EXECUTE ccc_{name}", "time": f"{seconds:.3f}"} for name, _ in calls)


def _execute_prepared(raw: Connection[Any], calls: tuple[Call, ...], needed: int) -> list[list[Row]]:
    names = tuple([name for name, _ in calls])
    values = [literal(given[each]) for name, given in calls for each in numbered(name)[1]]
    cursor = ClientCursor(raw)
    try:
        cursor.execute(_message(raw, names), values)
    except InvalidSqlStatementName:  # somebody has deallocated them: a pool that resets its connections
        _prepared[raw] = Prepared(_prepared[raw].generation + 1, set())
        if not raw.autocommit:
            raise
        cursor.execute(_message(raw, names), values)
    results = [_rows(cursor)]
    while len(results) < needed and cursor.nextset():
        results.append(_rows(cursor))
    return results


def _message(raw: Connection[Any], names: tuple[str, ...]) -> str:
    """One message for several statements, each of which is prepared on this connection."""
    generation, known = _prepared.setdefault(raw, Prepared(0, set()))
    if not known.issuperset(names):
        for name in sorted({*names} - known - UNPREPARED):
            ClientCursor(raw).execute(f"PREPARE {_prepared_name(name, generation)} AS {numbered(name)[0]}")
        known.update(names)
    return _executions(names, generation)


@cache
def _executions(names: tuple[str, ...], generation: int) -> str:
    return "; ".join(numbered(name)[0] if name in UNPREPARED else _execution(name, generation) for name in names)


def _execution(name: str, generation: int = 0) -> str:
    placeholders = ", ".join("%s" for _ in numbered(name)[1])
    arguments = f" ({placeholders})" if placeholders else ""
    return f"EXECUTE {_prepared_name(name, generation)}{arguments}"


def _prepared_name(name: str, generation: int) -> str:
    return f"ccc_{name}_{generation}" if generation else f"ccc_{name}"


def _execute_plainly(raw: Connection[Any], calls: tuple[Call, ...], needed: int) -> list[list[Row]]:
    """For poolers that cannot keep prepared statements apart."""
    cursors = [RawCursor(raw) for _ in calls]
    with raw.pipeline():
        for cursor, (name, given) in zip(cursors, calls, strict=True):
            text, names = numbered(name)
            cursor.execute(text, [literal(given[each]) for each in names], prepare=False)
    return [_rows(cursor) for cursor in cursors[:needed]]


def _rows(cursor: Any) -> list[Row]:
    return cursor.fetchall() if cursor.pgresult.nfields else []


def literal(value: Any) -> Any:
    """A list as the text of an array, which costs a fraction of what psycopg's own adaptation does."""
    if type(value) is not list:
        return value
    return "{" + ",".join([_quoted(each) if type(each) is str else str(each) for each in value]) + "}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
