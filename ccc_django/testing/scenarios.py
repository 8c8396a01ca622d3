"""Scenarios: given what has happened, when messages come, then something follows; without a database.

(given(CourseCreated(course_name="Algebra"))
 .when(CreateCourse(course_name="Algebra"))
 .then_raises(CourseNameTaken))
"""

import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any, Self

from ccc_django.messages import Message
from ccc_django.testing import comparing, unfinished
from ccc_django.testing.casting import consumer_for, partition_for
from ccc_django.testing.playing import Kind, Played, play


def given(*messages: Message, consumer: Kind | None = None, partition: Mapping[str, Any] | None = None) -> "Given":
    """Begin a scenario with what has happened before, in its order.

    The decider is found by the command that comes; a projector, and one of several deciders, is named by ``consumer``.
    ``partition`` is needed only where the messages do not name exactly one.
    """
    return Given(messages, consumer, partition)


class Given:
    """What has happened before."""

    def __init__(
        self, messages: tuple[Message, ...], consumer: Kind | None, partition: Mapping[str, Any] | None
    ) -> None:
        self._messages = _checked(messages)
        self._consumer = consumer
        self._partition = partition
        self._check = unfinished.begin(f"given({_shown(messages)}), which goes on with .when(…) and .then…(…)")

    def when(self, *messages: Message) -> "Scenario":
        """What comes now: the messages that a worker gets, in their order, each on what the last one left."""
        self._check.is_made()
        if not messages:
            raise TypeError("when(…) takes one message at least.")
        kind = consumer_for(_checked(messages), self._consumer)
        partition = partition_for(kind, self._messages, messages, self._partition)
        return Scenario(kind, partition, self._messages, messages)


class Scenario:
    """What has happened before and what comes now; each ``then`` looks at what follows, and they can be chained."""

    def __init__(
        self, kind: Kind, partition: dict[str, Any], past: tuple[Message, ...], present: tuple[Message, ...]
    ) -> None:
        self._played_by = (kind, partition, past, present)
        self._check = unfinished.begin(f"given({_shown(past)}).when({_shown(present)}), which goes on with .then…(…)")

    def then(self, *expected: Any) -> Self:
        """Exactly this follows, in this order: messages (a class stands for any payload), ``Schedule`` and the others.

        A command that is rejected is followed by a CommandRejected.
        """
        __tracebackhide__ = True  # pytest shows the line of the test
        self._check.is_made()
        if not expected:
            raise TypeError("then(…) takes what follows; if nothing does, say then_nothing().")
        return self._follows(expected)

    def then_nothing(self) -> Self:
        """Nothing follows at all."""
        __tracebackhide__ = True
        return self._follows(())

    def then_raises(self, error: type[Exception], *, match: str | None = None) -> Self:
        """One command is rejected with this DomainError, or a handler raises this error; the text may be looked at."""
        __tracebackhide__ = True
        played = self._played
        raised = [played.error] if played.error else [*played.rejections]
        if len(raised) != 1 or not isinstance(raised[0], error):
            came = [*map(_described, raised)] or [*map(comparing.shown, played.follows)] or ["nothing"]
            text = "\n".join([f"{error.__name__} was expected once, and this came instead:", *came])
            raise AssertionError(text) from (raised[0] if raised else None)
        if match is not None and not re.search(match, str(raised[0])):
            raise AssertionError(f"{error.__name__} does not match {match!r}: it says {str(raised[0])!r}.")
        return self

    def then_state(self, expected: Any) -> Self:
        """The state of the partition after everything is this: the next message finds it."""
        __tracebackhide__ = True
        state = self._finished().state
        if state != expected or type(state) is not type(expected):
            difference = comparing.difference_of_values(expected, state)
            raise AssertionError(f"The state is not what was expected:\n{difference}")
        return self

    def _follows(self, expected: tuple[Any, ...]) -> Self:
        __tracebackhide__ = True
        follows = self._finished().follows
        if not comparing.match_all(expected, follows):
            raise AssertionError(f"What follows is not what was expected:\n{comparing.difference(expected, follows)}")
        return self

    def _finished(self) -> Played:
        """What was played, unless a handler has failed: then its own error is what the test sees."""
        if self._played.error is not None:
            raise self._played.error
        return self._played

    @cached_property
    def _played(self) -> Played:
        self._check.is_made()
        return play(*self._played_by)


def _checked(messages: tuple[Any, ...]) -> tuple[Message, ...]:
    for each in messages:
        if not isinstance(each, Message):
            raise TypeError(f"A scenario is made of messages, and {each!r} is none.")
    return messages


def _shown(messages: Iterable[Any]) -> str:
    return ", ".join(map(comparing.shown, messages))


def _described(error: Exception | None) -> str:
    return f"{type(error).__name__}: {error}"
