"""Errors of whoever consumes: groups, topics, sessions, consumers, and their tests."""

from typing import TYPE_CHECKING, Any

from ccc_django.errors.base import CCCError

if TYPE_CHECKING:
    from ccc_django.claims import Claim
    from ccc_django.models import DeadLetter


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


class LogFrozen(CCCError, AssertionError):
    """Something was to be appended or scheduled while a test had frozen the log."""


class NotDrained(CCCError, AssertionError):
    """A test has drained its groups, and something is left that cannot be done now, or there is no end to it."""
