"""ccc_tail: the log in a terminal and in a pipe, from a place on, filtered, and as it grows."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import connections, transaction
from django.utils import timezone

from ccc_django import registry, store
from tests.commands.driving import MORE, command_line, example, in_pipe, in_terminal
from tests.concurrency.processes import fork, in_background
from tests.domain import TermStarted
from tests.worker.running import ROOT, environment
from tests.worker_app.consumers import Announced, Do, Done, Worked

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def log():
    command = Do(course_name="Algebra")
    return store.append(
        [
            Worked(course_name="Algebra", user_id="joe"),
            Announced(course_name="Algebra", topic="news"),
            command,
            command.correlate(Done(course_name="Algebra", number=3)),
            Worked(course_name="Höhere Algebra", user_id="3"),
        ]
    )


SHOP = """
from dataclasses import dataclass
from typing import Annotated
from pydantic import BaseModel
from ccc_django import Event, Sensitive

class Card(BaseModel):
    holder: str
    number: Annotated[str, Sensitive]

@dataclass
class Contact:
    email: Annotated[str, Sensitive]

class Paid(Event, type="shop.paid"):
    amount: float
    secret: Annotated[str, Sensitive]
    cards: list[Card]
    by_name: dict[str, list[Card]] = {}
    contact: Contact | None = None
"""


@pytest.fixture
def shop(tmp_path, monkeypatch):
    """An app of its own, with a message that has sensitive fields; what a command needs to know it."""
    (tmp_path / "paying_app").mkdir()
    (tmp_path / "paying_app/__init__.py").touch()
    (tmp_path / "paying_app/messages.py").write_text(SHOP)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_classes", {**registry._classes})
    monkeypatch.delitem(sys.modules, "paying_app.messages", raising=False)
    from paying_app.messages import Card, Contact, Paid  # noqa: PLC0415 - made above

    card = Card(holder="joe", number="4111")
    contact = Contact(email="joe@4111.example")
    store.append(Paid(amount=10, secret="geheim", cards=[card], by_name={"joe": [card]}, contact=contact))
    return {"EXTRA_PATH": str(tmp_path), "CCC_TEST_APP": "paying_app"}


def positions(*arguments: str, **more: str) -> list[int]:
    ran = in_pipe("ccc_tail", "--json", *arguments, **more)
    assert ran.code == 0, ran.err
    return [json.loads(line)["position"] for line in ran.out.splitlines()]


def at(log, *numbers: int) -> list[int]:
    return [log[number].position for number in numbers]


def without_times(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}", "2026-01-31 12:00:00.000", text)


def test_a_pipe_gets_the_last_messages_and_an_end(log):
    ran = in_pipe("ccc_tail")
    assert (ran.code, ran.err) == (0, "")
    assert "\x1b" not in ran.out
    lines = ran.out.splitlines()
    assert len(lines) == 5
    assert re.fullmatch(rf' +{log[0].position}  [-\d]+ [:.\d]+  worked  course_name="Algebra" user_id="joe"', lines[0])
    local = timezone.localtime(log[0].envelope.appended_at)
    assert f"{local:%Y-%m-%d %H:%M:%S}." in lines[0]
    first = log[0].position
    shown = re.sub(r"(?m)^ +(\d+)", lambda found: f"{int(found[1]) - first + 41:>8}", without_times(ran.out))
    example("ccc_tail", "ccc_tail", shown)


def test_only_the_last_ten_if_nothing_else_is_said():
    stored = store.append([TermStarted() for _ in range(15)])
    assert positions() == [message.position for message in stored[5:]]
    assert positions("--last", "2") == at(stored, 13, 14)
    assert positions("--last", "0") == []


def test_from_a_place_on(log):
    assert positions("--from", "beginning") == at(log, 0, 1, 2, 3, 4)
    assert positions("--from", str(log[3].position)) == at(log, 3, 4)
    now = timezone.now()
    assert positions("--from", (now - timedelta(hours=1)).isoformat()) == at(log, 0, 1, 2, 3, 4)
    assert positions("--from", (now + timedelta(hours=1)).isoformat()) == []
    local = timezone.localtime(now + timedelta(minutes=30)).replace(tzinfo=None)
    assert positions("--from", local.isoformat()) == [], "a time without a zone is the project's"
    assert positions("--from", (local - timedelta(hours=1)).isoformat()) == at(log, 0, 1, 2, 3, 4)
    assert positions("--from", "beginning", "--limit", "2") == at(log, 0, 1)


def test_filters_must_all_be_met(log):
    assert positions("--type", "worked") == at(log, 0, 4)
    assert positions("--type", "worked", "--type", "do") == at(log, 0, 2, 4)
    assert positions("--topic", "news") == at(log, 1)
    assert positions("--correlation", str(log[2].id)) == at(log, 2, 3)
    assert positions("--attribute", "course_name=Algebra") == at(log, 0, 1, 2, 3)
    assert positions("--attribute", "course_name=Algebra", "--attribute", "user_id=joe") == at(log, 0)
    assert positions("--attribute", "course_name=Algebra", "--type", "do", "--last", "1") == at(log, 2)
    assert positions("--attribute", "course_name=Algebra", "--topic", "news") == at(log, 1)
    assert positions("--type", "nobody.knows") == []


def test_a_number_is_not_its_text(log):
    assert positions("--attribute", "number=3") == at(log, 3)
    assert positions("--attribute", 'number="3"') == []
    assert positions("--attribute", "user_id=3") == []
    assert positions("--attribute", 'user_id="3"') == at(log, 4)


def test_with_its_type_a_number_is_what_the_class_makes_of_it(shop):
    assert len(positions("--attribute", "amount=10", "--type", "shop.paid", **shop)) == 1
    assert len(positions("--attribute", "amount=10.0", **shop)) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--attribute", "weather=fine"], 1, 'Declare it: indexes.declare("payload", ["weather"])'),
        (["--attribute", "course_name=null"], 1, "nulls=True"),
        (["--attribute", "$tag=vip"], 1, "cannot be indexed"),
        (["--attribute", "course_name"], 2, "say name=value"),
        (["--attribute", "course_name=[1]"], 2, "a single value"),
        (["--from", "0"], 2, "a position from 1 on"),
        (["--from", "yesterday"], 2, "2026-01-31T12:00"),
        (["--from", "3", "--last", "2"], 2, "not allowed with"),
        (["--last", "-1"], 2, "a number from 0 on"),
        (["--limit", "many"], 2, "a number from 0 on"),
        (["--correlation", "xyz"], 2, "xyz"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(log, arguments, code, said):
    ran = in_pipe("ccc_tail", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_json_has_everything_of_the_envelope(log):
    ran = in_pipe("ccc_tail", "--json", "--type", "done")
    [line] = ran.out.splitlines()
    assert " " not in line
    found, message = json.loads(line), log[3]
    assert found["payload"] == {"course_name": "Algebra", "number": 3}
    assert (found["id"], found["causation_id"]) == (str(message.id), str(log[2].id))
    assert {*found} == {*message.envelope._fields, "payload"}


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_sensitive_fields_are_hidden_unless_revealed(shop, form):
    hidden = in_pipe("ccc_tail", *form, **shop).out
    assert "joe" in hidden
    assert "geheim" not in hidden
    assert "4111" not in hidden, "nor inside of another field"
    assert "…" in hidden or "\\u2026" in hidden
    revealed = in_pipe("ccc_tail", "--reveal", *form, **shop).out
    assert "geheim" in revealed
    assert "4111" in revealed


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_of_a_message_without_a_class_only_the_names_are_shown(shop, form):
    ran = in_pipe("ccc_tail", *form)
    assert "amount" in ran.out
    assert "joe" not in ran.out
    assert "geheim" not in ran.out
    if not form:
        assert "secret=…" in ran.out
        assert "(the project has no class for this type)" in ran.out
    assert "geheim" in in_pipe("ccc_tail", "--reveal", *form).out


def test_what_somebody_wrote_cannot_move_the_cursor_or_break_a_line():
    store.append(Worked(course_name="\x1b[31m\x9bred\nnext", user_id="joe"))
    ran = in_pipe("ccc_tail")
    assert len(ran.out.splitlines()) == 1
    assert "\x1b" not in ran.out
    assert "\x9b" not in ran.out


def test_an_output_without_umlauts_gets_escapes(log):
    ran = in_pipe("ccc_tail", PYTHONIOENCODING="ascii")
    assert ran.code == 0
    assert "H\\xf6here Algebra" in ran.out


def test_a_terminal_is_followed_until_ctrl_c(log):
    ran = in_terminal("ccc_tail", "--last", "2", until="Höhere")
    assert ran.code == 0, "whoever follows ends it by Ctrl-C"
    assert [line.split()[0] for line in ran.out.splitlines()[:2]] == [str(each) for each in at(log, 3, 4)]


def test_a_terminal_shows_colours_only_if_rich_is_there_and_they_are_wanted(log):
    ran = in_terminal("ccc_tail", "--no-follow")
    assert ran.code == 0
    assert len(ran.out.splitlines()) == 5
    coloured = in_pipe("ccc_tail", "--force-color")
    assert "\x1b[" in coloured.out
    assert "\x1b[" not in in_pipe("ccc_tail", "--no-color").out


@contextmanager
def following(*arguments: str):
    connections.close_all()
    process = subprocess.Popen(
        command_line("ccc_tail", *arguments), env=environment(**MORE), cwd=ROOT, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_pipe_is_followed_if_that_is_asked_for(log):
    with following("--follow", "--last", "1") as process:
        assert "Höhere" in process.stdout.readline()
        store.append(Worked(course_name="Music", user_id="ann"))
        assert "Music" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0


def test_a_follow_ends_after_its_limit(log):
    with following("--follow", "--last", "1", "--limit", "2") as process:
        process.stdout.readline()
        store.append(Worked(course_name="Music", user_id="ann"))
        assert "Music" in process.stdout.readline()
        assert process.wait(20) == 0


def append_and_hold(pipe) -> None:
    with transaction.atomic():
        store.append(Worked(course_name="slow", user_id="joe"))
        pipe.send(True)
        pipe.recv()


@pytest.mark.postgres
def test_what_an_open_append_could_come_before_is_not_printed(log):
    here, there = fork.Pipe()
    with in_background(append_and_hold, there), following("--follow", "--last", "1") as process:
        assert here.poll(20)
        assert "Höhere" in process.stdout.readline()
        store.append(Worked(course_name="quick", user_id="joe"))
        here.send(True)
        assert "slow" in process.stdout.readline(), "it has the lower position"
        assert "quick" in process.stdout.readline()


def test_a_reader_that_goes_away_ends_it_quietly():
    store.append([Worked(course_name="x" * 200, user_id="joe") for _ in range(2_000)])
    with following("--from", "beginning") as process:
        process.stdout.readline()
        process.stdout.close()
        process.stdout = None
        assert process.wait(30) == 0
        assert process.stderr.read() == ""


def test_help_shows_examples():
    ran = in_pipe("ccc_tail", "--help")
    assert ran.code == 0
    assert "manage.py ccc_tail --attribute 'count=\"3\"'" in ran.out


def test_a_database_that_is_not_there_is_one_line():
    broken = {"CCC_WORKER_DATABASE": os.devnull + "/nowhere"}
    ran = in_pipe("ccc_tail", **broken)
    assert ran.code == 1
    assert ran.err.startswith("CommandError: The database cannot be used")
