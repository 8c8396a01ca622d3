"""Asserting: what a block of code has appended to the log, also in a transaction that is never committed."""

from typing import Any, Self

from django.db.models import Max

from ccc_django.messages import Message
from ccc_django.models import StoredMessage
from ccc_django.testing import comparing, unfinished


def assert_appended(*expected: Message | type[Message], exactly: bool = True) -> "Appended":
    """A block that appends this, in this order, and nothing else.

    A class stands for any payload. With ``exactly=False`` other messages may come before, between and after.
    """
    if not expected:
        raise TypeError("assert_appended(…) takes messages; if there are none, say assert_nothing_appended().")
    for each in expected:
        if not isinstance(each, Message) and not (isinstance(each, type) and issubclass(each, Message)):
            raise TypeError(f"assert_appended(…) takes messages and message classes, and {each!r} is none.")
    return Appended(expected, exactly=exactly)


def assert_nothing_appended() -> "Appended":
    """A block that leaves the log as it was."""
    return Appended((), exactly=True)


class Appended:
    """What a block has appended; the messages themselves are known when it ends."""

    def __init__(self, expected: tuple[Any, ...], *, exactly: bool) -> None:
        self.messages: list[Message] = []
        self._expected = expected
        self._exactly = exactly
        name = "assert_appended" if expected else "assert_nothing_appended"
        shown = ", ".join(map(comparing.shown, expected))
        self._check = unfinished.begin(f"{name}({shown}), which needs a block: with {name}(…):")

    def __enter__(self) -> Self:
        self._check.is_made()
        self._after = StoredMessage.objects.aggregate(last=Max("position"))["last"] or 0
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        __tracebackhide__ = True  # pytest shows the line of the test
        if kind is not None:  # what the block has raised says more
            return
        self.messages = list(StoredMessage.objects.after(self._after).order_by("position").messages())
        agree = comparing.match_all if self._exactly else comparing.are_among
        if not agree(self._expected, self.messages):
            difference = comparing.difference(self._expected, self.messages)
            raise AssertionError(f"What was appended is not what was expected:\n{difference}")
