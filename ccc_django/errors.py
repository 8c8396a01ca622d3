"""Errors: everything that can go wrong by name.

CCCError
├── MessageTypeTaken      two classes claim one message type
├── ReservedName          a payload attribute has a name that the envelope uses
├── Unstorable            a value has no exact form in the log
├── EmptyGuard            a guard without any condition
├── NotIndexed            a filter on a field without an index: it shows what to declare
├── FilterTooWide         a filter with too many alternatives
├── IndexNotReady         an index that is declared and not yet open, or not complete where that is asked for
├── IndexNeeded           an index that something relies on cannot be dropped
├── InsideTransaction     indexes are declared, built and dropped outside of a transaction
├── AppendConflict        something relevant has happened: read again and decide again
├── AppendInterrupted     deadlock or lock time-out: the outermost transaction must run again
├── UnknownGroup          there is no consumer group of this name
├── KindChanged           a group is ordered or shared for as long as it lives
├── UnknownTopic          there is no topic of this name
├── SubscriptionRefused   a subscription that the topic or the group does not allow
├── UnknownSubscription   a group has not subscribed to this
├── TopicInUse            a topic has open messages, or a queue's own group was to be removed
├── UnknownPartition      a group has no partition with these values
├── PartitionChanged      a group with progress cannot be partitioned anew
├── NoPartition           a dead letter of too many partitions cannot be delivered again to one
├── ClaimLost             somebody else has the partition, or it was reset: nothing has changed
├── NothingToCommit       a session has polled nothing since its last commit
├── SessionClosed         a session that was closed is used
├── WrongThread           a session is used by another thread than the one that has opened it
├── PartitionBusy         a command could not be handled at once; it is in the log, and workers will
├── CommandFailed         a command that a worker has given up: it is a dead letter
├── GroupTaken            two consumers claim one group
├── UnknownConsumer       no consumer of this group, or none for this command, is declared
├── NotUnderstood         a message that a state depends on cannot be expressed by its class
├── ProjectionNotReady    a version of a projection that is not there, or has not caught up
├── MessageNotFound       no message, or more than one, is meant by an id, a part of it, or a position
├── LogHasMessages        something that is for an empty log was asked of one that has messages
├── DuplicateMessage      a message with this id is in the log, with other content
├── WrongIsolation        the transaction sees the past: READ COMMITTED is needed
├── ReadFromReplica       positions are read from the database that they are written to
├── LogFrozen             a test has frozen the log, and something was to be appended or scheduled
├── NotDrained            a test has drained its groups, and something is left to do
└── ExtraMissing          an optional package is needed and not installed

A ``DomainError`` is yours: a decider raises it, or a class of its own, to reject a command.
A payload that does not fit its class raises pydantic's ``ValidationError``, which names class and field.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ccc_django.claims import Claim
    from ccc_django.guards import Guard
    from ccc_django.models import DeadLetter


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


class UnknownGroup(CCCError, LookupError):
    """There is no consumer group of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no consumer group {name!r}. manage.py ccc_groups lists those that there are; manage.py consume "
            "makes those of consumers.py, groups.register(…) any other."
        )


class KindChanged(CCCError, ValueError):
    """A group is ordered or shared for as long as it lives."""

    def __init__(self, name: str, is_now: str, wanted: str) -> None:
        super().__init__(
            f"{name} is {is_now} and has its progress so. Give the {wanted} group another name, or first delete this "
            f"one: groups.delete({name!r})"
        )


class UnknownTopic(CCCError, LookupError):
    """There is no topic of this name, and CCC_TOPICS_STRICT lets none be made by the way."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"There is no topic {name!r}. Configure it: topics.configure({name!r}, semantics=…). manage.py ccc_topics "
            "lists those that there are."
        )


class SubscriptionRefused(CCCError, ValueError):
    """A subscription that the topic or the group does not allow."""


class UnknownSubscription(CCCError, LookupError):
    """A group has not subscribed to this."""


class TopicInUse(CCCError):
    """A topic has open messages, and what was asked for would leave them behind."""


class UnknownPartition(CCCError, LookupError):
    """A group has no partition with these values."""

    def __init__(self, group: str, key: str) -> None:
        super().__init__(
            f"{group} has no partition {key}: no message with these values has come so far. The number 1 is not the "
            'text "1".'
        )


class PartitionChanged(CCCError, ValueError):
    """A group with progress cannot be partitioned anew."""


class NoPartition(CCCError, ValueError):
    """A dead letter that belongs to no partition, because its lists name too many."""

    def __init__(self, letter: "DeadLetter") -> None:
        super().__init__(
            f"{letter} belongs to more partitions than {letter.group} allows. Register the group with more "
            f"(most_partitions=…) and seek to {letter.position}, or discard it."
        )


class ClaimLost(CCCError):
    """Somebody else has the partition since the lease was over, or the group was stopped or reset; nothing changed."""

    def __init__(self, claim: "Claim") -> None:
        self.claim = claim
        super().__init__(f"{claim.worker} no longer holds {claim.partition_key} of {claim.group}: nothing was changed.")

    def __reduce__(self) -> "tuple[type[ClaimLost], tuple[Any, ...]]":
        return type(self), (self.claim,)


class NothingToCommit(CCCError):
    """A session has polled nothing since its last commit, or its last seek."""


class SessionClosed(CCCError):
    """A session that was closed is used."""


class WrongThread(CCCError):
    """A session is used by another thread, or process, than the one that has opened it."""


class DomainError(Exception):
    """A command is rejected for a reason of the domain: raise it, or a class derived from it, in a decider."""


class PartitionBusy(CCCError):
    """A command was appended and could not be handled at once; it is in the log, and workers will handle it."""


class CommandFailed(CCCError):
    """A command that a worker has given up on, while handle() waited for it: it is a dead letter."""


class GroupTaken(CCCError, TypeError):
    """Two consumers claim one group."""


class UnknownConsumer(CCCError, LookupError):
    """Nobody is declared for a group, or for a command."""


class NotUnderstood(CCCError):
    """A message that its class cannot express: what depends on it waits until it can."""


class ProjectionNotReady(CCCError):
    """A version of a projection that cannot be switched to."""


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


class LogFrozen(CCCError, AssertionError):
    """Something was to be appended or scheduled while a test had frozen the log."""


class NotDrained(CCCError, AssertionError):
    """A test has drained its groups, and something is left that cannot be done now, or there is no end to it."""


class ExtraMissing(CCCError, ImportError):
    """An optional package is needed and not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f'{package} is not installed. Run: pip install "ccc-django[{extra}]"')
        self.package = package
        self.extra = extra
