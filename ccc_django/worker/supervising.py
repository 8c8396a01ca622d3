"""Supervising: several worker processes, started again if one dies, and stopped together."""

import json
import os
import signal
import subprocess
import threading
import time
from functools import partial, reduce

from ccc_django import wording
from ccc_django.worker.stopping import FORCED, Stopping

SUPERVISOR, REPORTS = (
    "CCC_SUPERVISOR",
    "CCC_REPORTS",
)  # by these a process knows who supervises it, and where it listens
Progress = dict[str, dict[str, float]]

LOOK = 0.1  # seconds
LONGEST_PAUSE = 30.0  # seconds until a process that dies again and again is started again
LIVED = 30.0  # seconds after which a process was all right


class Child:
    """One worker process, started again if it dies, and what it has said last."""

    def __init__(self, command: list[str], most: int | None) -> None:
        self.command = command
        self.most = most  # messages, if there is a limit
        self.before: Progress = {}  # what those before it have done
        self.deaths = 0
        self.start_at = 0.0
        self.was_told = False
        self.start()

    def start(self) -> None:
        """Start it, in a session of its own, so that a terminal's Ctrl-C reaches the supervisor alone."""
        self.started_at = time.monotonic()
        self.progress: Progress = {}
        reads, writes = os.pipe()  # not its standard output: handlers may print
        environment = {**os.environ, SUPERVISOR: str(os.getpid()), REPORTS: str(writes)}
        limit = [] if self.most is None else ["--max-messages", str(self.most)]
        self.process = subprocess.Popen(  # noqa: S603 - our own command
            [*self.command, *limit], env=environment, pass_fds=[writes], start_new_session=True
        )
        os.close(writes)
        self.reader = threading.Thread(target=self._listen, args=(reads,), daemon=True)
        self.reader.start()

    def is_there(self, *, again: bool) -> bool:
        """Whether it runs, or will run again: one that has died is started anew, later each time."""
        code = self.process.poll()
        if code is None or code == 0 or not again:
            return code is None
        if not self.start_at:
            self.deaths = 1 if time.monotonic() - self.started_at > LIVED else self.deaths + 1
            pause = min(LONGEST_PAUSE, 2.0 ** (self.deaths - 2))
            self.start_at = time.monotonic() + pause
            wording.died(pid=self.process.pid, code=code, seconds=pause)
        elif time.monotonic() >= self.start_at:
            self.start_at = 0.0
            return self._start_another()
        return True

    def _start_another(self) -> bool:
        """With what is left to do."""
        self.reader.join(LOOK)
        if self.most is not None:
            self.most -= int(sum(count["handled"] for count in self.progress.values()))
        self.before = added(self.before, self.progress)
        self.progress = {}
        if self.most == 0:
            return False
        self.start()
        return True

    def tell(self, number: int) -> None:
        """Send it a signal, if it is there."""
        if self.process.poll() is None:
            self.was_told = True
            self.process.send_signal(number)

    @property
    def has_failed(self) -> bool:
        """Whether it did not end as it was told, or by itself."""
        return self.was_told and self.process.poll() not in {0, -signal.SIGTERM}

    def _listen(self, reports: int) -> None:
        with os.fdopen(reports) as lines:
            for line in lines:
                self.progress = json.loads(line)


def added(one: Progress, other: Progress) -> Progress:
    """What two have done together."""
    total = {name: dict(count) for name, count in one.items()}
    for name, count in other.items():
        known = total.setdefault(name, dict.fromkeys(count, 0))
        for what, number in count.items():
            known[what] += number
    return total


class Supervisor:
    """Keeps processes running until they are told to stop, or have all ended by themselves."""

    def __init__(self, commands: list[tuple[list[str], int | None]], stopping: Stopping) -> None:
        self.stopping = stopping
        self.children = [Child(command, most) for command, most in commands]
        stopping.at_once = partial(self._tell, signal.SIGKILL)

    def run(self) -> int:
        """Wait for all of them; the exit code."""
        is_told = False
        while self._are_there():
            if self.stopping() and not is_told:
                is_told = True
                self._tell(signal.SIGTERM)
            time.sleep(LOOK)
        for child in self.children:
            child.reader.join(1.0)
        return FORCED if any(child.has_failed for child in self.children) else 0

    def progress(self) -> Progress:
        """What all of them have done, by group."""
        return reduce(added, [part for child in self.children for part in (child.before, child.progress)], {})

    def _are_there(self) -> bool:
        there = [child.is_there(again=not self.stopping()) for child in self.children]
        return any(there)

    def _tell(self, number: int) -> None:
        for child in self.children:
            child.tell(number)
