"""Patience: how long statements of this thread wait for locks, where somebody waits for an answer."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

LEAST = 50  # milliseconds: what was begun is also given back

_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


@contextmanager
def until(deadline: float) -> Iterator[None]:
    """Let no lock be waited for after a moment, by time.monotonic(), as long as this lasts."""
    token = _deadline.set(deadline)
    try:
        yield
    finally:
        _deadline.reset(token)


def is_over() -> bool:
    """Whether the moment has come."""
    deadline = _deadline.get()
    return deadline is not None and time.monotonic() >= deadline


def milliseconds() -> int | None:
    """What is left of it; None if nobody is in a hurry."""
    deadline = _deadline.get()
    return None if deadline is None else max(LEAST, round((deadline - time.monotonic()) * 1_000))
