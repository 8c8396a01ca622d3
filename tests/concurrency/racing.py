"""Races of commands: processes that ask, that leave work to workers, that decide by hand, and workers."""

import os
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from ccc_django import Decider, DomainError, Message, consumers, groups, registry, store
from ccc_django.consumers.declaring import declare
from ccc_django.errors import AppendConflict, PartitionBusy
from tests.concurrency.processes import assert_overlapped, fork, together
from tests.consuming import drain

THOUGHT = 0.015  # seconds that a decision takes, so that others come between what it reads and what it appends
RACERS = 6

deciding = fork.Event()


def race(decider: type[Decider], turns: list[list[Message]]) -> dict[Any, Message]:
    """In each turn six processes want something at the same moment, while two workers work; all commands by id.

    Two ask and wait for the answer, two leave their commands to the workers, and two decide by hand, who hold no claim,
    so that the guard alone is between them and the others.
    """
    assert {len(turn) for turn in turns} == {RACERS}
    declare(decider)
    start, left = fork.Barrier(RACERS), fork.Value("i", RACERS)
    ways = [ask, ask, store.append, store.append, by_hand, by_hand]
    racers = [racing(way, [turn[n] for turn in turns], start, left) for n, way in enumerate(ways)]
    assert_overlapped(together(*racers, *[working(decider, left)] * 2))
    finish(decider)
    commands = {command.id: command for turn in turns for command in turn}
    assert_answered_once(commands)
    return commands


def racing(act: Callable[[Message], Any], commands: list[Message], start: Any, left: Any) -> Callable[[], None]:
    def task() -> None:
        for command in commands:
            start.wait(60)
            act(command)
        with left.get_lock():
            left.value -= 1

    return task


def working(decider: type[Decider], left: Any) -> Callable[[], None]:
    def task() -> None:
        while left.value:
            drain(decider, worker=f"w-{os.getpid()}")
            time.sleep(0.01)

    return task


def ask(command: Message) -> None:
    """As a view does: a refusal is an answer, and what is too busy is done later."""
    with suppress(DomainError, PartitionBusy):
        consumers.handle(command)


def by_hand(command: Message) -> None:
    """Read, decide, append under the guard, best while the group decides too; again if somebody was faster."""
    [kind] = consumers.registry.deciders_of(command.type)
    decider = kind({name: getattr(command, name) for name in kind.options.partition_by})
    facts = [registry.message_class(name).to_conditions(**decider.partition) for name in kind.types_of("evolves")]
    while True:
        seen = store.read(condition for conditions in facts for condition in conditions)
        try:
            decided = decider.decide(decider.evolved(decider.initial(), seen.messages), command)
            deciding.wait(2 * THOUGHT)
            store.append([action.message for action in decided], guard=seen.guard)
        except AppendConflict:
            continue
        except DomainError:
            return
        else:
            return


@pytest.fixture
def thoughtful(monkeypatch):
    """Decisions of the group take a moment, and tell those who decide by hand."""
    decided = Decider._decided

    def slowly(self, state, command):
        deciding.set()
        time.sleep(THOUGHT)
        deciding.clear()
        return decided(self, state, command)

    monkeypatch.setattr(Decider, "_decided", slowly)


def assert_answered_once(commands: dict[Any, Message]) -> None:
    """No command was forgotten or decided twice; those that were refused by hand are not in the log."""
    answers = Counter(message.causation_id for message in store.stream() if message.id not in commands)
    assert {answers[id] for id in commands} <= {0, 1}
    assert all(answers[message.id] for message in store.stream() if message.id in commands)


def finish(decider: type[Decider]) -> None:
    """Whatever was put off is done too."""
    groups.retry(decider.group_name())
    while drain(decider):
        groups.retry(decider.group_name())
    assert groups.status(decider.group_name()).lag == 0
