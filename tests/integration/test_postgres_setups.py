"""The ways in which projects run PostgreSQL: a pool, another schema, no prepared statements, server-side binding."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]

ROOT = Path(__file__).parents[2]

PROGRAM = """
import sys
from django.conf import settings
from tests.settings import postgres
import os
database = postgres(os.environ["CCC_TEST_DATABASE_URL"])
database["OPTIONS"].update({options})
settings.configure(
    USE_TZ=True, INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "ccc_django"],
    DATABASES=dict(default=database), **{settings},
)
import django
django.setup()
from django.core.management import call_command
from django.db import connection, transaction
from ccc_django import store
from ccc_django.errors import AppendConflict
from tests.domain import CourseCreated, UserJoinedCourse

with connection.cursor() as cursor:
    cursor.execute("CREATE SCHEMA IF NOT EXISTS {schema}")
call_command("migrate", verbosity=0)
for number in range(8):
    context = store.read(CourseCreated.to_conditions(course_name="Algebra"))
    [stored] = store.append(CourseCreated(course_name="Algebra"), guard=context.guard)
    assert store.head() == stored.position, (store.head(), stored.position)
    try:
        store.append(CourseCreated(course_name="Algebra"), guard=context.guard)
        raise SystemExit("a conflict was lost")
    except AppendConflict:
        pass
    with transaction.atomic():
        store.append(UserJoinedCourse(course_name="Algebra", user_id="joe"))
        store.append([UserJoinedCourse(course_name="Algebra", user_id=f"u{{n}}") for n in range(100)])
    store.append(stored)
    connection.close()
with connection.cursor() as cursor:
    cursor.execute("SELECT schemaname FROM pg_tables WHERE tablename = 'ccc_messages' AND schemaname = '{schema}'")
    print(len(list(store.stream())), cursor.fetchone())
"""


def run(schema: str, options: str = "{}", settings: str = "{}") -> str:
    search_path = f"dict(options='-c search_path={schema}') | {options}"
    program = textwrap.dedent(PROGRAM.format(schema=schema, options=search_path, settings=settings))
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_schema_other_than_public():
    assert run("elsewhere") == "816 ('elsewhere',)\n"


def test_djangos_psycopg_pool():
    assert run("pooled", options="dict(pool=dict(min_size=1, max_size=2, timeout=10))").startswith("816 ")


def test_without_prepared_statements():
    assert run("unprepared", settings="dict(CCC_PREPARE=False)").startswith("816 ")


def test_server_side_binding():
    assert run("bound", options="dict(server_side_binding=True)").startswith("816 ")
