"""Router: puts the log into the database that CCC_DATABASE names, and reads it from nowhere else."""

from typing import Any

from ccc_django.conf import conf

APP_LABEL = "ccc_django"


class LogRouter:
    """Sends the log's tables to CCC_DATABASE and says nothing about the project's own."""

    def db_for_read(self, model: type, **_hints: Any) -> str | None:
        """Read from where the log is written: a replica may lag, and positions must not."""
        return conf.database if _is_ours(model) else None

    db_for_write = db_for_read

    def allow_migrate(self, db: str, app_label: str, **_hints: Any) -> bool | None:
        """Make the tables in one database only."""
        return db == conf.database if app_label == APP_LABEL else None


def _is_ours(model: Any) -> bool:
    return bool(model._meta.app_label == APP_LABEL)  # noqa: SLF001 - Django's documented interface
