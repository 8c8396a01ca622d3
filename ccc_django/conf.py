"""Settings: flat CCC_* names in the project's settings, read when they are used."""

from datetime import timedelta
from typing import Any, Generic, TypeVar, overload

try:
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured
    from django.utils.functional import empty
except ModuleNotFoundError:  # a Spark executor has no Django
    settings, ImproperlyConfigured, empty = None, Exception, None  # type: ignore[assignment,misc]

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
    prepare = Setting(True)  # noqa: FBT003 - a default, not an argument
    strict_filters = Setting(False)  # noqa: FBT003 - a default, not an argument
    notify = Setting(True)  # noqa: FBT003 - a default, not an argument
    listen = Setting(True)  # noqa: FBT003 - a default, not an argument
    beat_every = Setting(10.0)
    sweep_every = Setting(5.0)
    sample_every = Setting(60.0)
    grace = Setting(30.0)
    topics_strict = Setting(False)  # noqa: FBT003 - a default, not an argument
    default_subscription_mode = Setting("all")
    subscription_lookback = Setting(timedelta(0))
    dead_grace = Setting(timedelta(days=7))
    health: Setting[dict[str, Any]] = Setting({})


def configured(name: str, default: T) -> T:
    """The project's value, or the default where no project is set up, as on a Spark executor."""
    try:
        # Asked of what Django's lazy settings wrap: they take ten times as long to say that a name is not there.
        wrapped: Any = object.__getattribute__(settings, "_wrapped") if settings is not None else empty
        value: T = getattr(settings if wrapped is empty else wrapped, name, default)
    except ImproperlyConfigured:
        return default
    return value


conf = Conf()
