"""Writing: the statements of an append, in their order: locks that may wait, then the check and the rows."""

from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import Error, transaction

from ccc_django import db, declared, entries, locks
from ccc_django.conf import conf
from ccc_django.declared import Declared
from ccc_django.entries import Entry
from ccc_django.errors import AppendInterrupted, WrongIsolation
from ccc_django.guards import Guard
from ccc_django.models import matching
from ccc_django.wanted import Wanted

BATCH = 2_000  # rows a statement: memory stays bounded, and journeys few
NEEDED = 3  # results of an append: of its locks, its positions, its messages
MOST_CONFLICTS = 100  # as many as an error shows

Place = tuple[int, datetime]


def write(given: list[Entry], guard: Guard | None, wanted: Wanted | None, known: Declared) -> dict[UUID, Place] | None:
    """Write entries and say where they stand; None, and nothing is written, if the guard found something.

    Nor is anything written if indexes have been declared that the entries do not know.
    """
    if guard and wanted and matching.uncovered_conflicts(wanted, after=guard.after, seen=guard.seen):
        return None
    batches = [given[start : start + BATCH] for start in range(0, len(given), BATCH)]
    write_batches = _to_sqlite if db.is_sqlite() else _to_postgres
    places = write_batches(batches, guard, wanted, known)
    return dict(zip((entry.message_id for entry in given), places, strict=True)) if places else None


def conflicts(guard: Guard) -> list[tuple[int, str]]:
    """Positions and types of what a guard finds, the first of them."""
    return _found(guard, declared.looked_for(guard)[1], MOST_CONFLICTS)


def _found(guard: Guard, wanted: Wanted, most: int) -> list[tuple[int, str]]:
    return matching.conflicts(wanted, after=guard.after, seen=guard.seen, most=most)


def _to_postgres(
    batches: list[list[Entry]], guard: Guard | None, wanted: Wanted | None, known: Declared
) -> list[Place]:
    inside = db.in_transaction()
    in_transaction = inside or len(batches) > 1
    lock = locks.call((entry for batch in batches for entry in batch), wanted, in_transaction=in_transaction)
    with transaction.atomic(using=conf.database) if len(batches) > 1 else nullcontext():
        [[isolation, *_]], _, places = _in_savepoint(lock, *_insertion(batches[0], known, guard, wanted), inside=inside)
        if guard and isolation != "read committed":
            raise WrongIsolation(f"A guarded append needs READ COMMITTED; this transaction is {isolation.upper()}.")
        if not places and isolation != "read committed":
            declared.reload()
            raise AppendInterrupted("An index has been declared since this transaction began: run it again.")
        for batch in batches[1:] if places else ():
            _, more = db.in_one_trip(*_insertion(batch, known), needed=2)
            if not more:  # an index has been declared between two batches
                transaction.set_rollback(True, using=conf.database)
                return []
            places += more
    return places


def _insertion(
    batch: list[Entry], known: Declared, guard: Guard | None = None, wanted: Wanted | None = None
) -> list[db.Call]:
    """Small statements in one message cost less than one large statement that does the same."""
    columns = entries.parameters(batch)
    looked_for: dict[str, Any] = {"opened": known.version[0], "declared": known.version[1]}
    if guard and wanted:
        looked_for |= wanted.parameters(after=guard.after, most=1) | {"seen": list(guard.seen)}
    take = "take_positions"
    if wanted:
        plain = wanted.is_plain and not wanted.whole_types and not wanted.everything
        take = "take_guarded_positions" if plain else "take_filtered_positions"
    return [(take, columns | looked_for), ("insert_messages", columns), ("insert_index", columns)]


def _in_savepoint(*calls: db.Call, inside: bool) -> list[list[db.Row]]:
    """Inside of the caller's transaction a failure undoes the append alone; the savepoint costs no journey."""
    if not inside:
        return db.in_one_trip(*calls, needed=NEEDED)
    try:
        return db.in_one_trip(("savepoint", {}), *calls, ("release_savepoint", {}), needed=NEEDED + 1)[1:]
    except Error:
        with suppress(Error):  # where there is no savepoint yet, the caller's transaction is lost
            db.rows("rollback_to_savepoint")
        raise


def _to_sqlite(batches: list[list[Entry]], guard: Guard | None, wanted: Wanted | None, known: Declared) -> list[Place]:
    places: list[Place] = []
    with transaction.atomic(using=conf.database):
        _, [[first, now]], [version] = db.in_one_trip(("lock_append", {}), ("next_position", {}), ("index_version", {}))
        if version[:2] != known.version:
            return []
        if guard and wanted and _found(guard, wanted, 1):
            return []
        for batch in batches:
            places += _insert_into_sqlite(batch, first + len(places), now)
    return places


def _insert_into_sqlite(batch: list[Entry], first: int, now: str) -> list[Place]:
    columns = entries.parameters(batch)
    messages = [
        (first + number, *_sqlite_row(entry), shape, now)
        for number, (entry, shape) in enumerate(zip(batch, columns["shapes"], strict=True))
    ]
    positions = [first + number - 1 for number in columns["entry_numbers"]]
    index = zip(map(bytes.fromhex, columns["entry_pairs"]), columns["entry_shapes"], positions, strict=True)
    pairs = zip(map(bytes.fromhex, columns["pair_ids"]), columns["pair_names"], columns["pair_values"], strict=True)
    shapes = zip(columns["shape_ids"], columns["shape_types"], columns["shape_names"], strict=True)
    db.in_one_trip(
        ("insert_message", messages),
        ("insert_entry", list(index)),
        ("insert_key_pair", list(pairs)),
        ("insert_shape", list(shapes)),
    )
    appended_at = datetime.fromisoformat(now).replace(tzinfo=UTC)
    return [(first + number, appended_at) for number in range(len(batch))]


def _sqlite_row(entry: Entry) -> tuple[Any, ...]:
    """The columns of a message as Django keeps them in SQLite."""
    created_at = entry.created_at.replace(tzinfo=None).isoformat(sep=" ")
    return (entry.message_id.hex, *entry[1:6], entry.correlation_id.hex, entry.causation_id.hex, created_at)
