"""Handle and complete: a claim's messages go to its consumer; what follows from them is committed with the ack."""

from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from django.db import Error, transaction

from ccc_django import db, groups, stages, store, wording
from ccc_django.claims import Claim, SharedClaim
from ccc_django.conf import conf
from ccc_django.consumers.actions import Action, Append, RunAfterCommit, RunInTransaction, Schedule
from ccc_django.consumers.evolving import Step
from ccc_django.consumers.excuses import NotHandledHere, excused
from ccc_django.consumers.functions import FunctionConsumer
from ccc_django.consumers.preparing import AnyConsumer, Prepared, Stop, prepare
from ccc_django.consumers.retries import repeating
from ccc_django.errors import ClaimLost
from ccc_django.groups.releasing import fail_first, put_off
from ccc_django.guards import Guard
from ccc_django.messages import Message


@dataclass(slots=True)
class Outcome:
    """What became of a claim: what is done, and why it ended early, if it did.

    ``held`` is a claim of which everything is done, and whose ack may travel with the next claim. ``excuses`` is how
    often in a row nobody was to blame for the error.
    """

    steps: list[Step] = field(default_factory=list)
    error: BaseException | None = None
    is_lost: bool = False
    held: Claim | None = None
    excuses: int = 0


def never() -> bool:
    """Nobody wants us to stop."""
    return False


def run(consumer: AnyConsumer, claim: Claim, *, stop: Stop = never, may_hold: bool = False) -> Outcome:
    """Handle the messages of a claim in their order, and give the claim back.

    What fails is released with its error, after everything before it was committed. Whoever is to stop finishes the
    message in hand. With ``may_hold`` the last ack is left to the caller, where there is nothing else to commit.
    """
    outcome, session = Outcome(), db.session()
    rest: Claim | None = claim
    try:
        rest = _of_known_types(consumer, claim)
        while rest is not None:
            rest = _handled(consumer, rest, stop, outcome, may_hold=may_hold)
            if rest is not None and stop():
                groups.release(rest)
                break
    except ClaimLost:
        outcome.is_lost = True
        wording.lost(group=claim.group, partition=claim.partition_key)
    except KeyboardInterrupt:
        _give_back(rest or claim, groups.release)
        raise
    except BaseException as error:  # noqa: BLE001 - whatever a handler raises, the worker goes on
        outcome.error = error
        is_all = isinstance(consumer, FunctionConsumer) and consumer.batch
        outcome.excuses = _failed(rest or claim, error, session, release=groups.release if is_all else fail_first)
    stages.handled(claim, [step.message for step in outcome.steps], outcome.error)
    return outcome


def _of_known_types(consumer: AnyConsumer, claim: Claim) -> Claim:
    """The messages of a claim up to the first that only newer code knows, whose workers will get it."""
    known = {*consumer.handled_types()}
    if not known:  # everything of its topics
        return claim
    if isinstance(claim, SharedClaim):
        return _of_known_types_in_any_order(claim, known)
    number = next((n for n, message in enumerate(claim.messages) if message.type not in known), None)
    if number is None:
        return claim
    message = claim.messages[number]
    if number == 0:
        raise _not_handled(claim, message)
    return replace(claim, messages=claim.messages[:number], next_position=message.position)


def _of_known_types_in_any_order(claim: SharedClaim, known: set[str]) -> SharedClaim:
    """The messages that this code knows; the others wait for newer code, and hold up nobody."""
    unknown = [message for message in claim.messages if message.type not in known]
    if len(unknown) == len(claim.messages):
        raise _not_handled(claim, unknown[0])
    if unknown:
        put_off(claim.of(unknown), _not_handled(claim, unknown[0]))
    return claim.without(unknown)


def _not_handled(claim: Claim, message: Message) -> NotHandledHere:
    how = 'kind="shared"' if isinstance(claim, SharedClaim) else "partition_by=…"
    return NotHandledHere(
        f"{claim.group} handles {message.type}, and this code does not: newer code will. If the type was given up, "
        f"say so: groups.register({claim.group!r}, {how}, handled_types=…, replace=True)"
    )


def _handled(consumer: AnyConsumer, claim: Claim, stop: Stop, outcome: Outcome, *, may_hold: bool) -> Claim | None:
    """Handle some messages, and commit what follows; the claim of the others.

    What somebody else has made obsolete is prepared again, unless that would repeat effects outside of the database.
    """

    def finish(prepared: Prepared) -> Claim | None:
        rest = None
        if may_hold and prepared.is_empty and claim.dead_letter is None and _is_all(prepared, claim):
            outcome.held = claim
        else:
            rest = complete(claim, prepared)
        outcome.steps += prepared.steps
        return rest

    def call() -> tuple[Claim | None, Prepared | None]:
        is_alone = not db.in_transaction()
        with transaction.atomic(using=conf.database):
            before = db.written()
            prepared = prepare(consumer, claim, stop)
            if prepared.is_empty and db.is_clean(before):  # the transaction is for nothing, and the ack may travel
                return claim, prepared
            rest = complete(claim, prepared, savepoint=False)
            if is_alone:
                db.let_hooks_fail_alone()
        outcome.steps += prepared.steps
        return rest, None

    if not isinstance(consumer, FunctionConsumer):
        return repeating(lambda: finish(prepare(consumer, claim, stop)))
    rest, prepared = repeating(call) if consumer.in_transaction else (None, prepare(consumer, claim, stop))
    return rest if prepared is None else repeating(partial(finish, prepared))


def complete(claim: Claim, prepared: Prepared, *, savepoint: bool = True) -> Claim | None:
    """Commit what follows from messages together with their ack; the claim of the others.

    The ack is the last statement before the commit, and the fence: if the claim was lost, nothing has happened.
    """
    is_alone = not db.in_transaction()
    with nullcontext() if prepared.is_empty else transaction.atomic(using=conf.database, savepoint=savepoint):
        perform([action for step in prepared.steps for action in step.actions], prepared.guard)
        if prepared.store is not None:
            prepared.store()
        if is_alone:
            db.let_hooks_fail_alone()
        rest = None
        if _is_all(prepared, claim):
            groups.ack(claim)
        else:
            rest = groups.go_on(claim, position=prepared.steps[-1].message.position or 0)
        stages.completed(claim, [step.message for step in prepared.steps])
    return rest


def perform(actions: Iterable[Action], guard: Guard | None = None) -> None:
    """Append, schedule, run: in this order, each in the order in which it was asked for."""
    listed = list(actions)
    if messages := [action.message for action in listed if isinstance(action, Append)]:
        store.append(messages, guard=guard)
    for action in listed:
        if isinstance(action, Schedule):
            store.schedule(action.message, at=action.at)
        elif isinstance(action, RunInTransaction):
            action.function()
        elif isinstance(action, RunAfterCommit):
            transaction.on_commit(action.function, using=conf.database, robust=True)


def _is_all(prepared: Prepared, claim: Claim) -> bool:
    return prepared.steps[-1].message.position == claim.position


def _failed(claim: Claim, error: BaseException, session: Any, *, release: Callable[..., None]) -> int:
    """The message failed, unless it has an excuse; how many it has had in a row."""
    excuses = excused(claim, error, session)
    if getattr(db.session(), "closed", False):
        db.connection().close()
    if excuses:
        _give_back(claim, partial(put_off, error=error, times=excuses))
    else:
        _give_back(claim, partial(release, error=error))
    return excuses


def _give_back(claim: Claim, release: Callable[[Claim], None]) -> None:
    try:
        with suppress(ClaimLost):
            release(claim)
    except Error:
        wording.not_given_back(group=claim.group, partition=claim.partition_key)
