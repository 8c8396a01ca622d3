"""Registry: which class stands for which message type. The database never names a class."""

from typing import TYPE_CHECKING

from ccc_django.errors import MessageTypeTaken

if TYPE_CHECKING:
    from ccc_django.messages import Message

_classes: "dict[str, type[Message]]" = {}


def register(message_class: "type[Message]") -> None:
    """Let a class stand for its type; a module that is imported again replaces its own class."""
    known = _classes.get(message_class.type)
    if known is not None and _home(known) != _home(message_class):
        raise MessageTypeTaken(
            f'{_home(message_class)} and {_home(known)} both claim the message type "{message_class.type}". '
            "Give one of them another type."
        )
    _classes[message_class.type] = message_class


def message_class(type: str) -> "type[Message] | None":
    """The class that stands for a type, if the project has one."""
    return _classes.get(type)


def message_classes() -> "tuple[type[Message], ...]":
    """Every message class of the project, by type."""
    return tuple(_classes[type] for type in sorted(_classes))


def _home(message_class: type) -> str:
    return f"{message_class.__module__}.{message_class.__qualname__}"
