"""Errors of bulk work: Spark, and archives."""

from ccc_django.errors.base import CCCError


class SparkUnavailable(CCCError):
    """Spark cannot be started: there is no Java, or the master does not answer."""


class SparkFailed(CCCError):
    """A job of Spark has failed; what it has written so far does not count."""


class LogUnreachable(CCCError):
    """The database of the log cannot be reached by the processes of Spark."""


class NotPortable(CCCError):
    """Code that is to run on executors, which have no Django, cannot be imported there."""


class NoArchive(CCCError, LookupError):
    """A directory that has no manifest is no archive."""


class ArchiveBroken(CCCError):
    """An archive is not as it was written; what is wrong is named."""


class ArchiveBusy(CCCError):
    """Somebody else is writing to an archive."""
