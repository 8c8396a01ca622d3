"""Waiting: an idle worker sleeps until the database calls, or until it is time to look by itself."""

import time
from collections.abc import Callable
from contextlib import ExitStack

from ccc_django import db, notifications, wording
from ccc_django.conf import conf

SLICE = 0.25  # seconds after which a wait looks whether to stop
AGAIN = 5.0  # seconds until a listener that was lost is made again


class Waiting:
    """Waits for messages of some types. A call that is lost costs only time: somebody looks now and then anyway."""

    def __init__(self, types: list[str]) -> None:
        self.types = types
        self.listener: notifications.Listener | notifications.Poller | None = None
        self.again_at = 0.0
        self._resources = ExitStack()

    def wait(self, seconds: float, stop: Callable[[], bool]) -> bool:
        """Whether messages may have come within the time."""
        deadline = time.monotonic() + seconds
        while not stop() and (left := deadline - time.monotonic()) > 0:
            listener = self._listening()
            if listener is None:
                time.sleep(min(left, SLICE))
                continue
            try:
                if listener.wait(min(left, SLICE)):
                    return True
            except Exception as error:  # noqa: BLE001 - whatever a broken connection raises
                wording.stopped_listening(error=wording.line_of(error))
                self.close()
                self.again_at = time.monotonic() + AGAIN
        return False

    def listen(self) -> None:
        """Begin to listen now, so that nothing that comes from now on is missed."""
        self._listening()

    def close(self) -> None:
        """Stop listening."""
        self.listener = None
        self._resources.close()

    def _listening(self) -> "notifications.Listener | notifications.Poller | None":
        if self.listener is None and (conf.listen or db.is_sqlite()) and time.monotonic() >= self.again_at:
            try:
                self.listener = self._resources.enter_context(notifications.listening(self.types))
            except Exception as error:  # noqa: BLE001 - as above
                self.again_at = time.monotonic() + AGAIN
                wording.cannot_listen(error=wording.line_of(error))
        return self.listener
