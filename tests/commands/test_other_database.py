"""Every command works where the log is in a database of its own, and leaves the other one alone."""

import json

import pytest

from ccc_django.models import ConsumerGroup, StoredMessage
from tests.commands.driving import in_pipe

pytestmark = pytest.mark.django_db(transaction=True)

APPEND = """
from ccc_django import store
from tests.worker_app.consumers import Do, Worked
print(store.append([Worked(course_name="c", user_id="u"), Do(course_name="c")])[-1].position)
"""


def test_every_command_reads_and_writes_where_the_log_is(tmp_path):
    given = {"CCC_TEST_LOG": str(tmp_path / "log.sqlite3")}

    def run(*arguments: str, **more: str) -> str:
        done = in_pipe(*arguments, **given, **more)
        assert done.code == 0, done.err
        return done.out

    run("migrate", "--database", "log", "--verbosity", "0")
    command = run("shell", "--verbosity", "0", "-c", APPEND).strip()
    groups = ["--group", "quiet", "--group", "deciding", "--group", "tally"]
    assert json.loads(run("consume", *groups, "--until-empty", "--json"))["handled"] == 3
    seen = {group["name"]: group["lag"] for group in json.loads(run("ccc_groups", "--json"))}
    assert seen == {"quiet": 0, "deciding": 0, "tally": 0}
    lines = [json.loads(line)["type"] for line in run("ccc_tail", "--json").splitlines()]
    assert lines == ["worked", "do", "done"]
    assert json.loads(run("ccc_trace", command, "--json"))["messages"] == 2
    assert run("ccc_health") == "All is well.\n"
    run("ccc_indexes", "declare", "number")
    assert json.loads(run("ccc_indexes", "list", "--json"))[0]["coverage"] == 1.0
    assert json.loads(run("ccc_projections", "list", "--json"))[0]["partitions"] == 1
    run("ccc_sweep")
    run("ccc_groups", "quiet", "--reset", "--yes")
    run("consume", "--group", "singles", "--until-empty", CCC_TEST_POISON="u", CCC_TEST_ATTEMPTS="1")
    assert len(json.loads(run("ccc_dead_letters", "--json"))) == 1
    assert "1 to be delivered" in run("ccc_dead_letters", "replay", "--all", "--yes")
    run("ccc_bench", "--with-messages", "--yes", "--seconds", "0.1", "--clients", "1")
    assert not StoredMessage.objects.exists()
    assert not ConsumerGroup.objects.exists()
