"""Append: messages enter the log, all or none, unless a guard finds that something relevant has happened."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from pydantic_core import from_json

from ccc_django import db, declared, notifications, stages, tracing, wording
from ccc_django.conditions import Condition
from ccc_django.conf import conf
from ccc_django.entries import Entry
from ccc_django.errors import AppendConflict
from ccc_django.filters import Filter
from ccc_django.guards import Guard
from ccc_django.messages import Message, noted
from ccc_django.restoring import UnknownMessage
from ccc_django.store import duplicates, writing
from ccc_django.store.retries import naming_interruptions

Place = tuple[int, datetime]


def append(
    messages: Message | Iterable[Message],
    *,
    guard: Guard | None = None,
    unless: Filter | Iterable[Condition] | None = None,
    after: int | None = None,
) -> list[Message]:
    """Add messages to the log and return them with their positions.

    Inside of a transaction they become visible with its commit; otherwise at once. With a guard nothing is added, and
    AppendConflict raised, if something that matches it has been appended since its reader looked; ``unless=filter``
    with ``after=position`` is the same without knowing what of it was seen.
    """
    guard = cautious(guard, unless, after)
    given = [messages] if isinstance(messages, Message) else list(messages)
    with tracing.appending(given) as carrier:
        given = [noted(message, **carrier) for message in given] if carrier else given
        entries = duplicates.merged([entry_of(message) for message in given])
        refuse_too_many_pairs(entries)
        with naming_interruptions():
            places = add(entries, guard)
    if db.in_transaction() and not db.is_managed_by_hand():
        transaction.on_commit(appended, using=conf.database)
    notifications.announce(entry.message_type for entry in entries)
    stored = [message.placed(*places[message.id]) for message in given]
    stages.appended(stored)
    return stored


def appended() -> None:
    """Do nothing: that this waits for a commit says that the transaction has appended."""


def has_appended() -> bool:
    """Whether the transaction that the caller has opened has appended; one that a test case has opened is nobody's."""
    database: Any = db.connection()
    of_tests = sum(block._from_testcase for block in database.atomic_blocks)  # noqa: SLF001 - as Django's own durable=True
    if len(database.atomic_blocks) == of_tests:
        return False
    opened = {*database.savepoint_ids[of_tests - 1 : of_tests]} if of_tests else set()
    return any(function is appended and opened <= savepoints for savepoints, function, _ in database.run_on_commit)


def append_on_commit(messages: Message | Iterable[Message]) -> None:
    """Append just after the caller's commit, so that a slow transaction holds nothing back meanwhile.

    The promise is weaker: a process that dies between the two commits loses the messages.
    """
    given = [messages] if isinstance(messages, Message) else list(messages)
    transaction.on_commit(tracing.going_on(partial(append, given)), using=conf.database)


def refuse_too_many_pairs(entries: list[Entry]) -> None:
    """A few long lists in a combination would fill the index by themselves."""
    for index in declared.current().indexes:
        for entry in entries if len(index.fields) > 1 else ():
            index.refuse_too_many(from_json(entry.payload))


def cautious(guard: Guard | None, unless: Filter | Iterable[Condition] | None, after: int | None) -> Guard | None:
    """The guard that a caller means, who may name a filter and a position instead."""
    if unless is None and after is None:
        return guard
    if guard is not None or unless is None or after is None:
        raise TypeError("append takes a guard, or unless=filter together with after=position")
    if isinstance(unless, Filter):
        return Guard(filter=unless, after=after)
    return Guard(conditions=tuple(unless), after=after)


def entry_of(message: Message) -> Entry:
    """What is written for a message; one without a class cannot be indexed."""
    if not isinstance(message, Message):
        raise TypeError(f"Messages are appended, and {message!r} is none.")
    if isinstance(message, UnknownMessage):
        raise TypeError(f"{message.type} cannot be appended: {message.reason}")
    return Entry.of(message)


def add(entries: list[Entry], guard: Guard | None = None) -> dict[UUID, Place]:
    """Write entries; those that are in the log already, with the same content, keep the place that they have."""
    if not entries:
        return {}
    failure: Exception | None = None
    known_indexes, wanted = declared.looked_for(guard) if guard else (declared.current(), None)
    indexed = [entry.indexed(known_indexes.indexes) for entry in entries] if known_indexes.indexes else entries
    try:
        if places := writing.write(indexed, guard, wanted, known_indexes):
            return places
        if not declared.is_current(known_indexes.version):
            declared.reload()
            return add(entries, guard)
    except IntegrityError as error:
        failure = error
    known = duplicates.known(entries)
    if not known:
        raise failure or conflict(guard)
    rest = [entry for entry in entries if entry.message_id not in known]
    return known | add(rest, guard and replace(guard, seen=guard.seen.union(place[0] for place in known.values())))


def conflict(guard: Guard | None) -> Exception:
    """The error for a guard that found something."""
    assert guard is not None  # noqa: S101 - an append without a guard writes or fails
    error = AppendConflict(guard, writing.conflicts(guard))
    wording.conflicted(types=error.types, positions=error.positions)
    return error
