"""Database: the log as executors reach it, through ADBC, on connections of their own and without Django."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ccc_django.errors import ExtraMissing, LogUnreachable
from ccc_django.extras import require
from ccc_django.heads import checked_head
from ccc_django.sql import statement

BATCH_BYTES = str(2 << 20)  # smaller batches keep the JVM busy while the next one comes
PREFIX = "ccc_spark"


@dataclass(frozen=True, slots=True)
class Database:
    """Where the log is; the address, which may hold a password, does not show."""

    vendor: str
    address: str = field(repr=False)

    @contextmanager
    def connected(self) -> Iterator["Connection"]:
        """A connection that only reads; not where Django has one to the same file, see connecting."""
        assert self.vendor != "sqlite" or "django.db" not in sys.modules, "two copies of SQLite in one process"  # noqa: S101
        try:
            opened = _opened(self)
        except ExtraMissing:
            raise
        except Exception as error:  # noqa: BLE001 - each driver has its own
            raise LogUnreachable(f"The database of the log cannot be reached: {_line(error)}") from None
        with opened, opened.cursor() as cursor:
            connection = Connection(self.vendor, cursor)
            if self.vendor == "sqlite":
                connection.rows("wait_for_writer")
            yield connection

    def head(self) -> int:
        """The position up to which everything is final, now."""
        with self.connected() as connection:
            return checked_head(*connection.rows("head")[0])


@dataclass(frozen=True, slots=True)
class Connection:
    """Runs our statements, by name."""

    vendor: str
    cursor: Any

    def rows(self, name: str, **parameters: Any) -> list[tuple[Any, ...]]:
        """What a small statement returns."""
        self._execute(name, parameters)
        found: list[tuple[Any, ...]] = self.cursor.fetchall()
        return found

    def batches(self, name: str, **parameters: Any) -> Iterator[Any]:
        """What a large statement returns, in Arrow's batches."""
        if self.vendor == "postgresql":
            self.rows("by_indexes")
            self.cursor.adbc_statement.set_options(**{"adbc.postgresql.batch_size_hint_bytes": BATCH_BYTES})
        self._execute(name, parameters)
        return iter(self.cursor.fetch_record_batch())

    def _execute(self, name: str, parameters: dict[str, Any]) -> None:
        """With parameters in PostgreSQL's settings: a statement that is bound to values cannot travel by COPY."""
        if self.vendor == "sqlite":
            text, names = _for_sqlite(name)
            self.cursor.execute(text, [parameters[each] for each in names] or None)
            return
        for key, value in parameters.items():
            self.cursor.execute("SELECT set_config($1, $2, false)", [f"{PREFIX}.{key}", str(value)])
            self.cursor.fetchall()
        self.cursor.execute(_for_postgres(name))


@cache
def _for_postgres(name: str) -> str:
    return re.sub(r"%\((\w+)\)s", rf"current_setting('{PREFIX}.\1')", _without_comments(name, "postgresql"))


@cache
def _for_sqlite(name: str) -> tuple[str, tuple[str, ...]]:
    """The text with ?1, ?2, …, and the names that they stand for."""
    text = _without_comments(name, "sqlite")
    names = tuple(dict.fromkeys(re.findall(r"%\((\w+)\)s", text)))
    return re.sub(r"%\((\w+)\)s", lambda found: f"?{names.index(found[1]) + 1}", text), names


def _without_comments(name: str, vendor: str) -> str:
    return re.sub(r"\s*--.*", "", statement(name, vendor)).replace("%%", "%")


def _opened(database: Database) -> Any:
    require(f"adbc_driver_{database.vendor}")
    if database.vendor == "sqlite":
        import adbc_driver_sqlite.dbapi as sqlite  # noqa: PLC0415 - an extra

        return sqlite.connect(database.address)
    import adbc_driver_postgresql.dbapi as postgresql  # noqa: PLC0415 - an extra

    return postgresql.connect(database.address)


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
