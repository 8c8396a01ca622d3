"""Signals: the first one is heeded and told, also while something is written that cannot be entered twice."""

import logging
import os
import signal
import threading
import time

import pytest

from ccc_django import wording
from ccc_django.worker.stopping import Stopping


class Console(logging.Handler):
    """Can be entered once only, as the buffer of a terminal; a signal comes while it writes its first line."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[str] = []
        self.writer: int | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if self.writer == threading.get_ident():
            raise RuntimeError("reentrant call")
        self.writer = threading.get_ident()
        if not self.said:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
        self.said.append(record.getMessage())
        self.writer = None


@pytest.fixture
def console():
    handler, log = Console(), logging.getLogger("ccc_django.worker")
    level = log.level
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    yield handler
    log.removeHandler(handler)
    log.setLevel(level)


def test_a_signal_that_comes_while_a_line_is_written_is_not_lost(console):
    stopping = Stopping(30)
    with stopping.on_signals():
        wording.overdue()
        assert stopping()
    assert stopping.reason == "SIGINT"
    assert [line.startswith("SIGINT: finishing") for line in console.said] == [False, True]
