"""Ranges: the log cut into parts of about the same size, by what the server knows anyway; nothing is counted."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

MESSAGES_A_TASK = 250_000
CONNECTIONS = 16  # at once, and so as many tasks


class Range(NamedTuple):
    """Positions beyond one and up to another."""

    after: int
    upto: int


class Statistics(NamedTuple):
    """First and last position of what is read, how many messages there are, and bounds between equally many."""

    first: int | None
    last: int | None
    messages: int | None = None
    bounds: Sequence[int] = ()


def planned(asked: Range, known: Statistics, most: int = CONNECTIONS) -> list[Range]:
    """Ranges that have about as many messages each, and together everything that was asked for."""
    if known.first is None or known.last is None:
        return []
    after, upto = max(asked.after, known.first - 1), min(asked.upto, known.last)
    if after >= upto:
        return []
    places, weights = _spread(after, upto, known)
    count = min(most, max(1, round(weights[-1] / MESSAGES_A_TASK)))
    cuts = [_place_at(weights[-1] * number / count, places, weights) for number in range(1, count)]
    edges = sorted({after, upto, *(min(max(cut, after), upto) for cut in cuts)})
    return [Range(*pair) for pair in pairwise(edges)]


def _spread(after: int, upto: int, known: Statistics) -> tuple[list[int], list[float]]:
    """Places, and how many messages there are about up to each; beyond what the server knows, one a position."""
    bounds = known.bounds if known.messages else ()
    each = (known.messages or 0) / max(len(bounds) - 1, 1)
    places, weights = [after], [0.0]
    for low, high in pairwise(bounds):
        begin, end = max(low, places[-1]), min(high, upto)
        if begin < end:
            weights.append(weights[-1] + min(each * (end - begin) / (high - low), end - begin))
            places.append(end)
    if places[-1] < upto:
        weights.append(weights[-1] + upto - max(places[-1], bounds[-1] if bounds else after))
        places.append(upto)
    return places, weights


def _place_at(weight: float, places: list[int], weights: list[float]) -> int:
    number = max(bisect_left(weights, weight), 1)
    low, high = weights[number - 1], weights[number]
    share = (weight - low) / (high - low) if high > low else 1.0
    return places[number - 1] + round(share * (places[number] - places[number - 1]))
