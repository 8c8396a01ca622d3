"""Connecting: the driver's own way to the log, and what executors need to reach it, who have no settings.

The driver asks through Django, outside of the caller's transaction, of which executors see nothing. It never opens a
SQLite file by ADBC, which has a SQLite of its own: two of them in one process take each other's locks away.
"""

from pathlib import Path
from typing import Any

from ccc_django import db
from ccc_django.errors import LogUnreachable
from ccc_django.heads import checked_head
from ccc_django.spark.database import Database
from ccc_django.spark.ranges import Statistics


def database() -> Database:
    """The database of the log, for connections outside of Django."""
    return Database("sqlite", _of_sqlite()) if db.is_sqlite() else Database("postgresql", _of_postgres())


def head() -> int:
    """The position up to which everything is final, for others than this transaction."""
    [[found]] = db.in_one_trip_elsewhere(("head", {}))
    return checked_head(*found)


def statistics(after: int, upto: int) -> Statistics:
    """Where the log begins and ends between two positions, and about how many messages it has."""
    [[found]] = db.in_one_trip_elsewhere(("log_statistics", {"after": after, "upto": upto}))
    return Statistics(*found[:3])


def _of_sqlite() -> str:
    name = str(db.connection().get_connection_params()["database"])
    db.connection().ensure_connection()
    path = name.removeprefix("file:").partition("?")[0]
    if not path or ":memory:" in name or "mode=memory" in name:
        raise LogUnreachable("A log in memory cannot be read by other processes: let the database be a file.")
    return Path(path).absolute().as_uri() + "?mode=ro"


def _of_postgres() -> str:
    """As the open connection has found it out: services, password files and defaults are the driver's alone."""
    from psycopg.conninfo import make_conninfo  # noqa: PLC0415 - an extra

    connection = db.connection()
    connection.ensure_connection()
    raw: Any = connection.connection
    info = raw.info
    parameters = {**info.get_parameters(), "host": info.host, "port": info.port, "password": info.password or None}
    for local in ("service", "passfile"):
        parameters.pop(local, None)
    return make_conninfo("", **parameters)
