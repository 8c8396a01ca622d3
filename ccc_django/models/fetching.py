"""Fetch: the next messages of a partition, in the order of the log, as rows that are not yet messages."""

from heapq import merge
from itertools import islice

from ccc_django import db
from ccc_django.models import matching
from ccc_django.models.lookups import belonging


def rows(types: list[str], names: list[str], pairs: list[str], *, after: int, upto: int, most: int) -> list[db.Row]:
    """By conditional AND over the handled types; without attributes, all messages of those types."""
    bounds = {"after": after, "upto": upto, "most": most}
    if db.is_sqlite():
        return matching.rows_at(_positions(types, names, pairs, bounds))
    if not names:
        return db.rows("fetch_types", types=types, **bounds)
    return db.rows("fetch_partition", types=types, names=names, pairs=pairs, **bounds)


def _positions(types: list[str], names: list[str], pairs: list[str], bounds: dict[str, int]) -> list[int]:
    if names:
        return matching.positions(belonging(types, names, pairs), bounds)
    found = [[position for (position,) in db.rows("positions_of_type", type=type, **bounds)] for type in types]
    return list(islice(merge(*found), bounds["most"]))
