"""Expand: new messages of a shared group's topics become deliveries, one for each message; its advance."""

from typing import Any

from django.db import transaction
from pydantic_core import from_json, to_json

from ccc_django import db, stages
from ccc_django.conf import conf
from ccc_django.groups import looking
from ccc_django.heads import checked_head

BATCH = 2_000  # messages of a topic, a transaction


def expand(name: str, *, most: int | None = None) -> bool:
    """Make deliveries of one batch of the log; False if there is nothing to do, or somebody else is at it."""
    is_alone = not db.in_transaction()
    with transaction.atomic(using=conf.database):
        calls: list[db.Call] = [("head", {}), ("lock_shared_group", {"name": name, "lazy": is_alone})]
        if db.is_sqlite():
            calls.insert(0, ("lock_append", {}))  # become the writer before looking
        [highest], found = db.in_one_trip(*calls)[db.is_sqlite() :]
        if not found:
            return False
        group, types, *_ = found[0]
        run = _on_sqlite if db.is_sqlite() else _expand
        count, lowest, reached = run(group, from_json(types), checked_head(*highest), BATCH if most is None else most)
        if lowest is not None:
            looking.lower(name, lowest)
        if count:
            stages.advanced(name, reached)
    return bool(count)


def _expand(group: int, types: list[str], upto: int, most: int) -> db.Row:
    return db.rows("expand_topics", group=group, types=types, every=not types, upto=upto, most=most)[0]


def _on_sqlite(group: int, types: list[str], upto: int, most: int) -> db.Row:
    """One topic after the other."""
    count, lows, reached = 0, [], []
    wanted: dict[str, Any] = {"types": to_json(types).decode(), "every": not types, "upto": upto}
    for place, topic, watermark, some in db.rows("places_of_group", group=group, upto=upto, most=most):
        found = db.rows("positions_of_topic", topic=topic, after=watermark, most=some, **wanted)
        handled = [position for position, is_handled in found if is_handled]
        db.in_one_trip(("insert_delivery", [(place, position) for position in handled]))
        reached.append(found[-1][0] if len(found) >= some else upto)
        db.rows("pass_place", id=place, position=reached[-1], has_some=bool(found))
        count += len(found)
        lows += handled[:1]
    return count, min(lows, default=None), min(reached, default=None)
