"""Freezing: a block of code in which nothing may enter the log; what tries is named where it happens."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NoReturn
from unittest.mock import patch

from ccc_django.entries import Entry
from ccc_django.errors import LogFrozen
from ccc_django.messages import Message
from ccc_django.store import appending, scheduling
from ccc_django.testing.comparing import shown


@dataclass(eq=False, slots=True)
class Freeze:
    """One block, and what has tried to append in it."""

    tries: list[LogFrozen] = field(default_factory=list)


_freezes: list[Freeze] = []
_lock = threading.Lock()
_thaw = ExitStack()


@contextmanager
def freeze_log() -> Iterator[None]:
    """A block in which every append, schedule and promotion raises LogFrozen, in every thread of the process.

    Code that swallows the error fails at the end of the block.
    """
    freeze = Freeze()
    with _lock:
        if not _freezes:
            _replace()
        _freezes.append(freeze)
    try:
        yield
    finally:
        with _lock:
            _freezes.remove(freeze)
            if not _freezes:
                _thaw.close()
    if freeze.tries:
        raise freeze.tries[0]


def _replace() -> None:
    """The names that append and schedule look up when they run, whoever has imported them and however."""
    _thaw.enter_context(patch.object(appending, "entry_of", partial(_refuse, "appended")))
    _thaw.enter_context(patch.object(appending, "partial", _refuse_later))
    _thaw.enter_context(patch.object(scheduling, "entry_of", partial(_refuse, "scheduled")))
    _thaw.enter_context(patch.object(scheduling, "add", _refuse_due))


def _refuse(verb: str, message: Message) -> NoReturn:
    _raise(f"The log is frozen, and {shown(message)} was to be {verb}.")


def _refuse_later(function: Callable[..., Any], messages: Sequence[Message]) -> "partial[Any]":
    for message in messages:
        _refuse("appended after the commit", message)
    return partial(function, messages)


def _refuse_due(entries: Sequence[Entry]) -> dict[Any, Any]:
    if entries:
        _raise(f"The log is frozen, and {', '.join(entry.message_type for entry in entries)} became due.")
    return {}


def _raise(text: str) -> NoReturn:
    error = LogFrozen(text)
    for freeze in _freezes:
        freeze.tries.append(error)
    raise error
