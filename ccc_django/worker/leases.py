"""Leases: renewed while a handler runs, from outside of its transaction; a handler that takes long is reported."""

import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import Error

from ccc_django import groups, wording
from ccc_django.claims import Claim
from ccc_django.consumers.base import Options
from ccc_django.errors import ClaimLost
from ccc_django.worker.outside import outside

PART = 3  # a lease is renewed after this part of it
LINES = 3  # of the place where a handler is


@dataclass(slots=True)
class Held:
    """A claim in hand."""

    claim: Claim
    options: Options
    thread: int
    renew_at: float
    report_at: float
    is_lost: bool = False


class Leases:
    """The claim that this process has in hand. ``look`` is called now and then from another thread."""

    def __init__(self) -> None:
        self.held: Held | None = None

    @contextmanager
    def holding(self, claim: Claim, options: Options) -> Iterator[Held]:
        """A claim is in hand for as long as this lasts."""
        now = time.monotonic()
        renew_at = now + options.lease.total_seconds() / PART
        self.held = Held(claim, options, threading.get_ident(), renew_at, now + options.time_limit.total_seconds())
        try:
            yield self.held
        finally:
            self.held = None

    def look(self) -> None:
        """Renew what is due, and report what takes long."""
        held, now = self.held, time.monotonic()
        if held is None:
            return
        if now >= held.report_at:
            held.report_at = now + held.options.time_limit.total_seconds()
            self._report(held)
        if now >= held.renew_at and not held.is_lost:
            held.renew_at = now + held.options.lease.total_seconds() / PART
            self._renew(held)

    def _renew(self, held: Held) -> None:
        try:
            with outside():
                groups.renew(held.claim, lease=held.options.lease)
        except ClaimLost:
            if self.held is held:  # otherwise it was acked meanwhile
                held.is_lost = True
        except Error as error:
            held.renew_at = time.monotonic() + held.options.lease.total_seconds() / PART / PART
            wording.not_renewed(group=held.claim.group, error=wording.line_of(error))

    def _report(self, held: Held) -> None:
        frame = sys._current_frames().get(held.thread)  # noqa: SLF001 - Python's own way
        place = "".join(traceback.format_stack(frame)[-LINES:]) if frame else ""
        wording.takes_long(
            group=held.claim.group,
            limit=held.options.time_limit,
            message_type=held.claim.messages[0].type,
            partition=held.claim.partition_key,
            place=place,
        )
