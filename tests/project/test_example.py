"""The example project runs, with and without the extra for progress bars."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "example_project"


@pytest.fixture
def manage(tmp_path):
    """The example's manage.py in a copy of its own, run as a user would."""
    copy = shutil.copytree(EXAMPLE, tmp_path / "example project", ignore=shutil.ignore_patterns("*.sqlite3*"))
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}

    def run(*arguments: str, code: str = "") -> subprocess.CompletedProcess[str]:
        program = [sys.executable, "-c", code] if code else [sys.executable, "manage.py"]
        return subprocess.run(
            [*program, *arguments], cwd=copy, env=environment, capture_output=True, text=True, check=False
        )

    assert run("migrate", "--verbosity", "0").returncode == 0
    return run


def test_the_main_job_stores_decides_and_restores_a_term(manage):
    done = manage("run_term", "--students", "20", "--courses", "5")
    assert done.returncode == 0, done.stderr
    assert "190 messages appended, decided on and read back" in done.stdout
    assert "60  course.join" in done.stdout
    assert len(re.findall("has a seat", done.stdout)) == 1
    assert len(re.findall("is refused: CourseFull", done.stdout)) == 3
    assert "Every message came back exactly as it was." in done.stdout
    assert manage("run_term", "--students", "3").returncode == 0, "a second term on the same database"


def test_the_main_job_works_without_rich(manage):
    code = "import sys; sys.modules['rich'] = None; sys.argv[0] = 'manage.py'; exec(open('manage.py').read())"
    done = manage("run_term", "--students", "2", code=code)
    assert done.returncode == 0, done.stderr
    assert "Running the term …" in done.stdout


def test_the_project_passes_its_own_checks(manage):
    assert "no issues" in manage("check").stdout
    assert "No changes" in manage("makemigrations", "--check", "--dry-run").stdout


def test_the_admin_shows_the_groups(manage):
    code = """
from django.contrib.auth.models import User
from django.test import Client
from ccc_django import groups
groups.register("seats", partition_by="course_name", handled_types=["user.joined_course"])
client = Client(headers={"host": "localhost"})
client.force_login(User.objects.create_superuser("ann"))
print("seats" in client.get("/admin/ccc_django/consumergroup/").content.decode())
"""
    done = manage("shell", "-c", code)
    assert done.stdout.endswith("True\n"), done.stderr


def test_the_consumers_are_found_and_run(manage):
    code = """
from uuid import uuid4
from ccc_django import consumers, groups, store
from ccc_django.consumers import declaring, projections, registry, runner
from courses.messages import CreateCourse, JoinCourse
from feedback.messages import SubmitFeedback
consumers.handle(CreateCourse(course_name="Algebra", capacity=2))
consumers.handle(JoinCourse(course_name="Algebra", user_id="joe"))
consumers.handle(SubmitFeedback(submission_id=uuid4(), course_name="Algebra", text="I liked it."))
for each in [*registry.consumers()] * 2:
    declaring.declare(each)
    while claim := groups.claim_next(each.group_name(), worker="w"):
        assert runner.run(each, claim).error is None
print(projections.state("course-roster", course_name="Algebra"))
"""
    done = manage("shell", "-c", code)
    assert done.stdout.endswith("['joe']\n"), done.stderr
    assert "To: teacher@example.org" in done.stdout
