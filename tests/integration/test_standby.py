"""A standby server knows no locks of the primary, so nobody may ask it for the head."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.postgres.cluster import cluster

pytestmark = [pytest.mark.django_db, pytest.mark.postgres]

ROOT = Path(__file__).parents[2]

PROGRAM = """
import sys
import django
from django.conf import settings
from tests.settings import postgres

settings.configure(
    USE_TZ=True, INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "ccc_django"],
    DATABASES={"default": postgres(sys.argv[1])},
)
django.setup()
from django.core.management import call_command
from django.db import Error
from ccc_django import store
from ccc_django.errors import ReadFromReplica
from ccc_django.models import StoredMessage
from tests.domain import CourseCreated

if sys.argv[2] == "primary":
    call_command("migrate", verbosity=0)
    store.append(CourseCreated(course_name="Algebra"))
    sys.exit()


def outcome(verb):
    try:
        return verb()
    except (ReadFromReplica, Error) as error:
        return type(error).__name__


conditions = CourseCreated.to_conditions(course_name="Algebra")
print(outcome(store.head), outcome(lambda: store.read(conditions)), outcome(lambda: list(store.stream())))
print(outcome(lambda: store.append(CourseCreated(course_name="Geometry"))))
print(outcome(lambda: [message.course_name for message in StoredMessage.objects.messages()]))
"""


def run(url: str, part: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    command = [sys.executable, "-c", PROGRAM, url, part]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_standby_is_not_asked_for_the_head():
    with cluster() as server:
        run(server.start(), "primary")
        server.stop()
        (server.folder / "data" / "standby.signal").touch()
        assert run(server.start(), "standby").splitlines() == [
            "ReadFromReplica ReadFromReplica ReadFromReplica",
            "InternalError",
            "['Algebra']",
        ]
