"""Projectors: what happened becomes a state to look at, kept for each partition; pure, but for load and save."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from ccc_django.consumers.evolving import Evolving, Step
from ccc_django.messages import Message


class Projector(Evolving):
    """Keeps a state for each partition: ``@evolves`` builds it, ``@reacts`` follows up.

    The state is stored for you. A class with ``load``, ``save`` and ``clear`` keeps it in tables of its own instead.
    With ``event_sourced=True`` it is built from the whole history each time, and ``save`` is all that is needed.
    A new ``version`` is built beside the old one.
    """

    event_sourced: ClassVar[bool] = False

    def __init_subclass__(cls, *, event_sourced: bool | None = None, **given: Any) -> None:
        cls.event_sourced = cls.event_sourced if event_sourced is None else event_sourced
        super().__init_subclass__(**given)

    @classmethod
    def complete(cls) -> None:
        """Whoever saves elsewhere also loads and clears there."""
        own = {name for name in ("load", "save", "clear") if not _is_default(cls, name)}
        needed = {"save", "clear"} if cls.event_sourced else {"load", "save", "clear"}
        if own and (missing := sorted(needed - own)):
            raise TypeError(f"{cls.__name__} keeps its own state, and needs {', '.join(missing)} for it.")
        super().complete()

    @classmethod
    def keeps_its_own(cls) -> bool:
        """Whether the state is in tables of the project."""
        return not _is_default(cls, "save")

    @classmethod
    def group_name(cls) -> str:
        """Each version has a group of its own, so that it is built beside the others."""
        return cls.options.group if cls.version == 1 else f"{cls.options.group}@{cls.version}"

    @classmethod
    def handled_types(cls) -> tuple[str, ...]:
        """Everything that changes the state, or is followed up."""
        return tuple(sorted({*cls.types_of("evolves"), *cls.types_of("reacts")}))

    @classmethod
    def history_types(cls) -> tuple[str, ...]:
        """One that is event-sourced reads all of it each time; others have their state."""
        return cls.types_of("evolves") if cls.event_sourced else ()

    def load(self) -> Any:
        """The state of ``self.partition`` in tables of your own; None if there is none yet."""
        raise NotImplementedError(f"{type(self).__name__} has no load(): look at its tables.")

    def save(self, state: Any) -> None:
        """Keep the state of ``self.partition`` in tables of your own, in the transaction that acks."""
        raise NotImplementedError

    @classmethod
    def clear(cls) -> None:
        """Forget all states in tables of your own, so that they can be built again."""
        raise NotImplementedError

    def steps(self, state: Any, messages: Iterable[Message], *, after: int, replaying: bool) -> Iterator[Step]:
        """The state after each message, and what follows from it; what is in the state already changes nothing."""
        for message in messages:
            if (message.position or 0) > after:
                state = self.evolve(state, message)
            yield Step(message, [] if replaying else self.react(state, message), state=state)


def _is_default(cls: type[Projector], name: str) -> bool:
    mine, default = getattr(cls, name), getattr(Projector, name)
    return getattr(mine, "__func__", mine) is getattr(default, "__func__", default)
