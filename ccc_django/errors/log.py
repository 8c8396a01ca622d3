"""Errors of the log: messages, appends, guards, indexes."""

from typing import TYPE_CHECKING, Any

from ccc_django.errors.base import CCCError

if TYPE_CHECKING:
    from ccc_django.guards import Guard


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


class EmptyGuard(CCCError, ValueError):
    """A guard without any condition."""


class NotIndexed(CCCError, LookupError):
    """A filter names a field that has no index: never a silent scan, never a silent miss."""

    def __init__(self, name: str, types: "list[str]", *, nulls: bool = False) -> None:
        self.name = name
        of = f" of {', '.join(types)}" if types else ""
        what = "null is no value of" if nulls else "there is no index on"
        option = ", nulls=True" if nulls else ""
        super().__init__(f'{what} {name!r}{of}. Declare it: indexes.declare("payload", ["{name}"]{option})')


class FilterTooWide(CCCError, ValueError):
    """A filter with more alternatives than a statement should have."""


class IndexNotReady(CCCError):
    """An index that cannot be used yet."""


class IndexNeeded(CCCError):
    """An index that something relies on cannot be dropped."""


class InsideTransaction(CCCError):
    """What is declared must be committed before old messages are indexed."""


class AppendConflict(CCCError):
    """Something that matches the guard was appended since its reader looked; nothing was appended now."""

    def __init__(self, guard: "Guard", conflicts: "list[tuple[int, str]]") -> None:
        self.guard = guard
        self.conflicts = conflicts
        self.positions = [position for position, _ in conflicts]
        self.types = sorted({message_type for _, message_type in conflicts})
        super().__init__(
            f"{', '.join(self.types)} at {', '.join(map(str, self.positions))}: appended after position {guard.after}, "
            "which the decision had not seen. Read again and decide again. If you appended this yourself with the same "
            "guard, go on with guard.moved_past(stored)."
        )

    def __reduce__(self) -> "tuple[type[AppendConflict], tuple[Any, ...]]":
        return type(self), (self.guard, self.conflicts)


class AppendInterrupted(CCCError):
    """The database gave up waiting: the outermost transaction must run again, as store.retrying() does."""


class MessageNotFound(CCCError, LookupError):
    """No message, or more than one, is meant by an id, a part of it, or a position."""


class LogHasMessages(CCCError):
    """Something that is for an empty log was asked of one that has messages."""


class DuplicateMessage(CCCError, ValueError):
    """A message with this id is in the log already, with other content."""


class WrongIsolation(CCCError):
    """A transaction under REPEATABLE READ or SERIALIZABLE sees the past, and would lose conflicts."""


class ReadFromReplica(CCCError):
    """Positions are read from the database that they are written to."""
