"""Optional packages: named when they are needed, not needed otherwise."""

import sys
import tomllib
from pathlib import Path

import pytest

from ccc_django import extras
from ccc_django.errors import ExtraMissing

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


def test_a_missing_package_names_the_extra_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "rest_framework", None)
    with pytest.raises(ExtraMissing, match=r'rest_framework is not installed. Run: pip install "ccc-django\[api\]"'):
        extras.require("rest_framework")


def test_a_package_that_is_there_is_given():
    assert extras.require("psycopg").__name__ == "psycopg"
    assert extras.is_installed("psycopg")
    assert not extras.is_installed("no_such_package")


def test_the_core_needs_two_packages():
    assert [requirement.split(">")[0] for requirement in PROJECT["dependencies"]] == ["Django", "pydantic"]


def test_every_extra_that_we_name_exists():
    offered = set(PROJECT["optional-dependencies"])
    assert set(extras.EXTRA_OF.values()) <= offered
    assert offered >= {"postgres", "api", "admin", "spark", "cli", "test", "all"}
