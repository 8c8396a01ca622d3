"""PostgreSQL: several statements travel together, prepared once a connection, their parameters bound by the server."""

import re
import time
from functools import partial
from itertools import count
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg import Connection
from psycopg.adapt import Transformer
from psycopg.errors import InvalidSqlStatementName, error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult
from pydantic_core import to_json

from ccc_django import patience
from ccc_django.conf import conf
from ccc_django.pipeline import Send, beginning, journey
from ccc_django.sql import numbered

Row = tuple[Any, ...]
Call = tuple[str, dict[str, Any]]

UNPREPARED = {"savepoint", "release_savepoint", "rollback_to_savepoint", "commit", "discard_plans"}
SLOW = 0.005  # seconds; what takes longer may follow a plan that was made while a table was small
PLAN_AGAIN = 5.0  # seconds until plans are made anew once more
ESCAPED_OTHERWISE = re.compile(rb'\\[^"\\]')  # by JSON than by arrays, which know only these two

_prepared: WeakKeyDictionary[Connection[Any], dict[str, bytes]] = WeakKeyDictionary()
_planned_at: WeakKeyDictionary[Connection[Any], float] = WeakKeyDictionary()
_slow: WeakSet[Connection[Any]] = WeakSet()
_numbers = count(1)  # no name is used twice: one that was lost may be there still, or not


def in_one_trip(database: BaseDatabaseWrapper, calls: tuple[Call, ...], needed: int) -> list[list[Row]]:
    """What the first statements return, of several; psycopg's errors become Django's."""
    database.ensure_connection()
    database.validate_no_broken_transaction()
    raw: Any = database.connection
    started = time.monotonic()
    first = [*_plan_again(raw, started), *_hurry()]
    with database.wrap_database_errors, raw.lock:
        rows = _rows(raw, _results(raw, (*first, *calls))[len(first) : len(first) + needed])
    if time.monotonic() - started > SLOW:
        _slow.add(raw)
    if database.queries_logged:
        _log(database, calls, time.monotonic() - started)
    return rows


def _plan_again(raw: Connection[Any], now: float) -> list[Call]:
    """A prepared statement keeps its plan while a table grows, until somebody analyzes it: that may be too late.

    So whoever has waited for long lets the server plan anew, now and then.
    """
    if raw not in _slow:
        return []
    _slow.discard(raw)
    if now - _planned_at.get(raw, -PLAN_AGAIN) < PLAN_AGAIN or not conf.prepare:
        return []
    _planned_at[raw] = now
    return [("discard_plans", {})]


def _hurry() -> list[Call]:
    """Who waits for an answer lets no lock be waited for longer."""
    left = patience.milliseconds()
    return [] if left is None else [("limit_waiting", {"limit": f"{left}ms"})]


def _log(database: BaseDatabaseWrapper, calls: tuple[Call, ...], seconds: float) -> None:
    """What Django's own log of queries shows, and assertNumQueries counts."""
    database.queries_log.extend({"sql": f"-- {name}", "time": f"{seconds:.3f}"} for name, _ in calls)


def _results(raw: Connection[Any], calls: tuple[Call, ...]) -> list[PGresult]:
    try:
        return _travel(raw, calls)
    except InvalidSqlStatementName:  # somebody has deallocated them: a pool that resets its connections
        _prepared.pop(raw, None)
        if not raw.autocommit:
            raise
        return _travel(raw, calls)


def _travel(raw: Connection[Any], calls: tuple[Call, ...]) -> list[PGresult]:
    known = _prepared.setdefault(raw, {})
    missing = {name for name, _ in calls} - known.keys() - UNPREPARED if conf.prepare else set()
    new = {name: b"ccc_%b_%d" % (name.encode(), next(_numbers)) for name in missing}
    names = {**known, **new} if new else known
    first = beginning(raw)
    preparations = [partial(raw.pgconn.send_prepare, new[name], numbered(name)[0].encode()) for name in new]
    executions = [_execution(raw, names.get(name), name, given) for name, given in calls]
    results = raw.wait(journey(raw.pgconn, [*first, *preparations, *executions]))
    done = [result.status != ExecStatus.FATAL_ERROR for result in results]
    known.update(pair for pair, well in zip(new.items(), done[len(first) :], strict=False) if well)
    if not all(done):
        raise error_from_result(results[done.index(False)], encoding=raw.info.encoding)
    return results[len(first) + len(new) :]


def _execution(raw: Connection[Any], prepared: bytes | None, name: str, given: dict[str, Any]) -> Send:
    text, names = numbered(name)
    values = [parameter(given[each]) for each in names]
    if prepared and conf.prepare:
        return partial(raw.pgconn.send_query_prepared, prepared, values)
    return partial(raw.pgconn.send_query_params, text.encode(), values)


def _rows(raw: Connection[Any], results: list[PGresult]) -> list[list[Row]]:
    transformer = Transformer(raw)
    rows: list[list[Row]] = []
    for result in results:
        transformer.set_pgresult(result)
        rows.append(transformer.load_rows(0, result.ntuples, tuple) if result.nfields else [])
    return rows


def parameter(value: Any) -> bytes | None:
    """A value as PostgreSQL reads it, a list as the text of an array; psycopg's adaptation costs several times that."""
    if type(value) is not list:
        return None if value is None else str(value).encode()
    text = to_json(value)
    if ESCAPED_OTHERWISE.search(text):
        text = f"[{','.join(map(_quoted, value))}]".encode()
    return b"{%b}" % text[1:-1]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
