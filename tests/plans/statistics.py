"""What PostgreSQL knows of tables: nothing, until a test lets it look."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def forgotten(tables: Iterable[str]) -> Iterator[None]:
    """Nothing remains of what other tests have let a vacuum see, and none runs: it would count rows too early."""
    names = [*tables]
    with connection.cursor() as cursor:
        for table in names:
            cursor.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
        cursor.execute("DELETE FROM pg_statistic WHERE starelid::regclass::text = ANY (%s)", [names])
        cursor.execute("UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE relname = ANY (%s)", [names])
    yield
    with connection.cursor() as cursor:
        for table in names:
            cursor.execute(f"ALTER TABLE {table} RESET (autovacuum_enabled)")
