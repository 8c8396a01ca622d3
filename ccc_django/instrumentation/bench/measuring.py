"""Measuring: each thing for a few seconds, on the database of the log; nothing of it is left but used positions."""

import secrets
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ccc_django import db, groups, store
from ccc_django.errors import InsideTransaction, LogHasMessages
from ccc_django.instrumentation.bench.cleaning import clean
from ccc_django.instrumentation.bench.names import GROUPS, KEY, LANE, SINGLE, TYPES
from ccc_django.instrumentation.bench.report import APPEND, COMMIT, JOURNEY, Figure, Report, limit_of
from ccc_django.instrumentation.bench.timing import timed
from ccc_django.models import StoredMessage

SECONDS = 2.0
CLIENTS = 4  # SQLite has one writer at a time
STEPS = 7
PER_SECOND, MOST = 2_000, 20_000  # messages that wait to be claimed

Progress = Callable[[str, int, int], None]


def measure(
    *,
    seconds: float = SECONDS,
    clients: int | None = None,
    with_messages: bool = False,
    progress: Progress = lambda _step, _number, _of: None,
) -> Report:
    """Measure appends, claims and consuming, and say what limits them; everything is removed, also after Ctrl-C.

    A log that has messages is refused, unless ``with_messages=True``.
    """
    refuse(with_messages=with_messages, seconds=seconds, clients=clients)
    several = clients or default_clients()
    figures: list[Figure] = []
    removed = 0
    try:
        for number, (name, begin) in enumerate(_steps(f"{GROUPS}{secrets.token_hex(4)}", seconds), start=1):
            progress(name, number, STEPS)
            figures.append(timed(name, begin, clients=several, seconds=seconds))
    finally:
        progress("cleaning up", STEPS, STEPS)
        removed = clean()
    return Report(
        database=db.connection().vendor,
        clients=several,
        seconds=seconds,
        figures=tuple(figures),
        limit=limit_of(tuple(figures)),
        removed=removed,
    )


def refuse(*, with_messages: bool, seconds: float = SECONDS, clients: int | None = None) -> None:
    """Raise what stands against a measurement, before anything is written."""
    if seconds <= 0 or (clients is not None and clients < 1):
        raise ValueError(f"seconds={seconds:g}, clients={clients}: more than nothing is needed to measure.")
    if db.in_transaction():
        raise InsideTransaction("A measurement commits, and cannot run inside of a transaction.")
    if with_messages or not StoredMessage.objects.exists():
        return
    if not StoredMessage.objects.exclude(message_type__in=TYPES).exists():
        raise LogHasMessages("A measurement that was killed has left messages: remove them with --clean.")
    raise LogHasMessages(
        "The log has messages. Measure an empty database with the same settings, or say --with-messages: the "
        "measurement then runs beside them, competes with whoever works there, and leaves gaps in the positions."
    )


def default_clients() -> int:
    """As many as are worth it."""
    return 1 if db.is_sqlite() else CLIENTS


def _steps(run: str, seconds: float) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What is measured, one after another; what a step needs is made before it begins."""
    from ccc_django.instrumentation.bench import clients  # noqa: PLC0415 - with messages that a project otherwise has not

    yield JOURNEY, partial(clients.Travelling, run)
    yield COMMIT, partial(clients.Committing, run)
    _register(clients.claims_of(run), KEY, (SINGLE,))
    _register(clients.batches_of(run), LANE, TYPES)
    yield APPEND, partial(clients.Appending, run)
    yield f"append of {clients.MANY}", partial(clients.AppendingMany, run)
    yield "guarded append", partial(clients.AppendingGuarded, run)
    _top_up(clients.Appending(run), min(int(seconds * PER_SECOND), MOST))
    while groups.advance(clients.claims_of(run)):
        pass
    yield "claim and ack", partial(clients.Claiming, run)
    yield "consume in batches", partial(clients.Consuming, run)


def _register(name: str, partition_by: str, types: tuple[str, ...]) -> None:
    """A group that begins at the end of the log: what was there before is none of its business."""
    groups.register(name, partition_by=partition_by, handled_types=types)
    groups.seek(name, to="end")


def _top_up(appending: Any, wanted: int) -> None:
    """Let so many messages wait to be claimed, at least."""
    missing = wanted - StoredMessage.objects.of_types([SINGLE]).count()
    for start in range(0, missing, 500):
        store.append([appending.message() for _ in range(min(500, missing - start))])
