"""Comparing: whether messages are the expected ones, and how they differ, for people to read."""

from collections.abc import Iterable, Iterator, Sequence
from difflib import ndiff
from pprint import pformat
from typing import Any

from ccc_django.consumers.actions import RunAfterCommit, RunInTransaction, Schedule
from ccc_django.messages import Message

LEGEND = "- was expected, + is there"
HIDDEN = "  (two lines are equal because sensitive values are not shown, and these differ)"


def matches(expected: Any, there: Any) -> bool:
    """Whether a message is what was expected: by type, version and payload; a class stands for any payload.

    Ids, times and traces do not count. Of a Schedule the time counts as well.
    """
    if isinstance(expected, type):
        return isinstance(there, expected)
    if isinstance(expected, Schedule) and isinstance(there, Schedule):
        return expected.at == there.at and matches(expected.message, there.message)
    if isinstance(expected, Message) and isinstance(there, Message):
        same_type = (expected.type, expected.version) == (there.type, there.version)
        return same_type and _is_same(expected.payload, there.payload)
    return bool(expected == there)


def match_all(expected: Sequence[Any], there: Sequence[Any]) -> bool:
    """Whether these are the expected ones, in their order, and no others."""
    return len(expected) == len(there) and all(map(matches, expected, there))


def are_among(expected: Iterable[Any], there: Iterable[Any]) -> bool:
    """Whether the expected ones are among these, in their order."""
    left = iter(there)
    return all(any(matches(each, found) for found in left) for each in expected)


def difference(expected: Sequence[Any], there: Sequence[Any]) -> str:
    """What was expected and what is there, line by line."""
    wanted, found = [*_shown_as_found(expected, there)], [*map(shown, there)]
    if not wanted or not found:
        lines = [*(f"- {line}" for line in wanted), *(f"+ {line}" for line in found)]
    else:
        lines = [line.rstrip("\n") for line in ndiff(wanted, found)]
    if wanted == found:
        lines.append(HIDDEN)
    return "\n".join([LEGEND, *lines])


def difference_of_values(expected: Any, there: Any) -> str:
    """The same for any two values."""
    lines = (line.rstrip("\n") for line in ndiff(pformat(expected).splitlines(), pformat(there).splitlines()))
    return "\n".join([LEGEND, *lines])


def shown(what: Any) -> str:
    """A message or an action in one line; what is sensitive is not shown."""
    if isinstance(what, type):
        return f"{what.__name__}(…)"
    if isinstance(what, Schedule):
        return f"Schedule({shown(what.message)}, at={what.at})"
    if isinstance(what, RunInTransaction | RunAfterCommit):
        return f"{type(what).__name__}({getattr(what.function, '__qualname__', what.function)})"
    return repr(what)


def _shown_as_found(expected: Iterable[Any], there: Iterable[Any]) -> Iterator[str]:
    """A class that stands for any payload is shown as the message that it stands for, so that this is no difference."""
    left = [*there]
    for each in expected:
        found = next((one for one in left if matches(each, one)), None) if isinstance(each, type) else None
        if found is not None:
            left.remove(found)
        yield shown(each if found is None else found)


def _is_same(one: Any, other: Any) -> bool:
    """Equal, and not by way of another type: 1, True and 1.0 are three values in the log."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_is_same(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(_is_same, one, other))
    return bool(one == other)
