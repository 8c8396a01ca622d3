"""Refusals: the error that rejected a command elsewhere, as the log tells of it."""

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

from ccc_django.consumers.decider import CommandRejected, Decider
from ccc_django.errors import DomainError


def rejection(event: CommandRejected, decider: type[Decider]) -> DomainError:
    """The error that rejected a command elsewhere, of its own class if the project still has it.

    Two apps may have a class of this name: the one that the decider sees is meant.
    """
    method = decider.handlers["decides"][event.command_type]
    seen = getattr(method, "__globals__", {}).get(event.error)
    kinds = [each for each in _kinds(DomainError) if each.__name__ == event.error]
    return _said(seen if seen in kinds else next(iter(kinds), DomainError), event.reason)


def _said(kind: Any, reason: str) -> DomainError:
    """An error that says what it said; where its class needs more than that, one of a class derived from it."""
    with suppress(Exception):
        error: DomainError = kind(reason)
        if str(error) == reason:
            return error
    other: DomainError = _saying(kind).__new__(_saying(kind))
    other.args = (reason,)
    return other


@cache
def _saying(kind: Any) -> Any:
    return type(kind.__name__, (kind,), {"__str__": lambda self: self.args[0], "__module__": kind.__module__})


def _kinds(kind: type[DomainError]) -> Iterator[type[DomainError]]:
    yield kind
    for each in kind.__subclasses__():
        yield from _kinds(each)
