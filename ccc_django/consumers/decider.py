"""Deciders: a command, and what its partition has come to, lead to events; pure, so that it can be tried again."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, ClassVar
from uuid import UUID

from ccc_django.attributes import Unindexed
from ccc_django.consumers.actions import Action, Append, actions_of
from ccc_django.consumers.evolving import Evolving, History, Step, understood
from ccc_django.errors import DomainError
from ccc_django.messages import Event, Message
from ccc_django.partitions import belongs


class CommandRejected(Event, type="ccc.command_rejected"):
    """A decider has refused a command, for a reason of its domain."""

    command_id: UUID
    command_type: str
    error: str
    reason: Annotated[str, Unindexed]

    @classmethod
    def of(cls, command: Message, error: DomainError) -> "CommandRejected":
        """The refusal of a command."""
        name = type(error).__name__
        return command.correlate(
            cls(command_id=command.id, command_type=command.type, error=name, reason=str(error) or name)
        )


class Decider(Evolving):
    """Decides on commands: ``@evolves`` builds the state, ``@decides`` takes it and a command, ``@reacts`` follows up.

    With ``snapshot_every=N`` the state is stored after so many messages, and read from there.
    """

    snapshot_every: ClassVar[int | None] = None

    def __init_subclass__(cls, *, snapshot_every: int | None = None, **given: Any) -> None:
        if snapshot_every is not None and snapshot_every < 1:
            raise ValueError(f"{cls.__name__}: snapshot_every={snapshot_every}: after one message at least.")
        cls.snapshot_every = cls.snapshot_every if snapshot_every is None else snapshot_every
        super().__init_subclass__(**given)

    @classmethod
    def handled_types(cls) -> tuple[str, ...]:
        """Commands that are decided and events that are followed up; the history is read when it is needed."""
        return tuple(sorted({*cls.types_of("decides"), *cls.types_of("reacts")}))

    @classmethod
    def history_types(cls) -> tuple[str, ...]:
        """Everything that its decisions depend on."""
        return cls.types_of("evolves")

    def decide(self, state: Any, command: Message) -> list[Action]:
        """What follows from a command; raises the DomainError that rejects it."""
        method = self.handlers.get("decides", {}).get(command.type)
        return [] if method is None else actions_of(method(self, state, understood(command)), cause=command)

    def steps(self, messages: Iterable[Message], history: History) -> Iterator[Step]:
        """What follows from each message, one after the other; each command is decided on what the last one left."""
        decided = self.handlers.get("decides", {})
        latest, is_known = None, False
        for message in messages:
            actions: list[Action] = []
            rejection = None
            if message.type in decided:
                if not is_known:
                    latest, is_known = history.latest(), True
                actions, rejection = self._decided(latest, message)
                added = [each.message for each in actions if isinstance(each, Append)]
                latest = self.evolved(latest, (each for each in added if belongs(each, self.partition)))
            if message.type in self.handlers.get("reacts", {}):
                actions += self.react(history.at(message.position or 0), message)
            yield Step(message, actions, rejection=rejection)

    def _decided(self, state: Any, command: Message) -> tuple[list[Action], DomainError | None]:
        try:
            return self.decide(state, command), None
        except DomainError as error:
            return [Append(CommandRejected.of(command, error))], error
