"""A small project in a folder of its own, whose tests run as its developers run them."""

import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from uuid import uuid4

ROOT = Path(__file__).parents[2]

SETTINGS = """
import os

from tests.settings import postgres, sqlite

SECRET_KEY = "tests only"
USE_TZ = True
INSTALLED_APPS = ["ccc_django", "portal"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
url = os.environ.get("CCC_TEST_DATABASE_URL")
place = postgres(url) if os.environ["CCC_TEST_DATABASE"] == "postgres" else sqlite()
DATABASES = {"default": {**place, "TEST": {"NAME": os.environ["PORTAL_DATABASE"] if url else None}}}
"""

CONSUMERS = """
from ccc_django import Command, Decider, DomainError, Event, Projector, RunAfterCommit, consumer, decides, evolves


class Join(Command, type="portal.join"):
    course_name: str
    user_id: str


class Joined(Event, type="portal.joined"):
    course_name: str
    user_id: str


class AlreadyIn(DomainError):
    pass


class Enrolment(Decider, group="enrolment", partition_by=["course_name"]):
    state_type = list

    @evolves(Joined)
    def joined(self, members, event):
        members.append(event.user_id)

    @decides(Join)
    def join(self, members, command):
        if command.user_id in members:
            raise AlreadyIn(command.user_id)
        yield Joined(**command.payload)


class Roster(Projector, group="roster", partition_by=["course_name"]):
    @evolves(Joined)
    def joined(self, members, event):
        return [*(members or []), event.user_id]


mails = []


@consumer(group="mailer", partition_by=["user_id"], handles=[Joined])
def mailer(message):
    yield RunAfterCommit(lambda: mails.append(message.user_id))
"""


def make(folder: Path, tests: str) -> None:
    """Write the project."""
    app = folder / "portal"
    app.mkdir()
    (folder / "portal_settings.py").write_text(SETTINGS)
    (app / "__init__.py").write_text("")
    (app / "consumers.py").write_text(CONSUMERS)
    (app / "tests.py").write_text(dedent(tests))


def environment(folder: Path) -> dict[str, str]:
    """What its programs need to know; the database of its tests is not that of ours."""
    kept = {name: value for name, value in os.environ.items() if name != "CCC_TEST_FOLDER"}
    return {
        **kept,
        "DJANGO_SETTINGS_MODULE": "portal_settings",
        "PORTAL_DATABASE": f"test_portal_{uuid4().hex}",
        "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]),
    }


def run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run a module of Python in the project."""
    return subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
