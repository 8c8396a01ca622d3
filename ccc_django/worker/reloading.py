"""Reloading: when code has changed and passes Django's checks, a worker starts over with it, between two claims."""

import os
import subprocess
import sys
import time
from typing import NoReturn

from django.utils import autoreload

from ccc_django import wording

EVERY = 1.0  # seconds


class Reload(Exception):
    """The code has changed: let go of everything, and start over."""


class Reloading:
    """Looks at the project's files now and then."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.files = autoreload.StatReloader()
        self.known = dict(self.files.snapshot_files())
        self.look_at = time.monotonic() + EVERY

    def __call__(self) -> None:
        """Raise Reload if something has changed that can be run."""
        if time.monotonic() < self.look_at:
            return
        self.look_at = time.monotonic() + EVERY
        found = dict(self.files.snapshot_files())
        changed = [path for path, time in found.items() if self.known.get(path, time) != time]
        self.known = {**self.known, **found}
        if changed and self._is_sound():
            wording.changed(path=changed[0])
            raise Reload

    def _is_sound(self) -> bool:
        arguments = autoreload.get_child_arguments()
        before = arguments[: arguments.index(self.command)]
        checked = subprocess.run([*before, "check"], capture_output=True, text=True, check=False)  # noqa: S603 - our own
        if checked.returncode:
            wording.unsound(output=checked.stderr)
        return checked.returncode == 0


def start_over(*more: str) -> NoReturn:
    """Become a new process with the same arguments, and others that come after them."""
    os.execv(sys.executable, [*autoreload.get_child_arguments(), *more])  # noqa: S606 - our own
