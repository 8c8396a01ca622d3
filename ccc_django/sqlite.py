"""SQLite: statements run on Python's own connection; Django's cursor around one costs more than the statement."""

import re
import time
from functools import cache
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper

from ccc_django.sql import statement

Row = tuple[Any, ...]
Call = tuple[str, dict[str, Any] | list[Row]]


def in_one_trip(database: BaseDatabaseWrapper, calls: tuple[Call, ...], needed: int) -> list[list[Row]]:
    """What the first statements return, of several; sqlite3's errors become Django's."""
    database.ensure_connection()
    database.validate_no_broken_transaction()
    run = _run_and_log if database.queries_logged else _run
    with database.wrap_database_errors:
        results = [run(database, name, parameters) for name, parameters in calls]
    return results[:needed]


def _run(database: Any, name: str, parameters: dict[str, Any] | list[Row]) -> list[Row]:
    """One statement, or one for each of several rows."""
    raw = database.connection
    run = raw.executemany if isinstance(parameters, list) else raw.execute
    rows: list[Row] = run(_native(name), parameters).fetchall()
    return rows


def _run_and_log(database: Any, name: str, parameters: dict[str, Any] | list[Row]) -> list[Row]:
    started = time.monotonic()
    rows = _run(database, name, parameters)
    database.queries_log.append({"sql": f"-- {name}", "time": f"{time.monotonic() - started:.3f}"})
    return rows


@cache
def _native(name: str) -> str:
    """The text with SQLite's own :name and ?, without comments."""
    text = re.sub(r"\s*--.*", "", statement(name, "sqlite"))
    return re.sub(r"%\((\w+)\)s", r":\1", text).replace("%s", "?").replace("%%", "%")
