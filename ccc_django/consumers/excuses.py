"""Excuses: nobody is blamed for what happened around a handler; but pauses grow, and cut connections have a limit."""

from collections import OrderedDict
from typing import Any

from ccc_django.claims import Claim
from ccc_django.consumers.retries import is_database_gone, is_worth_repeating

MOST_CUTS = 5  # in a row: a handler may be what ends its connection
KEPT = 10_000  # partitions that a process remembers

Place = tuple[str, str]

_excused: OrderedDict[Place, tuple[int, int]] = OrderedDict()  # the position, and how often


class NotHandledHere(Exception):
    """A type that the group handles, and this code does not: newer code will, or the type was given up."""


def excused(claim: Claim, error: BaseException, session: Any) -> int:
    """How often in a row nobody was to blame for the next message of a claim; 0 if its handler is.

    The session is the one in which it was handled.
    """
    is_gone = is_database_gone(error, session)
    if not is_gone and not is_worth_repeating(error) and not isinstance(error, NotHandledHere):
        return 0
    position = claim.messages[0].position or 0
    place = claim.group, claim.partition_key or str(position)  # of a shared group each message is for itself
    before, count = _excused.pop(place, (position, 0))
    count = count + 1 if before == position else 1
    _excused[place] = (position, count)
    if len(_excused) > KEPT:
        _excused.popitem(last=False)
    return 0 if is_gone and count > MOST_CUTS else count
