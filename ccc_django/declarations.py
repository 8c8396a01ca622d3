"""Declarations: what a message class says about itself: its type, version, topic and older versions."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

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
    if not type or isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise TypeError(f"{message_class.__qualname__}: a message has a type that is not empty and a version from 1 on")
    upcasts = _upcasts(message_class)
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


def refuse_reserved_names(message_class: type, names: Iterable[str], *, reserved: frozenset[str]) -> None:
    """No payload attribute may hide a part of every message."""
    if taken := sorted(reserved.intersection(names)):
        raise ReservedName(
            f"{message_class.__qualname__}: {', '.join(taken)} belongs to every message. "
            f"Call the payload attribute something else, for example {message_class.__name__.lower()}_{taken[0]}."
        )


def refuse_loose_config(message_class: type, config: Mapping[str, Any], kept: Mapping[str, Any]) -> None:
    """A class may configure pydantic as it likes, except for what messages rely upon."""
    for name, value in kept.items():
        if config.get(name) != value:
            raise TypeError(f"{message_class.__qualname__}: messages rely on model_config {name}={value!r}")


def _check_name(message_class: type, what: str, name: Any) -> None:
    if not isinstance(name, str) or len(name) > MAX_NAME:
        raise TypeError(f"{message_class.__qualname__}: the {what} is text of at most {MAX_NAME} characters")
    try:
        stored_form(name)
    except Unstorable as problem:
        raise TypeError(f"{message_class.__qualname__}: the {what}: {problem}") from None


def _upcasts(message_class: type) -> dict[int, Upcast]:
    steps: dict[int, Upcast] = {}
    for base in reversed(message_class.__mro__):
        own = [each.__func__ for each in vars(base).values() if isinstance(each, staticmethod)]
        declared = [step for step in own if hasattr(step, "from_version")]
        if len({step.from_version for step in declared}) < len(declared):
            raise TypeError(f"{base.__qualname__}: two upcasts from one version")
        steps |= {step.from_version: step for step in declared}
    return steps
