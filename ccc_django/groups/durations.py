"""Durations: how long a claim lasts if nobody says otherwise, and how each database is told a length of time."""

from datetime import timedelta
from typing import Any

from ccc_django import db

LEASE = timedelta(seconds=60)


def ago(duration: timedelta) -> Any:
    """How long before now a time is, as each database takes it."""
    return seconds(-duration.total_seconds()) if db.is_sqlite() else duration.total_seconds()


def seconds(duration: float) -> Any:
    """A duration as each database takes it."""
    return f"{duration:+.3f} seconds" if db.is_sqlite() else duration
