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
├── SparkUnavailable      Spark cannot be started: no Java, or a master that does not answer
├── SparkFailed           a job of Spark has failed, and nothing was changed by it
├── LogUnreachable        processes of Spark cannot reach the database of the log
├── NotPortable           code that is to run on executors needs Django, or cannot be imported there
├── NoArchive             a directory is no archive
├── ArchiveBroken         an archive is not as it was written
├── ArchiveBusy           somebody else is writing to an archive
└── ExtraMissing          an optional package is needed and not installed

A ``DomainError`` is yours: a decider raises it, or a class of its own, to reject a command.
A payload that does not fit its class raises pydantic's ``ValidationError``, which names class and field.
"""

from ccc_django.errors.base import CCCError, DomainError, ExtraMissing
from ccc_django.errors.bulk import (
    ArchiveBroken,
    ArchiveBusy,
    LogUnreachable,
    NoArchive,
    NotPortable,
    SparkFailed,
    SparkUnavailable,
)
from ccc_django.errors.consuming import (
    ClaimLost,
    CommandFailed,
    GroupTaken,
    KindChanged,
    LogFrozen,
    NoPartition,
    NotDrained,
    NothingToCommit,
    NotUnderstood,
    PartitionBusy,
    PartitionChanged,
    ProjectionNotReady,
    SessionClosed,
    SubscriptionRefused,
    TopicInUse,
    UnknownConsumer,
    UnknownGroup,
    UnknownPartition,
    UnknownSubscription,
    UnknownTopic,
    WrongThread,
)
from ccc_django.errors.log import (
    AppendConflict,
    AppendInterrupted,
    DuplicateMessage,
    EmptyGuard,
    FilterTooWide,
    IndexNeeded,
    IndexNotReady,
    InsideTransaction,
    LogHasMessages,
    MessageNotFound,
    MessageTypeTaken,
    NotIndexed,
    ReadFromReplica,
    ReservedName,
    Unstorable,
    WrongIsolation,
)

__all__ = [
    "AppendConflict",
    "AppendInterrupted",
    "ArchiveBroken",
    "ArchiveBusy",
    "CCCError",
    "ClaimLost",
    "CommandFailed",
    "DomainError",
    "DuplicateMessage",
    "EmptyGuard",
    "ExtraMissing",
    "FilterTooWide",
    "GroupTaken",
    "IndexNeeded",
    "IndexNotReady",
    "InsideTransaction",
    "KindChanged",
    "LogFrozen",
    "LogHasMessages",
    "LogUnreachable",
    "MessageNotFound",
    "MessageTypeTaken",
    "NoArchive",
    "NoPartition",
    "NotDrained",
    "NotIndexed",
    "NotPortable",
    "NotUnderstood",
    "NothingToCommit",
    "PartitionBusy",
    "PartitionChanged",
    "ProjectionNotReady",
    "ReadFromReplica",
    "ReservedName",
    "SessionClosed",
    "SparkFailed",
    "SparkUnavailable",
    "SubscriptionRefused",
    "TopicInUse",
    "UnknownConsumer",
    "UnknownGroup",
    "UnknownPartition",
    "UnknownSubscription",
    "UnknownTopic",
    "Unstorable",
    "WrongIsolation",
    "WrongThread",
]
