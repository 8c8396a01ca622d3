"""Retries: what was decided on facts that have changed is decided again, a few times, after pauses that grow."""

import random
import time
from collections.abc import Callable
from typing import Any, TypeVar

from django.db import InterfaceError, OperationalError

from ccc_django import db, patience
from ccc_django.errors import AppendConflict, AppendInterrupted
from ccc_django.store.retries import is_interruption

TRIES = 8
FIRST_PAUSE = 0.005  # seconds
GONE = ("08", "57P")  # states of connections that were never made, or were ended; most say nothing at all
T = TypeVar("T")


def is_worth_repeating(error: BaseException) -> bool:
    """Whether nobody is to blame: somebody was faster, or the database has interrupted us."""
    if isinstance(error, OperationalError):
        return is_interruption(error)
    return isinstance(error, AppendConflict | AppendInterrupted)


def is_database_gone(error: BaseException, session: Any) -> bool:
    """Whether a session with the log has ended; another database of the project is its handler's own business."""
    if not isinstance(error, OperationalError | InterfaceError) or db.is_sqlite() or not db.has_ended(session):
        return False
    state: str = getattr(error.__cause__, "sqlstate", None) or GONE[0]
    return state.startswith(GONE)


def is_repeatable(error: BaseException) -> bool:
    """Whether that can be done here: what the database has interrupted inside of somebody else's transaction cannot."""
    return is_worth_repeating(error) and (isinstance(error, AppendConflict) or not db.in_transaction())


def repeating(work: Callable[[], T]) -> T:
    """Do something again from the start, as long as that is worth it and a bounded number of times."""
    for number in range(1, TRIES):
        try:
            return work()
        except Exception as error:
            if not is_repeatable(error) or patience.is_over():
                raise
        time.sleep(random.uniform(0.5, 1.5) * FIRST_PAUSE * 2**number)  # noqa: S311 - jitter
    return work()
