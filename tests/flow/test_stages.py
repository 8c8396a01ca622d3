"""Stages: each has a logger with fields, and a signal that outsiders may watch without harm."""

import json
import logging
from collections import defaultdict
from itertools import count
from pathlib import Path
from typing import Annotated

import pytest
from django.db import transaction
from django.dispatch import Signal
from django.utils import timezone

from ccc_django import (
    Event,
    Indexed,
    Retry,
    consumer,
    db,
    dead_letters,
    groups,
    indexes,
    maintenance,
    notifications,
    signals,
    store,
    wording,
)
from ccc_django.consumers.declaring import declare
from ccc_django.consumers.runner import run
from ccc_django.models import DeadLetter
from tests.domain import CourseClosed, UserJoinedCourse

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = [name for name, value in vars(signals).items() if isinstance(value, Signal)]


@pytest.fixture
def told():
    """What each signal has told, in order."""
    heard, receivers = defaultdict(list), {}
    order = count()
    for name in NAMES:

        def receive(sender, signal, name=name, **what):
            heard[name].append({**what, "order": next(order)})

        receivers[name] = receive
        getattr(signals, name).connect(receive)
    yield heard
    for name, receive in receivers.items():
        getattr(signals, name).disconnect(receive)


@pytest.fixture
def closing(no_consumers):
    @consumer(
        group="closing", partition_by=["course_name"], handles=["user.joined_course"], retry=Retry(max_attempts=1)
    )
    def close(message):
        if message.user_id == "poison":
            raise ValueError("poison")
        yield CourseClosed(course_name=message.course_name)

    declare(close)
    return close


def joined(user: str = "joe") -> UserJoinedCourse:
    return UserJoinedCourse(course_name="Algebra", user_id=user)


def test_every_stage_is_told_in_its_order(told, closing, monkeypatch):
    monkeypatch.setattr(notifications, "_looked_at", -10.0)
    with notifications.listening():
        [stored] = store.append(joined())
        claim = groups.claim_next("closing", worker="w")
        run(closing, claim)
        maintenance.sweep()
    indexes.declare("payload_hash", ["course_name", "user_id"])
    expected = ["appended", "advanced", "claimed", "fetched", "appended", "acked", "completed", "handled", "swept"]
    in_order = sorted((what["order"], name) for name, many in told.items() for what in many)
    names = [name for _, name in in_order if name not in {"notified", "indexed"}]
    assert names == expected
    assert told["indexed"][-1]["index"] == "payload_hash(course_name, user_id)"
    if not db.is_sqlite():
        assert "user.joined_course" in told["notified"][0]["types"]
    assert [message.position for message in told["appended"][0]["messages"]] == [stored.position]
    assert told["advanced"][0] | {"order": 0} == {"group": "closing", "position": stored.position, "order": 0}
    assert told["claimed"][0]["claim"].messages == []
    assert [message.position for message in told["fetched"][0]["claim"].messages] == [stored.position]
    assert told["acked"][0]["position"] == stored.position
    assert told["handled"][0]["messages"] == claim.messages
    assert told["handled"][0]["error"] is None


def test_what_goes_wrong_is_told(told, closing):
    store.append([joined("poison"), joined()])
    run(closing, groups.claim_next("closing", worker="w"))
    [given_up] = told["gave_up"]
    assert given_up["message"].user_id == "poison"
    assert str(given_up["error"]) == "poison"
    assert str(told["handled"][0]["error"]) == "poison"
    claim = groups.claim_next("closing", worker="w")
    groups.release(claim)
    assert told["released"][0]["error"] is None
    dead_letters.replay(DeadLetter.objects.all())
    run(closing, groups.claim_next("closing", worker="w"))
    assert len(told["gave_up"]) == 2, "it has failed again"


def test_what_is_rolled_back_was_never_told(told):
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        store.append(joined())
        1 / 0
    assert told["appended"] == []
    with transaction.atomic():
        store.append(joined())
        assert told["appended"] == [], "not before the commit"
    assert len(told["appended"]) == 1


def test_a_receiver_that_fails_harms_nobody(closing, caplog):
    def fail(**what):
        raise ValueError("a bad receiver")

    for name in NAMES:
        getattr(signals, name).connect(fail)
    try:
        store.append(joined())
        run(closing, groups.claim_next("closing", worker="w"))
        maintenance.sweep()
    finally:
        for name in NAMES:
            getattr(signals, name).disconnect(fail)
    assert groups.status("closing").lag <= 1
    assert [message.type for message in store.stream()] == ["user.joined_course", "course.closed"]
    assert "a bad receiver" in caplog.text


def test_each_stage_has_a_logger_with_fields(closing, caplog):
    caplog.set_level(logging.DEBUG, logger="ccc_django")
    last = store.append([joined(), joined("poison")])[-1].position
    for _ in range(2):
        run(closing, groups.claim_next("closing", worker="w", limit=1))
    maintenance.sweep()
    names = {record.name.removeprefix("ccc_django.") for record in caplog.records}
    assert names >= {"append", "advance", "claim", "fetch", "handle", "ack", "complete", "sweep"}
    assert names <= {*wording.STAGES}
    [given_up] = [record for record in caplog.records if record.event == "gave_up"]
    assert given_up.getMessage() == (
        f'closing gave user.joined_course at {last} of {{"course_name":"Algebra"}} up: ValueError: poison'
    )
    fields = (given_up.stage, given_up.group, given_up.position, given_up.message_type, given_up.levelname)
    assert fields == ("ack", "closing", last, "user.joined_course", "WARNING")
    json.dumps([record.__dict__.get("types") for record in caplog.records])


def test_every_line_can_be_said(caplog):
    """With the fields that its sentence names, none of which a record has for itself."""
    caplog.set_level(logging.DEBUG, logger="ccc_django")
    lines = [value for value in vars(wording).values() if isinstance(value, wording.Line)]
    assert len({(line.stage, line.event) for line in lines}) == len(lines)
    for line in lines:
        said = Fields()
        line.sentence % said
        line(**dict.fromkeys(said.asked, 1))
    assert len(caplog.records) == len(lines)


class Fields(dict):
    """Notes what a sentence asks for."""

    def __init__(self):
        self.asked = []

    def __getitem__(self, name):
        self.asked.append(name)
        return 1


def test_nothing_else_writes_log_lines():
    """So that wording has one place."""
    package = Path(wording.__file__).parent
    texts = {path: path.read_text() for path in package.rglob("*.py")}
    lines = [name for name, value in vars(wording).items() if isinstance(value, wording.Line)]
    assert all(any(f"wording.{name}" in text for text in texts.values()) for name in lines), "each is said somewhere"
    others = [path.name for path, text in texts.items() if "getLogger(" in text]
    assert sorted(others) == ["display.py", "wording.py"], "and display shows them"


def test_every_signal_and_every_logger_is_documented():
    page = (Path(__file__).parents[2] / "docs/reference/watching.md").read_text()
    assert all(f"| `{name}` |" in page for name in NAMES)
    assert all(f"`ccc_django.{stage}`" in page for stage in wording.STAGES)


def test_messages_whose_time_has_come_are_told_like_others(told):
    store.schedule(joined(), at=timezone.now())
    assert told["appended"] == []
    store.promote()
    assert [message.user_id for message in told["appended"][0]["messages"]] == ["joe"]
    store.append([])
    assert len(told["appended"]) == 1, "nothing is not worth telling"


class Listed(Event, type="stages.listed"):
    one: Annotated[list[int], Indexed]
    other: Annotated[list[int], Indexed]


def test_a_message_of_too_many_partitions_is_told_although_nobody_has_claimed_it(told, caplog):
    groups.register("wide", partition_by=["one", "other"], handled_types=[Listed])
    [stored] = store.append(Listed(one=[*range(20)], other=[*range(20)]))
    assert groups.claim_next("wide", worker="w") is None
    [given_up] = told["gave_up"]
    assert (given_up["claim"], given_up["message"]) == (None, stored)
    assert "more than 100 partitions" in caplog.text
