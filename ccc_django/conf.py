"""Settings: flat CCC_* names in the project's settings, read when they are used."""

import os
from typing import Any, Generic, TypeVar, overload

try:
    from django.conf import settings
except ModuleNotFoundError:  # a Spark executor has no Django
    settings = None  # type: ignore[assignment]

T = TypeVar("T")


class Setting(Generic[T]):
    """One CCC_* setting with its default."""

    def __init__(self, default: T) -> None:
        self.default = default

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = f"CCC_{name.upper()}"

    @overload
    def __get__(self, instance: None, owner: type) -> "Setting[T]": ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> Any:
        return self if instance is None else configured(self.name, self.default)


class Conf:
    """Everything that a project may set."""

    database = Setting("default")
    max_payload = Setting(1_048_576)


def configured(name: str, default: T) -> T:
    """The project's value, or the default where no project is set up, as on a Spark executor."""
    if settings is None or not (settings.configured or "DJANGO_SETTINGS_MODULE" in os.environ):
        return default
    value: T = getattr(settings, name, default)
    return value


conf = Conf()
