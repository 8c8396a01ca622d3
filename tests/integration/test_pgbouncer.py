"""Behind PgBouncer in transaction mode every transaction may have another server process; the promises hold."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.db import connection

from tests.integration import pgbouncer

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]

ROOT = Path(__file__).parents[2]

PROGRAM = """
import json, sys
import django
from django.conf import settings

settings.configure(
    USE_TZ=True, INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "ccc_django"],
    DATABASES={"default": json.loads(sys.argv[1])}, CCC_PREPARE=False,
)
django.setup()
from django.core.management import call_command
from django.db import transaction
from ccc_django import Guard, store
from ccc_django.errors import AppendConflict
from tests.concurrency.processes import assert_at_once, backend_id, together
from tests.domain import CourseCreated, UserJoinedCourse

ROUNDS = 20


def race():
    won, backends = [], set()
    for number in range(ROUNDS):
        course = {"course_name": f"c{number}"}
        backends.add(backend_id())
        try:
            guard = Guard(conditions=tuple(CourseCreated.to_conditions(**course)), after=0)
            store.append(CourseCreated(**course), guard=guard)
            won.append(number)
        except AppendConflict:
            pass
        with transaction.atomic():
            store.append(UserJoinedCourse(**course, user_id="joe"))
            store.append([UserJoinedCourse(**course, user_id=f"u{n}") for n in range(3)])
    return won, sorted(backends)


call_command("migrate", verbosity=0)
reports = together(*[race] * 8)
assert_at_once(reports)
won = sorted(number for report in reports for number in report.result[0])
backends = [report.result[1] for report in reports]
head = store.read(CourseCreated.to_conditions(course_name="c0"))
print(json.dumps([won, backends, len(list(store.stream())), store.head() == head.position]))
"""


@pytest.fixture
def database():
    """A database of its own, so that nothing is left behind in the suite's."""
    name = f"{connection.settings_dict['NAME']}_pooled"
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{name}"')
    yield name
    with connection.cursor() as cursor:
        cursor.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


def test_racers_behind_a_pooler_win_once_each_round(database):
    with pgbouncer.running(os.environ["CCC_TEST_DATABASE_URL"]) as server:
        environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
        command = [sys.executable, "-c", PROGRAM, json.dumps({**server, "NAME": database})]
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    won, backends, count, head_is_last = json.loads(done.stdout)
    assert won == list(range(20)), "one winner a round"
    assert len({backend for each in backends for backend in each}) <= 4, "they shared the pooler's connections"
    assert any(len(each) > 1 for each in backends), "transactions of one client had several server processes"
    assert count == 20 + 8 * 20 * 4
    assert head_is_last
