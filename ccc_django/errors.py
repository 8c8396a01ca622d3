"""Errors: everything that can go wrong by name.

CCCError
├── MessageTypeTaken      two classes claim one message type
├── ReservedName          a payload attribute has a name that the envelope uses
├── Unstorable            a value has no exact form in the log
└── ExtraMissing          an optional package is needed and not installed

A payload that does not fit its class raises pydantic's ``ValidationError``, which names class and field.
"""


class CCCError(Exception):
    """Anything that ccc_django raises by itself."""


class MessageTypeTaken(CCCError, TypeError):
    """Two message classes claim one type."""


class ReservedName(CCCError, TypeError):
    """A payload attribute has a name that the envelope uses."""


class Unstorable(CCCError, ValueError):
    """A value that could not be read back from the log exactly as it was."""

    def __init__(self, reason: str, path: tuple[str | int, ...] = ()) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path = path

    def inside(self, key: str | int) -> "Unstorable":
        """The same problem, seen from the container that holds the value under this key."""
        return Unstorable(self.reason, (key, *self.path))


class ExtraMissing(CCCError, ImportError):
    """An optional package is needed and not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f'{package} is not installed. Run: pip install "ccc-django[{extra}]"')
        self.package = package
        self.extra = extra
