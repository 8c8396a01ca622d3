"""Clearing: a log as it was on its first day."""

from django.apps import apps
from django.core.management.color import no_style

from ccc_django import db, declared
from ccc_django.consumers import declaring
from ccc_django.groups import counting, looking
from ccc_django.topics import claiming, pruning


def clear() -> None:
    """Empty every table of ours and restart positions. It asks nobody: this is for tests.

    Inside of a test's transaction it is rolled back with it; until then PostgreSQL lets no other connection look.
    """
    connection = db.connection()
    tables = [model._meta.db_table for model in apps.get_app_config("ccc_django").get_models()]  # noqa: SLF001 - Django's own way
    statements = connection.ops.sql_flush(no_style(), tables, reset_sequences=True)
    connection.ops.execute_sql_flush(statements)
    declared.forget()
    looking.forget()
    counting.forget()
    claiming.forget()
    pruning.forget()
    declaring.forget()
