"""Timing: several clients do the same for a while, each on a connection of its own."""

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import ClassVar

from django.db import connections

from ccc_django.conf import conf
from ccc_django.consumers.retries import repeating
from ccc_django.instrumentation.bench.report import Figure

WARM = 3  # calls that do not count: connections are opened, statements prepared


class Client:
    """One who does something again and again, with messages or without."""

    has_messages: ClassVar[bool] = True

    def __init__(self, run: str) -> None:
        self.run = run

    def work(self) -> int:
        """Do it once; with how many messages, or 0 if there is nothing left to do."""
        raise NotImplementedError

    def end(self) -> None:
        """Leave nothing half done."""


@dataclass(slots=True)
class Tally:
    """What one client has done, and when."""

    durations: list[float] = field(default_factory=list)
    messages: int = 0
    began_at: float = 0.0
    ended_at: float = 0.0


def timed(name: str, begin: Callable[[], Client], *, clients: int, seconds: float) -> Figure:
    """How often something can be done in a second, and how long it takes."""
    stop = threading.Event()
    processor, wall = time.process_time(), time.perf_counter()
    with ThreadPoolExecutor(clients, thread_name_prefix="ccc-bench") as pool:
        try:
            running = [pool.submit(_working, begin, seconds, stop) for _ in range(clients)]
            tallies = [each.result() for each in running]
        finally:
            stop.set()  # Ctrl-C, or one of them has failed
    share = (time.process_time() - processor) / (time.perf_counter() - wall)
    return _figure(name, tallies, share)


def _working(begin: Callable[[], Client], seconds: float, stop: threading.Event) -> Tally:
    tally = Tally()
    try:
        client = begin()
        for _ in range(WARM):
            repeating(client.work)
        tally.began_at = now = time.perf_counter()
        deadline = now + seconds
        while now < deadline and not stop.is_set():
            done = repeating(client.work)
            started, now = now, time.perf_counter()
            if not done:
                break
            tally.durations.append(now - started)
            tally.messages += done if client.has_messages else 0
        tally.ended_at = now
        client.end()
    finally:
        connections[conf.database].close()
    return tally


def _figure(name: str, tallies: list[Tally], processor: float) -> Figure:
    durations = sorted(each for tally in tallies for each in tally.durations) or [0.0]
    return Figure(
        name=name,
        calls=sum(len(tally.durations) for tally in tallies),
        messages=sum(tally.messages for tally in tallies),
        seconds=max(tally.ended_at for tally in tallies) - min(tally.began_at for tally in tallies),
        p50=durations[len(durations) // 2],
        p99=durations[min(len(durations) * 99 // 100, len(durations) - 1)],
        processor=processor,
    )
