"""Sessions: one consumer reads one topic by itself, and says when it is done: poll, commit, seek."""

from ccc_django.sessions.opening import open  # noqa: A004 - called as sessions.open
from ccc_django.sessions.records import ConsumedRecord
from ccc_django.sessions.session import Session

__all__ = ["ConsumedRecord", "Session", "open"]
