"""Handle: a command is appended, decided and answered at once, in its turn, by whoever asks."""

import os
import random
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from django.db import OperationalError, transaction

from ccc_django import db, groups, patience, store
from ccc_django.conf import conf
from ccc_django.consumers import declaring, registry, runner
from ccc_django.consumers.decider import CommandRejected, Decider
from ccc_django.consumers.refusals import rejection
from ccc_django.consumers.retries import is_repeatable
from ccc_django.errors import (
    AppendInterrupted,
    CommandFailed,
    InsideTransaction,
    PartitionBusy,
    UnknownConsumer,
    UnknownGroup,
)
from ccc_django.groups.claiming import claim_named
from ccc_django.groups.seeking import find_or_make
from ccc_django.messages import Message
from ccc_django.models import DeadLetter, Offset, StoredMessage
from ccc_django.partitions import Partition
from ccc_django.store.appending import has_appended

TIMEOUT = timedelta(seconds=10)
FIRST_PAUSE, LONGEST_PAUSE = 0.002, 0.05  # seconds


def handle(command: Message, *, timeout: timedelta = TIMEOUT) -> list[Message]:
    """Append a command, handle what waits before it in its partition, then it; its events, or the DomainError.

    If its partition is not free in time, PartitionBusy is raised: the command is in the log, and workers will handle
    it. What reacts to its events runs in its turn, as always. The same command is handled once, however often asked.
    """
    decider = _decider_of(command)
    partition = _partition_of(decider, command)
    if has_appended():
        raise InsideTransaction(
            "handle() may wait for others, who may wait for what this transaction has appended: call it before "
            "anything else is appended, or after the commit."
        )
    deadline = time.monotonic() + timeout.total_seconds()
    with _in_time(deadline):
        return _answer(decider, partition, _asked(decider, partition, command, deadline))


@contextmanager
def _in_time(deadline: float) -> Iterator[None]:
    """Wait for no lock after the deadline; the caller's transaction goes on as patient as it was."""
    is_ours = db.is_sqlite() or not db.in_transaction()
    before = None if is_ours else db.rows("lock_timeout")[0][0]
    try:
        with patience.until(deadline):
            yield
    finally:
        if before is not None and not db.connection().needs_rollback:
            db.rows("limit_waiting", limit=before)


def _asked(decider: type[Decider], partition: Partition, command: Message, deadline: float) -> Message:
    """The command in the log; nothing is, if others held what it needs for too long."""
    try:
        _make_partition(decider, partition)
        return _appended(command, deadline)
    except (AppendInterrupted, OperationalError) as error:
        if not patience.is_over():
            raise
        raise PartitionBusy(
            f"{command.type} was not appended, and nothing has changed: a transaction that is at the same facts is not "
            "committed yet. Ask again."
        ) from error


def _decider_of(command: Message) -> type[Decider]:
    deciders = registry.deciders_of(command.type)
    if len(deciders) != 1:
        found = ", ".join(each.__name__ for each in deciders) or "nobody"
        raise UnknownConsumer(f"handle() needs one decider for {command.type!r}, and {found} decides on it.")
    return deciders[0]


def _partition_of(decider: type[Decider], command: Message) -> Partition:
    pairs = [pair for pair in command.key_pairs if pair.name in decider.options.partition_by]
    if len(pairs) != len({*decider.options.partition_by}) or len({pair.name for pair in pairs}) != len(pairs):
        wanted = ", ".join(decider.options.partition_by)
        raise ValueError(f"{command.type} belongs to no single partition: handle() needs one value of {wanted} each.")
    return Partition(tuple(sorted(pairs)))


def _make_partition(decider: type[Decider], partition: Partition) -> None:
    """Before the append: inside of a transaction this may wait for another, which may wait for what was appended."""
    declaring.declare_once(decider)
    try:
        _find_or_make(decider, partition)
    except UnknownGroup:  # somebody has deleted it, or emptied the tables, as tests do
        declaring.declare(decider)
        _find_or_make(decider, partition)


def _find_or_make(decider: type[Decider], partition: Partition) -> None:
    if not Offset.objects.filter(group__name=decider.group_name(), partition_id=partition.uuid).exists():
        with transaction.atomic(using=conf.database):
            db.rows("head")  # a statement of ours, which says how long to wait
            find_or_make(decider.group_name(), partition)


def _appended(command: Message, deadline: float) -> Message:
    """The command in the log; inside of a transaction, nothing is held while appends elsewhere are waited for.

    Two transactions that have appended may each hold the head back for the other.
    """
    while db.in_transaction() and not db.is_sqlite():
        with transaction.atomic(using=conf.database):
            [stored] = store.append([command])
            if store.head() >= (stored.position or 0):
                return stored
            transaction.set_rollback(True, using=conf.database)
        if time.monotonic() >= deadline:
            break
        time.sleep(random.uniform(FIRST_PAUSE, LONGEST_PAUSE))  # noqa: S311 - jitter
    [stored] = store.append([command])
    return stored


def _answer(decider: type[Decider], partition: Partition, command: Message) -> list[Message]:
    """Try until the command is done, or the time is over while somebody else is at it."""
    name, position, pause = decider.group_name(), command.position or 0, FIRST_PAUSE
    while True:
        is_final = store.head() >= position
        if is_final and _handled(decider, partition, command) and not patience.is_over():
            continue
        if _is_done(name, partition, position):
            return _events(decider, command)
        if patience.is_over() or (db.is_sqlite() and db.in_transaction()):  # then nobody else can go on
            raise PartitionBusy(
                f"{command.type} at {position} is in the log and not handled yet: "
                f"{_reason(name, partition) if is_final else 'an append elsewhere is not committed yet'}. Workers will."
            )
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


def _handled(decider: type[Decider], partition: Partition, command: Message) -> bool:
    """Handle a batch that ends with the command at the latest; False if the partition is not free, or nothing waits."""
    position, worker = command.position or 0, f"handle-{socket.gethostname()}-{os.getpid()}"
    claim = claim_named(decider.group_name(), partition, worker=worker, upto=position, lease=decider.options.lease)
    if claim is None:
        return False
    outcome = runner.run(decider, claim, stop=patience.is_over)
    for step in outcome.steps:
        if step.message.id == command.id and step.rejection is not None:
            raise step.rejection
    if outcome.error is not None and is_repeatable(outcome.error):
        return False
    if outcome.error is not None:
        if claim.messages[len(outcome.steps)].id == command.id:
            raise outcome.error
        if claim.dead_letter is not None:  # it is one again, and stands in nobody's way
            return True
        raise PartitionBusy(
            f"{command.type} at {position} is in the log; a message before it has failed, and is tried again."
        ) from outcome.error
    return True


def _is_done(name: str, partition: Partition, position: int) -> bool:
    offset = Offset.objects.filter(group__name=name, partition_id=partition.uuid)
    return bool(offset.filter(last_position__gte=position).exists())


def _reason(name: str, partition: Partition) -> str:
    if not groups.is_active(name):
        return f"the group {name} is stopped"
    offset = Offset.objects.filter(group__name=name, partition_id=partition.uuid).first()
    if offset is not None and offset.error:
        return f"it, or a message before it, has failed with {offset.error}, and is tried again"
    return f"{offset.claimed_by if offset and offset.claimed_by else 'somebody'} is at its partition"


def _events(decider: type[Decider], command: Message) -> list[Message]:
    """What somebody has decided on a command, as the log says."""
    correlated = StoredMessage.objects.correlated(command.correlation_id).order_by("position")
    of_command = correlated.filter(causation_id=command.id).messages()
    caused = [each for each in of_command if each.id != command.id and _is_by(decider, each)]
    for event in caused:
        if isinstance(event, CommandRejected) and event.command_id == command.id:
            raise rejection(event, decider)
    letter = DeadLetter.objects.open().of_group(decider.group_name()).filter(position=command.position or 0).first()
    if letter is not None and not caused:
        raise CommandFailed(f"{command.type} at {command.position} has failed, and is a dead letter: {letter.error}")
    return caused


def _is_by(decider: type[Decider], message: Message) -> bool:
    """Others may also append what a command leads to; what a decider has made says so."""
    name = decider.group_name()
    return bool(message.envelope.metadata.get("consumer", name) == name)
