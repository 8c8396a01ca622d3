"""A pytest plugin: ``--database sqlite`` or ``--database postgres`` chooses where the suite runs.

Every database test runs on both. Tests that use no database run once, with SQLite.
"""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.postgres import running

resources = ExitStack()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--proof", action="store_true", help="the full sizes of the long proofs")
    parser.addoption("--database", choices=["sqlite", "postgres"], default="sqlite", help="where the suite runs")


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    """Before pytest-django reads the settings: start what they need. Workers inherit it from the controller."""
    os.environ["CCC_TEST_DATABASE"] = database = early_config.known_args_namespace.database
    if "CCC_TEST_FOLDER" not in os.environ:
        folder = resources.enter_context(tempfile.TemporaryDirectory(prefix="ccc-tests-"))
        os.environ["CCC_TEST_FOLDER"] = folder
        resources.callback(os.environ.pop, "CCC_TEST_FOLDER")
    if database == "postgres":
        os.environ["CCC_TEST_DATABASE_URL"] = resources.enter_context(running())
    return (yield)


def pytest_unconfigure() -> None:
    resources.close()


def pytest_report_header(config: pytest.Config) -> str:
    return f"database: {config.option.database}"


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "postgres: about what only PostgreSQL can do; not run on SQLite")
    config.addinivalue_line("markers", "sqlite: about what only SQLite does; not run on PostgreSQL")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen = [item for item in items if belongs(item, config.option.database)]
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = chosen


def belongs(item: pytest.Item, database: str) -> bool:
    """Tests without a database run once; tests about one database run there."""
    if item.get_closest_marker("postgres" if database == "sqlite" else "sqlite"):
        return False
    return database == "sqlite" or uses_database(item)


def uses_database(item: pytest.Item) -> bool:
    fixtures = getattr(item, "fixturenames", ())
    return bool(item.get_closest_marker("django_db") or {"db", "transactional_db"}.intersection(fixtures))
