"""Declarations: what a message class says about itself: its type, version, topic and older versions."""

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import Format, get_annotations

from ccc_django.canonical import stored_form
from ccc_django.envelope import MAX_NAME
from ccc_django.errors import ReservedName, Unstorable

Payload = dict[str, Any]
Upcast = Callable[[Payload], Payload]


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    """The type of a message class, its current version, and the way up from older ones."""

    type: str
    version: int
    topic: str
    upcasts: Mapping[int, Upcast] = field(default_factory=dict)

    def current(self, payload: Payload, version: int) -> Payload:
        """The payload of an older version as one of the current version."""
        for step in range(version, self.version):
            payload = self.upcasts[step](payload) if step in self.upcasts else payload
        return payload


def declare(message_class: type, *, type: str, version: int, topic: str) -> Declaration:
    """What a class declares, checked."""
    _check_name(message_class, "type", type)
    _check_name(message_class, "topic", topic)
    if not type or not isinstance(version, int) or version < 1:
        raise TypeError(f"{message_class.__qualname__}: a message has a type that is not empty and a version from 1 on")
    upcasts = {step.from_version: step for step in _upcasts(message_class)}
    if late := [older for older in upcasts if not 1 <= older < version]:
        raise TypeError(f"{message_class.__qualname__} is version {version}: there is nothing to upcast from {late[0]}")
    return Declaration(type=type, version=version, topic=topic, upcasts=upcasts)


def upcast(from_version: int) -> Callable[[Upcast], "staticmethod[[Payload], Payload]"]:
    """Declares how a payload of one version becomes a payload of the next."""

    def decorate(step: Upcast) -> "staticmethod[[Payload], Payload]":
        function: Any = step.__func__ if isinstance(step, staticmethod) else step
        function.from_version = from_version
        return staticmethod(function)

    return decorate


def refuse_reserved_names(message_class: type, *, reserved: AbstractSet[str]) -> None:
    """No payload attribute may hide a part of every message."""
    hidden = get_annotations(message_class, format=Format.FORWARDREF).keys() & reserved
    if taken := sorted(name for name in hidden if not name.startswith(("_", "model_"))):
        raise ReservedName(
            f"{message_class.__qualname__}: {', '.join(taken)} belongs to the envelope of every message. "
            f"Call the payload attribute something else, for example {message_class.__name__.lower()}_{taken[0]}."
        )


def _check_name(message_class: type, what: str, name: Any) -> None:
    if not isinstance(name, str) or len(name) > MAX_NAME:
        raise TypeError(f"{message_class.__qualname__}: the {what} is text of at most {MAX_NAME} characters")
    try:
        stored_form(name)
    except Unstorable as problem:
        raise TypeError(f"{message_class.__qualname__}: the {what}: {problem}") from None


def _upcasts(message_class: type) -> list[Any]:
    methods = [each.__func__ for each in vars(message_class).values() if isinstance(each, staticmethod)]
    return [method for method in methods if hasattr(method, "from_version")]
