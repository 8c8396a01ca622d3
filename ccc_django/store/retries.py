"""Retries: a transaction that the database interrupted is run again from the start."""

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from django.db import OperationalError, transaction

from ccc_django import db
from ccc_django.conf import conf
from ccc_django.errors import AppendInterrupted

P = ParamSpec("P")
T = TypeVar("T")

INTERRUPTIONS = {"40001", "40P01", "55P03"}  # serialization failure, deadlock, lock time-out


@contextmanager
def naming_interruptions() -> Iterator[None]:
    """Let callers know by name that their outermost transaction must run again, and let it not commit."""
    try:
        yield
    except OperationalError as error:
        if not is_interruption(error):
            raise
        if db.in_transaction():
            transaction.set_rollback(True, using=conf.database)
        raise AppendInterrupted(
            "The database interrupted this append (deadlock or lock time-out): the outermost transaction must run "
            "again. Decorate the function that opens it with @store.retrying()."
        ) from error


def is_interruption(error: OperationalError) -> bool:
    """Whether trying the whole transaction again may help."""
    cause: Any = error.__cause__
    return getattr(cause, "sqlstate", None) in INTERRUPTIONS or "database is locked" in str(error)


def retrying(
    *, tries: int = 5, on: tuple[type[Exception], ...] = (AppendInterrupted,), wait: float = 0.02
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Run a function again when the database interrupted it; for the function that opens the outermost transaction."""

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        @wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> T:
            last = 1 if db.in_transaction() else tries  # only the outermost transaction can be run again
            for attempt in range(1, last):
                try:
                    return function(*args, **kwargs)
                except on:
                    time.sleep(random.uniform(0.5, 1.5) * wait * 2**attempt)  # noqa: S311 - jitter
            return function(*args, **kwargs)

        return run

    return decorate
