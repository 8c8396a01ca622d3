"""The helpers in plain ``manage.py test``: nothing has to be installed, called or derived from."""

import re

import pytest

from tests.testing.projects import make, run

pytestmark = pytest.mark.django_db(transaction=True)  # the project has a database of its own; this chooses which

HEAD = """
from django.test import SimpleTestCase, TestCase, TransactionTestCase

from ccc_django import consumers, groups, store
from ccc_django.consumers import projections
from ccc_django.testing import (
    assert_appended, assert_nothing_appended, clear, drain, freeze_log, given
)
from portal.consumers import AlreadyIn, Enrolment, Join, Joined, Roster, mails

JOIN = dict(course_name="Algebra", user_id="joe")

"""


def outcome(folder, tests: str) -> str:
    """What the test run says; its outcome is its last line."""
    make(folder, HEAD + tests)
    return run(folder, "django", "test", "--no-input", "portal").stderr


def test_helpers_work_in_every_kind_of_test_case(tmp_path):
    said = outcome(
        tmp_path,
        """
class Pure(SimpleTestCase):
    def test_scenario(self):
        given().when(Join(**JOIN)).then(Joined(**JOIN))
        given(Joined(**JOIN)).when(Join(**JOIN)).then_raises(AlreadyIn)
        given(Joined(**JOIN), consumer=Roster).when(Joined(**JOIN)).then_state(["joe", "joe"])


class Helpers:
    def test_drain(self):
        store.append(Join(**JOIN))
        with assert_appended(Joined(**JOIN)):
            drained = drain()
        self.assertEqual(drained.handled, {"enrolment": 1, "roster": 1, "mailer": 1})
        self.assertEqual(projections.state("roster", course_name="Algebra"), ["joe"])
        with assert_nothing_appended():
            self.assertEqual(drain().handled, {})

    def test_handle(self):
        with assert_appended(Join, Joined):
            consumers.handle(Join(**JOIN))

    def test_freeze(self):
        with self.assertRaisesMessage(AssertionError, "The log is frozen"), freeze_log():
            store.append(Join(**JOIN))

    def test_clear(self):
        store.append(Join(**JOIN))
        clear()
        self.assertEqual(store.append(Join(**JOIN))[0].position, 1)


class InATransaction(Helpers, TestCase):
    def test_mails(self):
        store.append(Join(**JOIN))
        with self.captureOnCommitCallbacks(execute=True):
            drain()
        self.assertEqual(mails.pop(), "joe")


class Committing(Helpers, TransactionTestCase):
    def test_mails(self):
        store.append(Join(**JOIN))
        drain()
        self.assertEqual(mails.pop(), "joe")


class WithFirstPositions(Helpers, TransactionTestCase):
    reset_sequences = True
""",
    )
    assert re.search(r"Ran 15 tests in .*\n\nOK\n", said), said


def test_no_test_remembers_what_another_has_rolled_back(tmp_path):
    """A process remembers where it has found work, and which groups are declared: of tests that never were."""
    body = "\n".join(
        f"    def test_{number}(self):\n        self.do()\n    def test_{number}_committed(self):\n        self.do()"
        for number in range(4)
    )
    said = outcome(
        tmp_path,
        f"""
class Claims(TestCase):
    @classmethod
    def setUpTestData(cls):
        groups.register("g", partition_by="user_id", handled_types=[Joined])
        store.append([Joined(course_name="Algebra", user_id=user) for user in "abcd"])
        while groups.advance("g"):
            pass

    def do(self):
        got = []
        while claim := groups.claim_next("g", worker="w"):
            got.append(claim.partition_value["user_id"])
            groups.ack(claim)
        self.assertEqual(got, ["a", "b", "c", "d"])

{body}


class Drains(TestCase):
    @classmethod
    def setUpTestData(cls):
        store.append([Join(course_name="Algebra", user_id=user) for user in "ab"])

    def do(self):
        with self.captureOnCommitCallbacks(execute=True):
            self.assertEqual(drain().handled, {{"enrolment": 2, "roster": 2, "mailer": 2}})
        self.assertEqual(projections.state("roster", course_name="Algebra"), ["a", "b"])

{body}


class Handles(TestCase):
    def do(self):
        with self.captureOnCommitCallbacks(execute=True):
            [joined] = consumers.handle(Join(**JOIN))
        self.assertEqual(joined.user_id, "joe")
        self.assertEqual(drain().handled, {{"roster": 1, "mailer": 1}})

{body}


class HandlesAndCommits(TransactionTestCase):
    reset_sequences = True

    def do(self):
        [joined] = consumers.handle(Join(**JOIN))
        self.assertEqual(joined.user_id, "joe")
        self.assertEqual(drain().handled, {{"roster": 1, "mailer": 1}})

{body}
""",
    )
    assert re.search(r"Ran 32 tests in .*\n\nOK\n", said), said


def test_what_is_begun_and_not_checked_fails(tmp_path):
    said = outcome(
        tmp_path,
        """
class Careless(TestCase):
    def test_scenario_without_then(self):
        given(Joined(**JOIN)).when(Join(**JOIN))

    def test_given_alone(self):
        given(Joined(**JOIN))

    def test_assertion_without_block(self):
        assert_appended(Joined)

    def test_the_next_one_is_not_to_blame(self):
        given().when(Join(**JOIN)).then(Joined)
""",
    )
    assert re.search(r"Ran 4 tests in .*\n\nFAILED \(failures=3\)\n", said), said
    assert said.count("AssertionError: This test has checked nothing by:") == 3
    assert "assert_appended(Joined(…)), which needs a block: with assert_appended(…):" in said
