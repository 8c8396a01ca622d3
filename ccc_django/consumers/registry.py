"""Registry: the consumers of the project, by group; found in each app's ``consumers.py``."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from ccc_django.errors import GroupTaken, UnknownConsumer

if TYPE_CHECKING:
    from ccc_django.consumers.base import Consumer
    from ccc_django.consumers.decider import Decider
    from ccc_django.consumers.functions import FunctionConsumer


AnyConsumer: TypeAlias = "type[Consumer] | FunctionConsumer"

_consumers: dict[str, AnyConsumer] = {}


def register(consumer: AnyConsumer) -> None:
    """Make a consumer known; a module that is imported again replaces its own."""
    name = consumer.group_name()
    known = _consumers.get(name)
    if known is not None and _home(known) != _home(consumer):
        raise GroupTaken(
            f"{_home(consumer)} and {_home(known)} both consume the group {name!r}. Give one of them another group: "
            "two groups get all messages each."
        )
    _consumers[name] = consumer


def consumers(names: Iterable[str] = ()) -> list[AnyConsumer]:
    """All consumers by the names of their groups, or some."""
    wanted = [*names] or sorted(_consumers)
    return [consumer(name) for name in dict.fromkeys(wanted)]


def consumer(name: str) -> AnyConsumer:
    """The consumer of a group."""
    if name not in _consumers:
        known = f"Declared are: {', '.join(sorted(_consumers))}." if _consumers else "None is declared at all."
        raise UnknownConsumer(f"There is no consumer {name!r}. {known} They are found in each app's consumers.py.")
    return _consumers[name]


def deciders_of(command_type: str) -> "list[type[Decider]]":
    """Who decides on a type of commands."""
    from ccc_django.consumers.decider import Decider  # noqa: PLC0415 - which registers here

    kinds = (each for each in _consumers.values() if isinstance(each, type) and issubclass(each, Decider))
    return [kind for kind in kinds if command_type in kind.types_of("decides")]


def _home(consumer: AnyConsumer) -> str:
    return f"{consumer.__module__}.{consumer.__qualname__}"
