"""Heads: what has to be true of a head before anybody relies on it."""

from ccc_django.errors import ReadFromReplica, WrongIsolation


def checked_head(position: int, isolation: str, in_recovery: bool) -> int:  # noqa: FBT001 - a row of the statement
    """A head that can be relied upon."""
    if in_recovery:
        raise ReadFromReplica("Positions are read from the database that they are written to, and this is a replica.")
    if isolation != "read committed":
        raise WrongIsolation(f"head() needs READ COMMITTED; this transaction is {isolation.upper()}.")
    return position
