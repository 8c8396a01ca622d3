"""ccc_trace: a trace as a tree in the terminal, and as JSON."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from ccc_django import groups, store
from ccc_django.management.pictures import since
from tests.commands.driving import example, in_pipe, in_terminal
from tests.domain import TermStarted
from tests.worker.running import run
from tests.worker_app.consumers import Announced, Do, Done, Worked

pytestmark = pytest.mark.django_db(transaction=True)

LATER = datetime(2030, 1, 1, tzinfo=UTC)


@pytest.fixture
def log():
    """A command that a real worker has decided, what followed, somebody who failed, and something to come."""
    [command] = store.append(Do(course_name="Algebra"))
    run("--group", "deciding", "--until-empty")
    [done] = store.stream(type=Done)
    [poison] = store.append(done.correlate(Worked(course_name="Algebra", user_id="eve")))
    [good] = store.append(done.correlate(Worked(course_name="Algebra", user_id="joe")))
    store.append(poison.correlate(Announced(course_name="Algebra")).with_metadata(consumer="news desk"))
    store.schedule(good.correlate(Do(course_name="History")), at=LATER)
    run("--group", "singles", "--until-empty", CCC_TEST_POISON="eve", CCC_TEST_ATTEMPTS="1")
    groups.register("quiet", partition_by=["user_id"], handled_types=["worked"])
    return command


def stable(text: str, first: int) -> str:
    """Positions, times and pauses as they are in the documentation."""
    text = re.sub(r"@(\d+)", lambda found: f"@{int(found[1]) - first + 41}", text)
    text = re.sub(r"20[012]\d-\d\d-\d\d \d\d:\d\d:\d\d", "2026-01-31 12:00:00", text)
    return re.sub(r"\+\d[\d.]* (ms|s|min \d+ s)", "+12 ms", text)


def test_a_trace_in_a_pipe(log):
    ran = in_pipe("ccc_trace", str(log.id))
    assert (ran.code, ran.err) == (0, "")
    assert "\x1b" not in ran.out
    shown = stable(ran.out, log.position)
    assert shown.splitlines()[:2] == [
        "do @41  2026-01-31 12:00:00  -> deciding done",
        "└── done @42  +12 ms  by deciding",
    ]
    assert "singles dead letter (ValueError: this one is poison)" in shown
    assert "due 2030-01-01 00:00:00" in shown
    example("ccc_trace", "ccc_trace 41", shown)


def test_a_trace_in_a_terminal_is_the_same_in_colours(log):
    ran = in_terminal("ccc_trace", str(log.position), "--no-color")
    assert ran.code == 0
    plain = in_pipe("ccc_trace", str(log.position)).out
    assert ran.out == plain
    assert in_terminal("ccc_trace", str(log.position)).out == plain, "colours are all that differs"
    assert "\x1b[" in in_pipe("ccc_trace", str(log.position), "--force-color").out


def test_another_message_of_the_trace_is_marked(log):
    [done] = store.stream(type=Done)
    lines = in_pipe("ccc_trace", str(done.id)[:-2]).out.splitlines()
    assert [line for line in lines if "(asked for)" in line] == [lines[1]]


def test_an_output_that_has_no_lines_gets_other_ones(log):
    ran = in_pipe("ccc_trace", str(log.id), PYTHONIOENCODING="ascii")
    assert ran.code == 0
    assert ran.out.isascii()
    assert "`-- done" in ran.out
    assert "    |-- worked" in ran.out


def test_payloads_are_shown_if_they_are_wanted(log):
    assert 'user_id="eve"' not in in_pipe("ccc_trace", str(log.id)).out
    assert 'user_id="eve"' in in_pipe("ccc_trace", str(log.id), "--payload").out


def test_of_a_message_without_a_class_only_names_are_shown():
    from tests.domain import UserRegistered  # noqa: PLC0415 - the command does not know it

    [stored] = store.append(UserRegistered(user_id="joe", name="Joe"))
    for form in (["--payload"], ["--json"]):
        assert "Joe" not in in_pipe("ccc_trace", str(stored.position), *form).out
        assert "Joe" in in_pipe("ccc_trace", str(stored.position), "--reveal", *form).out


def test_json_is_nested(log):
    found = json.loads(in_pipe("ccc_trace", str(log.id), "--json").out)
    assert (found["messages"], found["left_out"], found["correlation_id"]) == (6, 0, str(log.id))
    root = found["root"]
    assert (root["id"], root["is_asked"], root["after"]) == (str(log.id), True, 0.0)
    [done] = root["children"]
    assert (done["type"], done["by"], done["payload"]) == ("done", "deciding", {"course_name": "Algebra", "number": 1})
    poison, good = done["children"]
    assert {each["group"]: each["status"] for each in poison["handled"]} == {"singles": "dead letter", "quiet": "open"}
    assert {each["group"]: each["status"] for each in good["handled"]} == {"singles": "done", "quiet": "open"}
    assert [child["due_at"] for child in good["children"]] == ["2030-01-01T00:00:00Z"]
    assert [child["by"] for child in poison["children"]] == ["news desk"]


def test_a_chain_deeper_than_python_goes_is_drawn_and_written():
    messages = [TermStarted()]
    while len(messages) < 2_000:
        messages.append(messages[-1].correlate(TermStarted()))
    [first, *_] = store.append(messages)
    assert len(in_pipe("ccc_trace", str(first.id), "--limit", "2000").out.splitlines()) == 2_000
    ran = in_pipe("ccc_trace", str(first.id), "--limit", "2000", "--json")
    assert ran.code == 0
    assert ran.out.count('"children": [') == 2_000
    assert ran.out.rstrip().endswith("]}" * 2_000 + "}")


def test_what_the_limit_leaves_out_is_said():
    root = TermStarted()
    store.append([root, *(root.correlate(TermStarted()) for _ in range(9))])
    lines = in_pipe("ccc_trace", str(root.id), "--limit", "4").out.splitlines()
    assert len(lines) == 5
    assert lines[-1] == "6 more messages are left out: --limit 10 shows them."


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["joe"], 1, "neither an id, nor the beginning of one, nor a position"),
        (["999999999"], 1, "There is no message 999999999"),
        (["0"], 1, "begins the ids of several messages"),
        (["1", "--limit", "0"], 1, "limit=0"),
        ([], 2, "MESSAGE"),
        (["1", "--limit", "x"], 2, "a number from 0 on"),
    ],
)
def test_what_cannot_be_traced_is_said_in_a_line(arguments, code, said):
    store.append([TermStarted(), TermStarted()])
    ran = in_pipe("ccc_trace", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_orphans_are_marked():
    root, gone = TermStarted(), TermStarted()
    store.append([root, Worked(course_name="a", user_id="joe", correlation_id=root.id, causation_id=gone.id)])
    [_, orphan] = in_pipe("ccc_trace", str(root.id)).out.splitlines()
    assert orphan.startswith("└── worked")
    assert orphan.endswith("(its cause is gone)")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "+0 ms"),
        (0.0124, "+12 ms"),
        (-0.5, "-500 ms"),
        (3.21, "+3.2 s"),
        (250, "+4 min 10 s"),
        (11_100, "+3 h 5 min"),
        (183_600, "+2 d 3 h"),
    ],
)
def test_durations_are_short(seconds, text):
    assert since(timedelta(seconds=seconds)) == text


def test_help_shows_examples():
    ran = in_pipe("ccc_trace", "--help")
    assert ran.code == 0
    assert "manage.py ccc_trace 42 --payload" in ran.out
