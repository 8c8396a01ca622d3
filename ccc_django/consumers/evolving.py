"""Evolving: the state of a partition is what its messages have made of it, one after the other."""

from collections.abc import Iterable
from copy import deepcopy
from functools import cache
from typing import Any, ClassVar, NamedTuple

from pydantic import PydanticUserError, TypeAdapter
from pydantic_core import PydanticSerializationError, from_json

from ccc_django.consumers.actions import Action, actions_of
from ccc_django.consumers.base import Consumer
from ccc_django.errors import DomainError, NotUnderstood, Unstorable
from ccc_django.messages import Message
from ccc_django.restoring import UnknownMessage


class Step(NamedTuple):
    """One message, what follows from it, the state after it, and why it was rejected."""

    message: Message
    actions: list[Action]
    state: Any = None
    rejection: DomainError | None = None


class StoredState(NamedTuple):
    """A state as JSON holds it, and the position up to which everything is in it; nothing at position 0."""

    state: Any = None
    position: int = 0


NOTHING = StoredState()


class Evolving(Consumer):
    """A consumer with a state.

    ``state_type`` is what the state is, so that it can be stored: a dataclass, a pydantic model, anything that pydantic
    knows. Its call without arguments is the first state, unless ``initial`` says otherwise.
    """

    state_type: ClassVar[Any] = None

    def initial(self) -> Any:
        """The state before the first message."""
        return None if self.state_type is None else self.state_type()

    def evolve(self, state: Any, message: Message) -> Any:
        """The state after a message; a type that is not evolved changes nothing."""
        method = self.handlers.get("evolves", {}).get(message.type)
        if method is None:
            return state
        understood(message)
        evolved = method(self, state, message)
        return state if evolved is None else evolved

    def evolved(self, state: Any, messages: Iterable[Message]) -> Any:
        """The state after several messages."""
        for message in messages:
            state = self.evolve(state, message)
        return state

    def react(self, state: Any, event: Message) -> list[Action]:
        """What follows from an event, with the state that it has led to."""
        method = self.handlers.get("reacts", {}).get(event.type)
        return [] if method is None else actions_of(method(self, state, understood(event)), cause=event)

    @classmethod
    def stored_state(cls, state: Any) -> Any:
        """A state as JSON holds it, if it comes back as it was."""
        try:
            stored = from_json(adapter(cls.state_type).dump_json(state))
            if cls.restored_state(stored) == state:
                return stored
        except (PydanticSerializationError, PydanticUserError, ValueError) as error:
            reason = str(error)
        else:
            reason = "it would not come back as it was"
        raise Unstorable(f"The state of {cls.__name__} cannot be stored: {reason}. Say what it is: state_type = …")

    @classmethod
    def restored_state(cls, stored: Any) -> Any:
        """A state that was stored."""
        return adapter(cls.state_type).validate_python(stored)


class History:
    """What has happened in a partition, folded up to any position; each caller gets a state of its own to change."""

    def __init__(self, consumer: "Evolving", messages: list[Message], base: StoredState = NOTHING) -> None:
        self.consumer = consumer
        self.messages = messages
        self.base = base
        self._reached, self._state = -1, None

    def start(self) -> Any:
        """The state before the first of these messages: a snapshot, if there is one."""
        kept = deepcopy(self.base.state)  # some states are changed in place
        return self.consumer.restored_state(kept) if self.base.position else self.consumer.initial()

    def latest(self) -> Any:
        """The state now."""
        return self.consumer.evolved(self.start(), self.messages)

    def at(self, position: int) -> Any:
        """The state just after a position; positions grow from call to call."""
        if self._reached < 0:
            self._reached, self._state = self.base.position, self.start()
        between = (each for each in self.messages if self._reached < (each.position or 0) <= position)
        self._state = self.consumer.evolved(self._state, between)
        self._reached = position
        return self._state


@cache
def adapter(state_type: Any) -> TypeAdapter[Any]:
    """How a state becomes JSON, and itself again."""
    return TypeAdapter(Any if state_type is None else state_type)


def understood(message: Message) -> Message:
    """A message that its class can express: a decision without it would be a decision on something else."""
    if isinstance(message, UnknownMessage):
        raise NotUnderstood(f"{message.type} at {message.position}: {message.reason}")
    return message
