"""The log can live in another database, and is read only from where it is written."""

import subprocess
import sys
import textwrap

import pytest
from django.contrib.auth.models import User
from django.db import router

from ccc_django.models import StoredMessage


class ReplicaFirst:
    """A project's own router that sends reads elsewhere."""

    def db_for_read(self, _model, **_hints):
        return "replica"


def test_the_router_sends_the_log_to_its_database_and_nothing_else(settings):
    settings.DATABASE_ROUTERS = ["ccc_django.router.LogRouter"]
    settings.CCC_DATABASE = "log"
    assert router.db_for_read(StoredMessage) == "log"
    assert router.db_for_write(StoredMessage) == "log"
    assert router.db_for_write(User) == "default"
    assert router.allow_migrate("log", "ccc_django")
    assert not router.allow_migrate("default", "ccc_django")
    assert router.allow_migrate("default", "auth")


def test_positions_are_never_read_from_a_replica(settings):
    settings.DATABASE_ROUTERS = [ReplicaFirst()]
    assert router.db_for_read(User) == "replica"
    assert StoredMessage.objects.all().db == "default"
    settings.CCC_DATABASE = "log"
    assert StoredMessage.objects.filter(position=1).db == "log"
    assert StoredMessage.objects.using("elsewhere").db == "elsewhere", "somebody who names a database means it"


def test_the_tables_are_made_in_the_log_database_only(tmp_path):
    program = textwrap.dedent(f"""
        from django.conf import settings
        sqlite = lambda name: dict(ENGINE="django.db.backends.sqlite3", NAME={str(tmp_path)!r} + "/" + name)
        settings.configure(
            USE_TZ=True, INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "ccc_django"],
            DATABASES=dict(default=sqlite("default"), log=sqlite("log")),
            CCC_DATABASE="log", DATABASE_ROUTERS=["ccc_django.router.LogRouter"],
        )
        import django
        django.setup()
        from django.core.management import call_command
        from django.db import connections
        from ccc_django import Event, store
        from ccc_django.models import StoredMessage

        call_command("migrate", verbosity=0, skip_checks=True)
        call_command("migrate", database="log", app_label="ccc_django", verbosity=0, skip_checks=True)
        class Rang(Event, type="rang"): pass
        store.append([Rang(), Rang()])
        for alias in ("default", "log"):
            tables = connections[alias].introspection.table_names()
            print(alias, "ccc_messages" in tables, "auth_user" in tables)
        print(StoredMessage.objects.count(), type(store.read().messages[0]).__name__)
    """)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.stdout.split("\n")[:3] == ["default False True", "log True False", "2 Rang"], run.stderr


@pytest.mark.django_db
def test_without_any_setting_the_log_is_in_the_default_database():
    assert StoredMessage.objects.all().db == "default"
    assert StoredMessage.objects.count() == 0
