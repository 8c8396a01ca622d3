"""Stopping: the first signal lets a worker finish what it has in hand, the second ends it at once."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from ccc_django import wording

SIGNALS = (signal.SIGINT, signal.SIGTERM)
TICK = 0.2  # seconds
FORCED = 1  # the exit code of a process that did not finish what it had in hand


class Stopping:
    """Whether to stop, since when, and why."""

    def __init__(self, grace: float) -> None:
        self.grace = grace
        self.at_once: Callable[[], None] = lambda: None  # what is still to be done by who stops at once
        self.reason = ""
        self.since = 0.0
        self._unsaid = ""  # a signal that nobody has been told of yet

    def __call__(self) -> bool:
        """Whether to stop."""
        return bool(self.reason)

    def ask(self, reason: str) -> None:
        """Stop after what is in hand."""
        if not self.reason:
            self.reason, self.since = reason, time.monotonic()

    @contextmanager
    def on_signals(self, *, margin: float = 0.0) -> Iterator[None]:
        """Let signals ask, and the process end when the grace period, and a margin, is over, whatever it waits for."""
        before = {each: signal.signal(each, self._received) for each in SIGNALS}
        ended = threading.Event()
        watch = threading.Thread(target=self._watch, args=(ended, self.grace + margin), daemon=True)
        watch.start()
        try:
            yield
        finally:
            ended.set()
            watch.join(5 * TICK)
            self._say()
            for each, handler in before.items():
                signal.signal(each, handler)

    def _watch(self, ended: threading.Event, grace: float) -> None:
        """In a thread that asks nothing of a database: that may hang."""
        while not ended.wait(TICK):
            self._say()
            if self.reason and time.monotonic() - self.since > grace:
                wording.overdue()
                self.at_once()
                os._exit(FORCED)

    def _received(self, number: int, _frame: FrameType | None) -> None:
        """Whatever it has interrupted may be writing to a log, which cannot be entered twice: others tell of it."""
        name = signal.Signals(number).name
        if self.reason.startswith("SIG"):
            with suppress(RuntimeError):
                wording.stopped_at_once(signal=name)
            self.at_once()
            os._exit(128 + number)
        self.reason, self.since, self._unsaid = name, time.monotonic(), name

    def _say(self) -> None:
        name, self._unsaid = self._unsaid, ""
        if name:
            wording.stopping(signal=name, seconds=self.grace)
