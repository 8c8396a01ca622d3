"""Scanning: while an index is being built, old messages without entries are read and looked at one by one.

They are final: whoever appended without knowing the index has ended before the index opened.
"""

from collections.abc import Iterator

from pydantic_core import from_json

from ccc_django.models.message_key_pair import MessageKeyPair
from ccc_django.models.stored_message import StoredMessage
from ccc_django.sensitivity import leaves_out
from ccc_django.wanted import ANY_TYPE, Row, Wanted

PAGE = 1_000


def positions(wanted: Wanted, after: int, upto: int) -> list[int]:
    """Matches among the messages that an index in use does not cover, between two positions."""
    if not wanted.building:
        return []
    first = max(after, min(each.after for each in wanted.building))
    last = min(upto, max(each.upto for each in wanted.building))
    choices: dict[int, list[Row]] = {}
    for row in wanted.rows:
        choices.setdefault(row.choice, []).append(row)
    return [
        position
        for position, message_type, pairs in _messages(wanted, first, last)
        if any(_meets(message_type, pairs, rows) for rows in choices.values())
    ]


def _meets(message_type: str, pairs: set[str], rows: list[Row]) -> bool:
    """Whether a message meets all parts of a choice; conditions, which may be met in part, need no scan."""
    met = {row.part for row in rows if row.pair in pairs and row.type in {message_type, ANY_TYPE}}
    return len(met) == len({row.part for row in rows})


def _messages(wanted: Wanted, after: int, upto: int) -> Iterator[tuple[int, str, set[str]]]:
    """Position, type and pairs: those in the index, and those that it will have."""
    while after < upto:
        rows = StoredMessage.objects.after(after).upto(upto).order_by("position")[:PAGE]
        page = list(rows.values_list("position", "message_type", "payload"))
        if not page:
            return
        known = _entries(page[0][0], page[-1][0])
        for position, message_type, payload in page:
            stored = from_json(payload) if isinstance(payload, str) else payload
            shown = [each.by for each in wanted.building if not leaves_out(each.by, message_type)]
            added = {pair.hex for index in shown for pair in index.pairs(stored)}
            yield position, message_type, known.get(position, set()) | added
        after = page[-1][0]


def _entries(first: int, last: int) -> dict[int, set[str]]:
    known: dict[int, set[str]] = {}
    entries = MessageKeyPair.objects.filter(position__range=(first, last)).values_list("position", "key_pair")
    for position, pair in entries:
        known.setdefault(position, set()).add(pair.hex)
    return known
