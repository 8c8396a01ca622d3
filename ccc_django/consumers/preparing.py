"""Preparing: a consumer's messages become steps; nothing is committed yet, and everything can be prepared again."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

from ccc_django import tracing
from ccc_django.claims import Claim
from ccc_django.consumers import histories, states
from ccc_django.consumers.actions import Action, RunAfterCommit, RunInTransaction, noting
from ccc_django.consumers.decider import Decider
from ccc_django.consumers.evolving import History, Step, StoredState
from ccc_django.consumers.functions import FunctionConsumer
from ccc_django.consumers.projector import Projector
from ccc_django.guards import Guard
from ccc_django.messages import Message

AnyConsumer = type[Decider] | type[Projector] | FunctionConsumer
Stop = Callable[[], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """Steps that are to be committed together, under a guard, with something to be stored."""

    steps: list[Step]
    guard: Guard | None = None
    store: Callable[[], None] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to commit but the ack."""
        return self.store is None and not any(step.actions for step in self.steps)


def prepare(consumer: AnyConsumer, claim: Claim, stop: Stop) -> Prepared:
    """What follows from the messages of a claim, up to the first that fails, or to where we are to stop.

    Raises what the first message raises.
    """
    messages = claim.messages
    while True:
        try:
            return _prepared(consumer, claim, messages, stop)
        except FailedLater as failure:  # what has failed may have changed the state: the rest is done afresh
            messages = messages[: failure.number]


class FailedLater(Exception):
    """A message has failed that is not the first."""

    def __init__(self, number: int) -> None:
        self.number = number


def _prepared(consumer: AnyConsumer, claim: Claim, messages: list[Message], stop: Stop) -> Prepared:
    if isinstance(consumer, FunctionConsumer):
        return _called(consumer, claim)
    if issubclass(consumer, Decider):
        return _decided(consumer, claim, messages, stop)
    return _projected(consumer, claim, messages, stop)


def _called(consumer: FunctionConsumer, claim: Claim) -> Prepared:
    """One message, or all of them at once."""
    messages = claim.messages if consumer.batch else claim.messages[:1]
    *others, last = messages
    with tracing.handling(claim.group, messages):
        step = _signed(Step(last, consumer.actions(messages, claim)), claim)
    return Prepared(steps=[*(Step(message, []) for message in others), step])


def _decided(kind: type[Decider], claim: Claim, messages: list[Message], stop: Stop) -> Prepared:
    """What is replayed was decided once, and is not decided again."""
    if claim.replaying:
        return Prepared(steps=[Step(message, []) for message in messages])
    decider = kind(dict(claim.partition_value))
    found = histories.read(decider, claim)
    steps = _collected(decider.steps(messages, found.history), claim, messages, stop)
    snapshot = histories.snapshot(decider, found)
    save = None if snapshot is None else partial(states.save, kind, claim, snapshot, found.position)
    return Prepared(steps=steps, guard=found.guard, store=save)


def _projected(kind: type[Projector], claim: Claim, messages: list[Message], stop: Stop) -> Prepared:
    projector, kept = kind(dict(claim.partition_value)), states.stored(kind, claim)
    if kind.event_sourced:
        history = histories.read(projector, claim).history
        steps = _collected(_followed_up(projector, messages, history, replaying=claim.replaying), claim, messages, stop)
        position = _upto(steps, kept)
        return Prepared(steps=steps, store=partial(_save, projector, claim, history.at(position), position))
    after = 0 if claim.dead_letter is not None or claim.again else kept.position
    state = _loaded(projector, kept)
    steps = _collected(projector.steps(state, messages, after=after, replaying=claim.replaying), claim, messages, stop)
    return Prepared(steps=steps, store=partial(_save, projector, claim, steps[-1].state, _upto(steps, kept)))


def _followed_up(projector: Projector, messages: list[Message], history: History, *, replaying: bool) -> Iterable[Step]:
    for message in messages:
        actions = [] if replaying else projector.react(history.at(message.position or 0), message)
        yield Step(message, actions)


def _loaded(projector: Projector, kept: StoredState) -> Any:
    if projector.keeps_its_own():
        state = projector.load()
    else:
        state = projector.restored_state(kept.state) if kept.position else None
    return projector.initial() if state is None else state


def _upto(steps: list[Step], kept: StoredState) -> int:
    """Everything up to here is in the state; a dead letter or a seek leads back to what is behind it."""
    return max(kept.position, steps[-1].message.position or 0)


def _save(projector: Projector, claim: Claim, state: Any, position: int) -> None:
    """The position is stored also where the project keeps the state, so that nothing gets into it twice."""
    kind = type(projector)
    if projector.keeps_its_own():
        projector.save(state)
        states.save(kind, claim, None, position)
    else:
        states.save(kind, claim, projector.stored_state(state), position)


def _collected(steps: Iterable[Step], claim: Claim, messages: list[Message], stop: Stop) -> list[Step]:
    """A step for each message, up to where we are to stop."""
    done: list[Step] = []
    following = iter(steps)
    try:
        for message in messages:
            with tracing.handling(claim.group, [message]):
                done.append(_signed(next(following), claim))
            if stop():
                break
    except BaseException as error:
        if done and not isinstance(error, KeyboardInterrupt):
            raise FailedLater(len(done)) from error
        raise
    return done


def _signed(step: Step, claim: Claim) -> Step:
    """What follows says which consumer has made it, and goes on with the trace that runs."""
    if not step.actions:
        return step
    signed = noting(noting(step.actions, consumer=claim.group), **tracing.carrier())
    return step._replace(actions=[_going_on(action) for action in signed])


def _going_on(action: Action) -> Action:
    if isinstance(action, RunInTransaction | RunAfterCommit):
        return type(action)(tracing.going_on(action.function))
    return action
