"""App: what Django needs to know."""

from django.apps import AppConfig
from django.db import connections
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
        """Let Django's check framework know our checks."""
        from ccc_django import checks  # noqa: F401, PLC0415 - importing registers them

        refuse_missing_driver()


def refuse_missing_driver() -> None:
    """Without a driver Django itself ends before any check can say what to install."""
    engine = connections.settings.get(conf.database, {}).get("ENGINE", "")
    if engine.endswith(("postgresql", "postgis")) and not is_installed("psycopg2"):
        require("psycopg")
