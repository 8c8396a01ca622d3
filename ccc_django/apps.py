"""App: what Django needs to know."""

from typing import Any

from django.apps import AppConfig
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created
from django.db.models.signals import post_migrate
from django.utils.module_loading import autodiscover_modules
from django.utils.translation import gettext_lazy as _

from ccc_django.conf import conf
from ccc_django.extras import is_installed, require


class CCCDjangoConfig(AppConfig):
    """The message log as a Django app."""

    name = "ccc_django"
    label = "ccc_django"
    verbose_name = _("Message log")
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Let Django know our checks, and us the messages and consumers of every app."""
        from ccc_django import checks  # noqa: F401, PLC0415 - importing registers them

        refuse_missing_driver()
        connection_created.connect(teach_sqlite, dispatch_uid="ccc_django")
        autodiscover_modules("messages", "consumers")
        from ccc_django.consumers import checking  # noqa: F401, PLC0415 - as above

        post_migrate.connect(sync_indexes, sender=self, dispatch_uid="ccc_django")


def sync_indexes(**kwargs: Any) -> None:
    """Indexes that code declares come into the database with migrate."""
    from ccc_django.indexes.in_code import sync_after_migrate  # noqa: PLC0415 - models are not ready before

    sync_after_migrate(**kwargs)


def teach_sqlite(connection: BaseDatabaseWrapper, **_kwargs: Any) -> None:
    """SQLite before 3.41 has no unhex()."""
    if connection.vendor == "sqlite":
        connection.connection.create_function("unhex", 1, bytes.fromhex, deterministic=True)


def refuse_missing_driver() -> None:
    """Without a driver Django itself ends before any check can say what to install."""
    engine = connections.settings.get(conf.database, {}).get("ENGINE", "")
    if engine.endswith(("postgresql", "postgis")) and not is_installed("psycopg2"):
        require("psycopg")
