"""System checks say what would go wrong, and what to do about it."""

import subprocess
import sys
import textwrap
from types import ModuleType

import psycopg
import pytest
from django.core.checks import run_checks
from django.db import connections

from ccc_django import consumer, where
from ccc_django.consumers.checking import check_partitions
from ccc_django.indexes import in_code
from ccc_django.router import LogRouter
from tests.domain import CourseCreated
from tests.settings import sqlite


def found() -> dict[str, str]:
    return {message.id: f"{message.msg} {message.hint}" for message in run_checks(tags=["ccc_django"])}


@pytest.fixture
def database(monkeypatch):
    """Let the checks see another configuration than the one that the tests use."""

    def configure(alias="default", **parts):
        monkeypatch.setitem(connections.settings, alias, {**sqlite(), **parts})

    return configure


@pytest.mark.django_db
def test_the_tests_own_project_is_fine():
    assert found() == {}


def test_time_zones_are_needed(settings):
    settings.USE_TZ = False
    assert "USE_TZ = True" in found()["ccc_django.E001"]


def test_the_database_must_exist(settings):
    settings.CCC_DATABASE = "lgo"
    assert "Name one of: default" in found()["ccc_django.E002"]


def test_another_database_needs_the_router(settings, database):
    database("log")
    settings.CCC_DATABASE = "log"
    assert "Put “ccc_django.router.LogRouter” first in DATABASE_ROUTERS" in found()["ccc_django.E003"]
    settings.DATABASE_ROUTERS = [type("Ours", (LogRouter,), {})()]
    assert found() == {}
    settings.DATABASE_ROUTERS = ["ccc_django.router.LogRouter"]
    assert found() == {}
    settings.DATABASE_ROUTERS = [EverythingElsewhere(), LogRouter()]
    assert "the routers send it to “elsewhere”" in found()["ccc_django.E003"]


class EverythingElsewhere:
    def db_for_write(self, _model, **_hints):
        return "elsewhere"


def test_other_engines_are_refused(monkeypatch):
    monkeypatch.setattr(type(connections["default"]), "vendor", "mysql")
    said = found()["ccc_django.E005"]
    assert "The log cannot live in a database of the kind “mysql”" in said
    assert "Use PostgreSQL or SQLite" in said


@pytest.mark.parametrize(("engine", "driver"), [("mysql", "MySQLdb"), ("oracle", "oracledb")])
def test_other_engines_are_refused_also_without_their_driver(engine, driver):
    output = check_in_a_new_process(f"django.db.backends.{engine}", hidden=driver)
    assert f"(ccc_django.E005) The log cannot live in a database of the kind “{engine}”" in output


@pytest.mark.parametrize("engine", ["django.db.backends.postgresql", "django.contrib.gis.db.backends.postgis"])
def test_postgresql_without_any_driver_names_the_extra(engine):
    output = check_in_a_new_process(engine, hidden="psycopg")
    assert 'psycopg is not installed. Run: pip install "ccc-django[postgres]"' in output


def test_postgresql_with_psycopg_2_only_is_refused(monkeypatch):
    monkeypatch.setattr(type(connections["default"]), "vendor", "postgresql")
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert 'Run: pip install "ccc-django[postgres]"' in found()["ccc_django.E004"]


def test_an_old_psycopg_is_refused(monkeypatch):
    monkeypatch.setattr(type(connections["default"]), "vendor", "postgresql")
    monkeypatch.setattr(psycopg, "__version__", "3.1.18")
    assert "psycopg 3.1.18 is too old" in found()["ccc_django.E006"]


def check_in_a_new_process(engine: str, hidden: str) -> str:
    """What manage.py check says where a driver is missing: Django keeps drivers that it has once loaded."""
    program = textwrap.dedent(f"""
        import sys
        sys.modules[{hidden!r}] = None
        from django.conf import settings
        database = dict(ENGINE="{engine}", NAME="log")
        settings.configure(USE_TZ=True, INSTALLED_APPS=["ccc_django"], DATABASES=dict(default=database))
        import django
        django.setup()
        from django.core.management import call_command
        call_command("check", tags=["ccc_django"])
    """)
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.returncode != 0
    return run.stderr


@pytest.mark.django_db
@pytest.mark.postgres
def test_positions_must_not_be_kept_in_reserve():
    def complaints():
        return [message.id for message in run_checks(tags=["ccc_django"], databases=["default"])]

    assert complaints() == []
    with connections["default"].cursor() as cursor:
        cursor.execute("ALTER SEQUENCE ccc_messages_position_seq CACHE 10")
    assert complaints() == ["ccc_django.E007"]


def test_sqlite_should_start_transactions_as_a_writer(database):
    database(OPTIONS={"init_command": "PRAGMA journal_mode=WAL"})
    assert '"transaction_mode": "IMMEDIATE"' in found()["ccc_django.W001"]


def test_sqlite_should_be_in_wal_mode(database):
    database(NAME="db.sqlite3", OPTIONS={"transaction_mode": "immediate"})
    assert "PRAGMA journal_mode=WAL" in found()["ccc_django.W002"]


def test_an_empty_init_command_is_none(database):
    database(NAME="db.sqlite3", OPTIONS={"init_command": None})
    assert set(found()) == {"ccc_django.W001", "ccc_django.W002"}


def test_a_database_in_memory_has_no_journal(database):
    database(NAME="file::memory:?cache=shared", OPTIONS={"transaction_mode": "EXCLUSIVE"})
    assert found() == {}


def test_declared_filters_need_declared_indexes(monkeypatch):
    module = ModuleType("courses.ccc_indexes")
    module.FILTERS = {"by city": where(type=CourseCreated, address__city="Lisbon")}
    monkeypatch.setattr(in_code, "_modules", lambda: [module])
    assert 'indexes.declare("payload", ["address.city"])' in found()["ccc_django.E008"]
    module.INDEXES = [("payload", ["address.city"])]
    assert found() == {}


def test_a_consumer_partitioned_by_what_no_message_has_is_warned_of(no_consumers):
    @consumer(group="typo", partition_by=["coursename"], handles=[CourseCreated])
    def typo(message):
        """Gets nothing, ever."""

    [warning] = check_partitions()
    assert warning.id == "ccc_django.W003"
    assert "They are found by: course_name" in warning.hint


def test_a_function_that_cannot_take_a_message_is_refused(no_consumers):
    with pytest.raises(TypeError, match="handle is called with a message: too many positional arguments"):

        @consumer(group="none", partition_by=[], handles=[CourseCreated])
        def handle():
            """Takes nothing."""
