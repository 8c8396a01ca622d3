"""PostgreSQL: statements are prepared once a connection, and several travel in one message.

psycopg's pipeline would do the same at half again the client's time, because it is written in Python: see decisions.
"""

import time
from functools import cache
from typing import Any
from weakref import WeakKeyDictionary

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import ClientCursor, Connection, RawCursor

from ccc_django.conf import conf
from ccc_django.sql import numbered

Row = tuple[Any, ...]
Call = tuple[str, dict[str, Any]]

UNPREPARED = {"savepoint", "release_savepoint", "rollback_to_savepoint"}

_prepared: WeakKeyDictionary[Connection[Any], set[str]] = WeakKeyDictionary()


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
    text, names, prepared = _executions(tuple([name for name, _ in calls]))
    if not prepared <= _prepared.setdefault(raw, set()):
        _prepare(raw, prepared)
    cursor = ClientCursor(raw)
    cursor.execute(
        text, [literal(given[each]) for (_, given), each_names in zip(calls, names, strict=True) for each in each_names]
    )
    results = [_rows(cursor)]
    while len(results) < needed and cursor.nextset():
        results.append(_rows(cursor))
    return results


def _prepare(raw: Connection[Any], names: frozenset[str]) -> None:
    known = _prepared[raw]
    for name in sorted(names - known):
        ClientCursor(raw).execute(f"PREPARE ccc_{name} AS {numbered(name)[0]}")
        known.add(name)


@cache
def _executions(names: tuple[str, ...]) -> tuple[str, list[tuple[str, ...]], frozenset[str]]:
    """One message for several statements, the names of their parameters, and what must be prepared for it."""
    text = "; ".join(numbered(name)[0] if name in UNPREPARED else _execution(name) for name in names)
    return text, [numbered(name)[1] for name in names], frozenset(names) - UNPREPARED


def _execution(name: str) -> str:
    placeholders = ", ".join("%s" for _ in numbered(name)[1])
    return f"EXECUTE ccc_{name} ({placeholders})" if placeholders else f"EXECUTE ccc_{name}"


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
