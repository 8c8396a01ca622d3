"""The shape of the project, which newcomers rely on."""

import ast
import re
from pathlib import Path

import pytest
from django.apps import apps
from django.utils.functional import Promise

ROOT = Path(__file__).parents[2]
MODULES = [path for path in sorted(ROOT.glob("ccc_django/**/*.py")) if "migrations" not in path.parts]
TOP_LEVEL = {
    ".ci", ".gitignore", "CHANGELOG.md", "LICENSE", "Makefile", "README.md", "benchmarks", "ccc_django", "docs",
    "example_project", "pyproject.toml", "tests",
}  # fmt: skip
MADE = r"\.git|\.venv|\.coverage.*|\.hypothesis|\..*_cache|__pycache__|build|dist|.*\.egg-info"


def test_the_top_level_is_what_was_asked_for():
    there = {path.name for path in ROOT.iterdir() if not re.fullmatch(MADE, path.name)}
    assert there == TOP_LEVEL


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_begins_with_its_promise_and_stays_small(path):
    tree = ast.parse(path.read_text())
    assert ast.get_docstring(tree), "the first line tells what the module is for"
    assert len(path.read_text().splitlines()) <= 300


def test_what_users_see_is_translatable():
    for model in apps.get_app_config("ccc_django").get_models():
        words = [model._meta.verbose_name, model._meta.verbose_name_plural]
        words += [field.verbose_name for field in model._meta.fields if field.name != "pk"]
        words += [field.help_text for field in model._meta.fields if field.help_text]
        assert all(isinstance(word, Promise) for word in words), model


def test_every_table_has_an_explicit_name():
    for model in apps.get_app_config("ccc_django").get_models():
        assert "db_table" in model._meta.original_attrs
        assert model._meta.db_table.startswith("ccc_")
