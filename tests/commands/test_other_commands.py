"""consume, ccc_indexes, ccc_projections and ccc_sweep, in a terminal and in a pipe, with every command's manners."""

import json
import re
import subprocess

import pytest
from django.db import connections
from django.utils import timezone

from ccc_django import indexes, store
from ccc_django.models import ScheduledMessage
from tests.commands.driving import MORE, ROOT, command_line, example, in_pipe, in_terminal
from tests.flow.test_health import NOWHERE
from tests.worker.running import environment
from tests.worker_app.consumers import Worked

pytestmark = pytest.mark.django_db(transaction=True)

CALLS = {
    "ccc_health": [],
    "ccc_indexes": [],
    "ccc_projections": [],
    "ccc_sweep": ["-v", "2"],
    "consume": ["--until-empty", "--no-reload"],
}


@pytest.fixture
def works():
    """Six messages about three users."""
    store.append([Worked(course_name="Algebra", user_id=f"u{number % 3}") for number in range(6)])


@pytest.mark.parametrize("name", CALLS)
def test_help_shows_examples(name):
    ran = in_pipe(name, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert f"Examples:\n  manage.py {name}" in ran.out


@pytest.mark.parametrize("name", CALLS)
def test_a_reader_that_goes_away_ends_a_command_quietly(works, name):
    connections.close_all()
    process = subprocess.Popen(
        command_line(name, *CALLS[name]),
        env=environment(**MORE, PYTHONUNBUFFERED=""),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    err = process.stderr.read()
    process.stderr.close()
    assert process.wait(30) == 0, err
    assert "BrokenPipe" not in err


@pytest.mark.parametrize("name", CALLS)
def test_a_database_that_is_gone_is_a_line(name):
    ran = in_pipe(name, *CALLS[name], CCC_WORKER_DATABASE=NOWHERE)
    assert (ran.code, ran.out) == (1, "")
    assert "The database cannot be used, or is not migrated" in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    "call",
    [
        ["ccc_indexes", "mend"],
        ["ccc_projections", "drop", "x"],
        ["ccc_sweep", "--every", "x"],
        ["consume", "--processes", "0"],
    ],
)
def test_a_call_that_cannot_be_understood_ends_with_2(call):
    ran = in_pipe(*call)
    assert (ran.code, ran.out) == (2, "")
    assert "error: " in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (["ccc_indexes", "drop", "nothing"], "nothing"),
        (["ccc_projections", "switch", "tally", "--to", "9"], "has no version 9"),
        (["consume", "--group", "nobody"], "Declared are: batches, deciding, quiet, singles, tally"),
    ],
)
def test_what_is_refused_is_a_line_and_exit_code_1(works, call, said):
    ran = in_pipe(*call)
    assert (ran.code, ran.out) == (1, "")
    assert said in ran.err
    assert ran.err.count("\n") == 1


def test_indexes_in_a_pipe(works):
    assert in_pipe("ccc_indexes") == (0, "There are none.\n", "")
    ran = in_pipe("ccc_indexes", "declare", "course_name", "user_id")
    assert (ran.code, ran.err) == (0, "")
    ran = in_pipe("ccc_indexes", "declare", "user_id")
    assert ran.code == 0
    example("ccc_indexes", "ccc_indexes declare user_id", ran.out)
    found = json.loads(in_pipe("ccc_indexes", "--json").out)
    assert {row["kind"]: (row["entries"], row["values"]) for row in found} == {
        "payload": (6, 3),
        "payload_hash": (6, 3),
    }


def test_indexes_in_a_terminal(works):
    shown = in_terminal("ccc_indexes", "declare", "user_id")
    assert shown.code == 0
    assert "100%" in shown.out, "a bar"
    assert shown.out.endswith(in_pipe("ccc_indexes").out)
    assert in_terminal("ccc_indexes", "drop", "user_id").out.endswith("There are none.\n")
    assert indexes.overview() == []


def test_projections_in_a_pipe_and_in_a_terminal(works):
    in_pipe("consume", "--until-empty", "--no-reload", "--group", "tally")
    ran = in_pipe("ccc_projections")
    assert (ran.code, ran.err) == (0, "")
    example("ccc_projections", "ccc_projections", ran.out)
    assert in_terminal("ccc_projections") == (0, ran.out, "")
    [version] = json.loads(in_pipe("ccc_projections", "--json").out)
    assert (version["projection"], version["version"], version["partitions"]) == ("tally", 1, 3)
    assert in_pipe("ccc_projections", "rebuild", "tally", "--yes").code == 0
    [version] = json.loads(in_pipe("ccc_projections", "--json").out)
    assert version["lag"] >= 6


def test_a_sweep_says_nothing_unless_it_is_asked():
    store.schedule(Worked(course_name="Algebra", user_id="u"), at=timezone.now())
    assert in_pipe("ccc_sweep") == (0, "", "")
    assert not ScheduledMessage.objects.exists()
    assert json.loads(in_pipe("ccc_sweep", "--json").out)["next_in"] > 0
    ran = in_terminal("ccc_sweep", "-v", "2")
    assert ran.code == 0
    example("ccc_sweep", "ccc_sweep -v 2", re.sub(r"in [\d.]+ s", "in 5.0 s", ran.out))


def test_sweeps_in_a_terminal_go_on_until_ctrl_c():
    ran = in_terminal("ccc_sweep", "--every", "0.2", "-v", "2", until="Swept.")
    assert ran.code == 0
    assert "Traceback" not in ran.out
    assert re.search(r"Swept\. The next is due in 0\.[0-2] s\.", ran.out)


def test_consuming_ends_with_a_summary(works):
    ran = in_pipe("consume", "--until-empty", "--no-reload")
    assert ran.code == 0
    assert "\x1b" not in ran.out + ran.err, "no colours in a pipe"
    last = ran.out.splitlines()[-1]
    assert re.fullmatch(r"24 messages in [\d.]+ s \([\d,]+/s\)\. Ended: everything is done\.", last)
    example("consume", "consume --until-empty", re.sub(r"in [\d.]+ s \([\d,]+/s\)", "in 0.2 s (120/s)", ran.out))


def test_a_worker_in_a_terminal_stops_at_ctrl_c(works):
    ran = in_terminal("consume", "--no-reload", "--group", "quiet", until="consumes quiet")
    assert ran.code == 0
    assert "Ended: SIGINT." in ran.out
