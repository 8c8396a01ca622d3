"""Playing: what a worker would make of messages, by the same code, without a database and without committing."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ccc_django.consumers.actions import Action, Append
from ccc_django.consumers.decider import Decider
from ccc_django.consumers.evolving import Evolving, History, Step
from ccc_django.consumers.projector import Projector
from ccc_django.errors import DomainError
from ccc_django.messages import Message
from ccc_django.partitions import belongs

Kind = type[Decider] | type[Projector]


@dataclass(slots=True)
class Played:
    """What follows from each message, the state after them, and the error that has ended it, if one has."""

    steps: list[Step] = field(default_factory=list)
    state: Any = None
    error: Exception | None = None

    @property
    def follows(self) -> list[Message | Action]:
        """What a consumer has returned or yielded, and the rejections that a worker would append."""
        actions = [action for step in self.steps for action in step.actions]
        return [action.message if isinstance(action, Append) else action for action in actions]

    @property
    def rejections(self) -> list[DomainError]:
        """Why commands were rejected."""
        return [step.rejection for step in self.steps if step.rejection is not None]


def play(kind: Kind, partition: dict[str, Any], past: Iterable[Message], present: Iterable[Message]) -> Played:
    """Let a consumer handle messages of one partition, after others that have come before."""
    placed = [message.placed(number, message.created_at) for number, message in enumerate([*past, *present], 1)]
    number = len([*past])
    consumer = kind(dict(partition))
    if isinstance(consumer, Decider):
        return _decided(consumer, placed, placed[number:])
    if consumer.event_sourced:
        return _sourced(consumer, placed, placed[number:])
    return _projected(consumer, placed[:number], placed[number:])


def _decided(decider: Decider, everything: list[Message], present: list[Message]) -> Played:
    """The history holds everything that is in the log when a worker reads it, also what it is about to handle."""
    history = _history(decider, everything)
    played = _collected(decider.steps(present, history))
    if played.error is None:
        added = [each for each in played.follows if isinstance(each, Message)]
        played.state = decider.evolved(history.latest(), _concerning(decider, added))
    return played


def _sourced(projector: Projector, everything: list[Message], present: list[Message]) -> Played:
    history = _history(projector, everything)
    played = _collected(
        Step(each, projector.react(history.at(each.position or 0), each), state=history.at(each.position or 0))
        for each in present
    )
    return _kept(projector, played)


def _projected(projector: Projector, past: list[Message], present: list[Message]) -> Played:
    """From what would be in the database by now."""
    state = None
    if before := [*_concerning(projector, past)]:
        state = _stored(projector, projector.evolved(projector.initial(), before))
    start = projector.initial() if state is None else state
    return _kept(projector, _collected(projector.steps(start, present, after=0, replaying=False)))


def _kept(projector: Projector, played: Played) -> Played:
    if played.error is None:
        played.state = _stored(projector, played.steps[-1].state)
    return played


def _stored(projector: Projector, state: Any) -> Any:
    """A state that would not come back from the database as it was fails here as it would there."""
    return state if projector.keeps_its_own() else projector.restored_state(projector.stored_state(state))


def _history(consumer: Evolving, messages: list[Message]) -> History:
    return History(consumer, [*_concerning(consumer, messages)])


def _concerning(consumer: Evolving, messages: Iterable[Message]) -> Iterator[Message]:
    """What reaches the state: types that are evolved, and of these what belongs to the partition."""
    evolved = consumer.types_of("evolves")
    return (each for each in messages if each.type in evolved and belongs(each, consumer.partition))


def _collected(steps: Iterable[Step]) -> Played:
    """What was done up to the first error, which a worker would commit."""
    played = Played()
    try:
        played.steps.extend(steps)
    except Exception as error:  # noqa: BLE001 - whatever a handler raises, the test is to see it
        played.error = error
    return played
