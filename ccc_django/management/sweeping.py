"""Sweeping: what manage.py ccc_sweep does: sweep again and again until it is told to stop."""

import time
from collections.abc import Callable

from django.core.management.base import OutputWrapper
from django.db import Error, connections

from ccc_django import maintenance
from ccc_django.conf import conf
from ccc_django.worker.stopping import Stopping


def sweep_every(seconds: float, say: Callable[[float], None], err: OutputWrapper) -> None:
    """Sweep so often at least, and say each time how long the rest is, until a signal comes."""
    stopping = Stopping(conf.grace)
    with stopping.on_signals():
        while not stopping():
            pause = min(seconds, _swept(seconds, err))
            say(pause)
            _rest(pause, stopping)


def _swept(seconds: float, err: OutputWrapper) -> float:
    """The seconds until the next sweep; after a failure, which is said, it comes as usual."""
    try:
        return maintenance.sweep()
    except Error as error:
        err.write(f"A sweep failed, and is repeated: {error}")
        connections[conf.database].close()
        return seconds


def _rest(seconds: float, stopping: Stopping) -> None:
    """Wait, but not for somebody who wants us to stop."""
    deadline = time.monotonic() + seconds
    while not stopping() and (left := deadline - time.monotonic()) > 0:
        time.sleep(min(left, 0.2))
