"""The wheel, in an empty Django project with nothing but its two dependencies."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

PROGRAM = """
from ccc_django import Event, store
class CourseCreated(Event, type="course.created"):
    course_name: str
store.append(CourseCreated(course_name="Algebra"))
result = store.read(CourseCreated.to_conditions(course_name="Algebra"))
store.append(CourseCreated(course_name="History"), guard=result.guard)
print(repr(result.messages[0]))
"""


def run(*command: object, cwd: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    words = [str(part) for part in command]
    done = subprocess.run(words, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT, cwd=folder)
    return next(folder.glob("*.whl"))


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names if "dist-info" not in name} == {"ccc_django"}
    assert {
        "ccc_django/py.typed",
        "ccc_django/migrations/0001_messages.py",
        "ccc_django/sql/sqlite/head.sql",
        "ccc_django/templates/admin/ccc_django/confirm.html",
    } <= set(names)


def test_a_new_project_needs_only_installed_apps_and_migrate(wheel, tmp_path):
    run(sys.executable, "-m", "venv", tmp_path / "venv", cwd=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", wheel, cwd=tmp_path)
    installed = run(python, "-m", "pip", "list", "--format=freeze", "--disable-pip-version-check", cwd=tmp_path).lower()
    for extra in ("psycopg", "djangorestframework", "django-admin-interface", "pyspark", "rich", "factory"):
        assert extra not in installed
    run(python, "-m", "django", "startproject", "empty", tmp_path, cwd=tmp_path)
    settings = tmp_path / "empty" / "settings.py"
    settings.write_text(settings.read_text().replace("INSTALLED_APPS = [", "INSTALLED_APPS = ['ccc_django',"))
    run(python, "manage.py", "migrate", "--verbosity", "0", cwd=tmp_path)
    assert run(python, "manage.py", "shell", "-c", PROGRAM, cwd=tmp_path).endswith(
        "CourseCreated(course_name='Algebra')\n"
    )
