"""Store: append to the log and read from it, in the transaction of your own models."""

from ccc_django.store.appending import append, append_on_commit
from ccc_django.store.following import follow
from ccc_django.store.reading import ReadResult, head, read, stream
from ccc_django.store.retries import retrying
from ccc_django.store.scheduling import promote, schedule

__all__ = [
    "ReadResult",
    "append",
    "append_on_commit",
    "follow",
    "head",
    "promote",
    "read",
    "retrying",
    "schedule",
    "stream",
]
