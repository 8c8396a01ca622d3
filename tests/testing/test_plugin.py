"""The pytest plugin, in a project of its own: no test remembers another, and what a test begins it finishes."""

import tomllib

import pytest

from tests.testing.projects import ROOT, environment, make

pytestmark = pytest.mark.django_db(transaction=True)  # the project has a database of its own; this chooses which

HEAD = """
import pytest
from django.test import TestCase

from ccc_django import consumers, groups, store
from ccc_django.consumers import declaring
from ccc_django.groups import looking
from ccc_django.testing import assert_appended, drain, given
from portal.consumers import AlreadyIn, Enrolment, Join, Joined, Roster

JOIN = dict(course_name="Algebra", user_id="joe")

"""


@pytest.fixture
def outcome(pytester, monkeypatch):
    """Run tests of a project under pytest, in another process."""

    def run(tests: str, *arguments: str) -> pytest.RunResult:
        make(pytester.path, HEAD + tests)
        for name, value in environment(pytester.path).items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("CCC_TEST_FOLDER", raising=False)
        plugins = ["-p", "no:ccc_django", "-p", "ccc_django.testing.plugin", "-p", "no:randomly"]
        return pytester.runpytest_subprocess(*plugins, *arguments, "portal/tests.py")

    return run


def test_helpers_and_fixtures_work_in_both_styles(outcome):
    outcome(
        """
def test_pure():
    given().when(Join(**JOIN)).then(Joined(**JOIN))


@pytest.mark.django_db
def test_in_a_transaction():
    store.append(Join(**JOIN))
    with assert_appended(Joined(**JOIN)):
        drain()


@pytest.mark.django_db(transaction=True)
def test_committing(ccc_drain):
    store.append(Join(**JOIN))
    assert ccc_drain("enrolment").handled == {"enrolment": 1}


def test_the_fixture_opens_the_database(ccc_drain):
    store.append(Join(**JOIN))
    assert ccc_drain().handled == {"enrolment": 1, "mailer": 1, "roster": 1}


@pytest.mark.usefixtures("ccc_frozen_log")
def test_frozen(db):
    assert list(store.stream()) == []


@pytest.mark.usefixtures("ccc_frozen_log")
def test_frozen_and_swallowed(db):
    try:
        consumers.handle(Join(**JOIN))
    except AssertionError:
        pass


class InAClass(TestCase):
    def test_drain(self):
        store.append(Join(**JOIN))
        with assert_appended(Joined(**JOIN)):
            drain()
"""
    ).assert_outcomes(passed=7, errors=1)  # of the one that has swallowed the error


def test_what_is_begun_and_not_checked_fails(outcome):
    result = outcome(
        """
def test_scenario_without_then():
    given(Joined(**JOIN)).when(Join(**JOIN))


def test_given_alone():
    given(Joined(**JOIN))


@pytest.mark.django_db
def test_assertion_without_block():
    assert_appended(Joined)


def test_the_next_one_is_not_to_blame():
    given().when(Join(**JOIN)).then(Joined)


def test_one_that_fails_shows_why_it_fails():
    given(Joined(**JOIN))
    assert 1 == 2


class InAClass(TestCase):
    def test_scenario_without_then(self):
        given(Joined(**JOIN)).when(Join(**JOIN))

    def test_the_next_one_is_not_to_blame(self):
        given().when(Join(**JOIN)).then(Joined)
"""
    )
    result.assert_outcomes(passed=2, failed=5)
    text = result.stdout.str()
    result.stdout.fnmatch_lines(["*test_one_that_fails_shows_why_it_fails - assert 1 == 2*"])
    result.stdout.fnmatch_lines(["*given(Joined(course_name='Algebra', user_id='joe')), which goes on with .when(…)*"])
    result.stdout.fnmatch_lines(["*assert_appended(Joined(…)), which needs a block: with assert_appended(…):*"])
    assert text.count("\nThis test has checked nothing by:\n") == 3, "without a traceback that leads nowhere"


def test_no_test_remembers_another(outcome):
    outcome(
        """
@pytest.mark.parametrize("number", range(3))
@pytest.mark.django_db
def test_nothing_is_known_at_first(number, django_capture_on_commit_callbacks):
    assert (looking._looks, declaring._declared) == ({}, set())
    with django_capture_on_commit_callbacks(execute=True):
        consumers.handle(Join(**JOIN))
        drain()
    assert looking._looks and declaring._declared
"""
    ).assert_outcomes(passed=3)


def test_it_can_be_left_out(outcome):
    result = outcome("def test_pure():\n    given(Joined(**JOIN))\n", "-p", "no:ccc_django.testing.plugin")
    result.assert_outcomes(passed=1)


def test_it_needs_no_django_that_is_set_up(pytester):
    """Plugins are imported before anything of a project is."""
    pytester.makepyfile(
        """
        from django.apps import apps

        def test_nothing():
            assert not apps.models_ready
        """
    )
    plugins = ["-p", "no:ccc_django", "-p", "ccc_django.testing.plugin", "-p", "no:django", "-p", "no:randomly"]
    pytester.runpytest_subprocess(*plugins).assert_outcomes(passed=1)


def test_pytest_finds_it_where_we_are_installed(pytester, monkeypatch):
    """By what our package says of itself, and before anything of a project is imported."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    [(name, module)] = project["entry-points"]["pytest11"].items()
    make(pytester.path, HEAD + "def test_pure():\n    given(Joined(**JOIN))\n")
    installed = pytester.mkdir("ccc_django_as_installed-1.dist-info")
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: ccc-django-as-installed\nVersion: 1\n")
    (installed / "entry_points.txt").write_text(f"[pytest11]\n{name} = {module}\n")
    for variable, value in environment(pytester.path).items():
        monkeypatch.setenv(variable, value)
    monkeypatch.delenv("CCC_TEST_FOLDER", raising=False)
    result = pytester.runpytest_subprocess("-p", "no:randomly", "portal/tests.py")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["This test has checked nothing by:"])
    pytester.runpytest_subprocess("-p", f"no:{name}", "portal/tests.py").assert_outcomes(passed=1)
