"""manage.py ccc_health: an exit code and a line, in a terminal, in a pipe, and where there is no database."""

import json
import re
import shlex
import socket
import subprocess
from datetime import timedelta

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from ccc_django import groups, store
from ccc_django.models import ConsumerGroup, Worker
from tests.commands.driving import MORE, ROOT, command_line, example, in_pipe, in_terminal
from tests.concurrency.processes import fork, in_background
from tests.concurrency.test_head import append_and_wait
from tests.flow.test_health import NOWHERE
from tests.worker.running import environment, eventually, worker
from tests.worker_app.consumers import Worked

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def behind():
    """A group that nobody works for."""
    store.append([Worked(course_name="Algebra", user_id=f"u{number}") for number in range(5)])
    groups.register("quiet", partition_by=["user_id"], handled_types=[Worked])


def add_worker(name: str, *, silent_for: float = 0) -> None:
    beaten_at = timezone.now() - timedelta(seconds=silent_for)
    Worker.objects.create(name=name, host="app-1", pid=7, groups=["quiet"], beaten_at=beaten_at)


def test_all_is_well_in_a_terminal_and_in_a_pipe(behind):
    shown = in_terminal("ccc_health")
    assert (shown.code, shown.out) == (0, "All is well.\n")
    piped = in_pipe("ccc_health")
    assert piped == (0, "All is well.\n", "")
    example("ccc_health", "ccc_health", piped.out)


def test_what_is_past_its_limit_is_one_line_and_exit_code_1(behind):
    add_worker("app-1-7-4f1c2d", silent_for=3600)
    limits = ["--max-lag", "3", "--workers", "2"]
    shown, piped = in_terminal("ccc_health", *limits), in_pipe("ccc_health", *limits)
    assert (shown.code, piped.code, piped.out) == (1, 1, "")
    assert shown.out == piped.err
    lag = groups.status("quiet").lag
    assert piped.err == (
        f"quiet: a lag of {lag:,} is more than 3. Workers are 0, fewer than 2. Gone without a word: app-1-7-4f1c2d.\n"
    )
    example(
        "ccc_health_unhealthy", f"ccc_health {' '.join(limits)}", piped.err.replace(f"a lag of {lag:,}", "a lag of 5")
    )


def test_every_limit_can_be_given(behind):
    assert in_pipe("ccc_health", "--max-age", "0").code == 1
    assert in_pipe("ccc_health", "--max-age", "inf", "--max-lag", "1000000", "--max-failures", "0").code == 0
    add_worker("gone", silent_for=3600)
    assert in_pipe("ccc_health", "--max-gone", "1").code == 0
    groups.stop("quiet")
    assert in_pipe("ccc_health", "--max-gone", "1", "--max-lag", "0").code == 0
    assert "quiet is stopped." in in_pipe("ccc_health", "--stopped").err
    ConsumerGroup.objects.update(status="failed")
    assert in_pipe("ccc_health", "--max-gone", "1", "--group", "quiet").err == "quiet has failed.\n"


def test_json_tells_what_was_looked_at(behind):
    add_worker("app-1-7-4f1c2d")
    piped = in_pipe("ccc_health", "--json", "--max-lag", "3", "--workers", "1", CCC_TEST_BEAT_EVERY="100")
    assert (piped.code, piped.err) == (1, "")
    found = json.loads(piped.out)
    assert found["is_healthy"] is False
    lag = groups.status("quiet").lag
    assert found["reasons"] == [f"quiet: a lag of {lag:,} is more than 3."]
    assert [group["name"] for group in found["groups"]] == ["quiet"]
    assert [each["name"] for each in found["workers"]] == ["app-1-7-4f1c2d"]
    assert found["head_holders"] == []
    text = piped.out.replace(f"a lag of {lag:,}", "a lag of 5").replace(f'"lag": {lag}', '"lag": 5')
    text = re.sub(r'"oldest_age": [\d.]+', '"oldest_age": 12.3', text)
    text = re.sub(r'"beaten_at": "[^"]+"', '"beaten_at": "2026-03-02T09:30:00Z"', text)
    example("ccc_health_json", "ccc_health --json --max-lag 3 --workers 1", text)


def test_a_database_that_is_gone_is_a_line_and_no_traceback():
    for ran in (
        in_pipe("ccc_health", CCC_WORKER_DATABASE=NOWHERE),
        in_terminal("ccc_health", CCC_WORKER_DATABASE=NOWHERE),
    ):
        assert ran.code == 1
        said = ran.err or ran.out
        assert said.startswith("The database cannot be used, or is not migrated. (")
        assert said.count("\n") == 1
    piped = in_pipe("ccc_health", "--json", CCC_WORKER_DATABASE=NOWHERE)
    assert (piped.code, json.loads(piped.out)["is_healthy"]) == (1, False)


def test_a_call_that_cannot_be_understood_ends_with_2(behind):
    for wrong in (["--max-lag", "-1"], ["--max-age", "nan"], ["--workers", "many"], ["--here", "--group", "quiet"]):
        ran = in_pipe("ccc_health", *wrong)
        assert (ran.code, ran.out) == (2, "")
        assert "ccc_health: error: " in ran.err
        assert "Traceback" not in ran.err
    ran = in_pipe("ccc_health", "--group", "nobody")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("There is no consumer group 'nobody'")


def test_a_workers_container_asks_for_a_worker_of_its_own():
    ran = in_pipe("ccc_health", "--here")
    assert (ran.code, ran.err) == (1, f"Workers on {socket.gethostname()} are 0, fewer than 1.\n")
    with worker("--group", "quiet", CCC_TEST_BEAT_EVERY="5"):
        eventually(Worker.objects.exists)
        assert in_pipe("ccc_health", "--here", CCC_TEST_BEAT_EVERY="60").code == 0


@pytest.mark.postgres
def test_an_append_that_stays_open_is_named():
    here, there = fork.Pipe()
    with in_background(append_and_wait, there, 120):
        assert here.poll(20)
        ran = in_pipe("ccc_health", "--max-head-held", "0")
        assert in_pipe("ccc_health").code == 0, "it is not open for a minute yet"
    assert ran.code == 1
    assert re.fullmatch(
        r"The head is held back at [\d,]+ for \d+ s, longer than 0 s, by process \d+( \(.*\))?\.\n", ran.err
    )


def test_help_shows_how_it_is_called():
    ran = in_pipe("ccc_health", "--help")
    assert ran.code == 0
    assert "manage.py ccc_health --max-age 900 --workers 2" in ran.out


def test_limits_of_the_project_that_cannot_be_understood_are_a_line(settings):
    settings.CCC_HEALTH = {"lagg": 1}
    with pytest.raises(CommandError, match="CCC_HEALTH cannot be understood: lagg"):
        call_command("ccc_health")


def test_a_reader_that_has_gone_changes_no_exit_code():
    line = shlex.join(command_line("ccc_health", "--json", "--workers", "5"))
    env = environment(**MORE) | {"PYTHONUNBUFFERED": ""}
    shell = f"{line} | true; exit ${{PIPESTATUS[0]}}"
    assert subprocess.run(["bash", "-c", shell], env=env, cwd=ROOT, check=False, capture_output=True).returncode == 1
