"""The tests that the documentation shows are tests, and pass in a project of their own."""

import re
import subprocess
import sys

import pytest

from tests.project.test_docs import code_blocks
from tests.testing.projects import ROOT, environment, make

pytestmark = pytest.mark.django_db(transaction=True)  # the project has a database of its own; this chooses which

PAGE = ROOT / "docs/how-to/test-your-consumers.md"
CARELESS = """

def test_that_fails():
    given().when(submit).then(FeedbackReceived(submission_id="s1", text="I loved it."))
"""


def test_the_page_and_what_it_says_of_a_failure(tmp_path):
    make(tmp_path, "\n".join(code_blocks(PAGE)) + CARELESS)
    options = ["-p", "no:ccc_django", "-p", "ccc_django.testing.plugin", "-p", "no:cacheprovider", "-q"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "portal/tests.py"],
        cwd=tmp_path,
        env=environment(tmp_path),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert re.search(r"\n1 failed, 5 passed in", done.stdout), done.stdout + done.stderr
    shown = "\n".join(line[2:].lstrip() for line in done.stdout.splitlines() if line.startswith("E  "))
    [documented] = re.findall(r"```text\n(.*?)\n```", PAGE.read_text(), flags=re.DOTALL)
    assert [*map(str.strip, documented.splitlines())] == [*map(str.strip, shown.splitlines())]
