"""Background: beats, renewals and the sweep, in threads of their own, so that no handler can hold them up."""

import os
import threading
import time
from typing import TYPE_CHECKING

from django.db import Error

from ccc_django import maintenance, wording
from ccc_django.conf import conf
from ccc_django.worker import beating
from ccc_django.worker.outside import outside

if TYPE_CHECKING:
    from ccc_django.worker.loop import Worker

TICK = 0.5  # seconds


class Background:
    """Two threads beside a worker: one keeps it alive to others, one sweeps if this worker was elected."""

    def __init__(self, worker: "Worker") -> None:
        self.worker = worker
        self.beat_at = 0.0
        self.ended = threading.Event()
        self.sweeps = threading.Event()
        shortest = min((served.consumer.options.lease.total_seconds() for served in worker.served), default=TICK)
        self.tick = min(TICK, shortest / 6)
        self.threads = [threading.Thread(target=each, daemon=True) for each in (self._keep, self._sweep)]

    def start(self) -> None:
        """Begin."""
        for thread in self.threads:
            thread.start()

    def end(self) -> None:
        """The worker has ended."""
        self.ended.set()
        for thread in self.threads:
            thread.join(TICK * 4)
        try:
            with outside():
                beating.leave(self.worker.name)
        except Error:
            wording.no_goodbye(worker=self.worker.name)

    def _keep(self) -> None:
        while not self.ended.wait(self.tick):
            try:
                self._look_after()
            except Exception as error:  # noqa: BLE001 - whatever it is, leases must be renewed
                wording.unwell(worker=self.worker.name, error=wording.line_of(error))
            if self.worker.parent not in {None, os.getppid()}:
                self.worker.stopping.ask("the process that supervised it is gone")

    def _look_after(self) -> None:
        self.worker.leases.look()
        if time.monotonic() >= self.beat_at:
            self.beat_at = time.monotonic() + conf.beat_every
            self._beat()

    def _beat(self) -> None:
        try:
            with outside():
                elected = beating.beat(self.worker.name, self.worker.progress())
                self.worker.beat()
        except Error as error:
            wording.not_beaten(worker=self.worker.name, error=wording.line_of(error))
            elected = False
        (self.sweeps.set if elected else self.sweeps.clear)()

    def _sweep(self) -> None:
        """Sweep while elected; a sweep by two at once does no harm."""
        while not self.ended.is_set():
            if self.sweeps.wait(TICK):
                try:
                    with outside():
                        self._sweep_while_elected()
                except Exception as error:  # noqa: BLE001 - the next one comes
                    wording.sweep_failed(error=wording.line_of(error))
                    self.ended.wait(conf.sweep_every)

    def _sweep_while_elected(self) -> None:
        while self.sweeps.is_set() and not self.ended.is_set():
            self.ended.wait(maintenance.sweep())
