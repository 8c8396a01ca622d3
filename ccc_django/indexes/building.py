"""Build: old messages get their entries, batch by batch, each batch committed with how far it came.

Several builders share the work: each takes the next batch that nobody is at. After a crash the next one goes on.
"""

import time
from collections.abc import Callable

from django.db import transaction
from django.db.models import Max

from ccc_django import db, stages
from ccc_django.conf import conf
from ccc_django.entries import shape_of
from ccc_django.indexes import versions
from ccc_django.models import MessageKeyPair, StoredMessage
from ccc_django.models.payload_index import PayloadIndex, Status
from ccc_django.sensitivity import left_out

Progress = Callable[[PayloadIndex], object]  # told after every batch

BATCH = 5_000
PAUSE = 0.05


def build(name: str | None = None, *, progress: Progress | None = None) -> None:
    """Give old messages the entries that they lack, of one index or of all, and go on until there are none."""
    versions.refuse_transaction()
    known = PayloadIndex.objects.exclude(status=Status.DROPPED)
    named = known if name is None else known.filter(name=name)
    if name is not None and not named:
        raise LookupError(f"There is no index {name!r}. There are: {', '.join(map(str, known)) or 'none'}.")
    for row in named.filter(status__in=[Status.DECLARED, Status.BUILDING]):
        versions.open_index(row)
        while (state := build_batch(row.pk)) is not None:
            stages.indexed(str(state), state.built_upto)
            if progress:
                progress(state)
            if state.status != Status.BUILDING:
                break


def build_batch(pk: int) -> PayloadIndex | None:
    """One batch, and how far the index is then; None if it has been dropped."""
    with transaction.atomic(using=conf.database):
        if db.is_sqlite():
            db.rows("lock_append")  # become the writer before looking
        else:
            db.rows("share_pruning")  # or entries would be written of messages that are just deleted
        row = _mine(pk)
        if row is not None and row.status == Status.BUILDING:
            _index_next(row)
    if row is None:
        time.sleep(PAUSE)  # another builder is at this batch
        return PayloadIndex.objects.exclude(status=Status.DROPPED).filter(pk=pk).first()
    if row.status == Status.BUILDING and row.built_upto >= row.upto:
        versions.update(row, status=Status.READY)
    return row if row.status != Status.DROPPED else None


def _mine(pk: int) -> PayloadIndex | None:
    rows = PayloadIndex.objects.filter(pk=pk)
    return (rows if db.is_sqlite() else rows.select_for_update(skip_locked=True)).first()


def _index_next(row: PayloadIndex) -> None:
    following = StoredMessage.objects.after(row.built_upto).upto(row.upto).order_by("position")[:BATCH]
    last = following.aggregate(last=Max("position"))["last"]
    if last is not None:
        _index(row, row.built_upto, last)
    row.built_upto = row.upto if last is None else last
    row.save(update_fields=["built_upto"])


def _index(row: PayloadIndex, after: int, upto: int) -> None:
    if db.is_sqlite():
        _index_in_python(row, after, upto)
    else:
        types = left_out(row.value)
        db.rows("index_messages", **row.value.parameters(), left_out=types, after=after, upto=upto)


def _index_in_python(row: PayloadIndex, after: int, upto: int) -> None:
    index = row.value
    shown = StoredMessage.objects.after(after).upto(upto).exclude(message_type__in=left_out(index))
    messages = shown.values_list("position", "message_type", "payload")
    shapes = dict(
        MessageKeyPair.objects.filter(position__gt=after, position__lte=upto).values_list("position", "shape")
    )
    entries, pairs, new_shapes = [], {}, {}
    for position, message_type, payload in messages.iterator():
        found = index.pairs(payload)
        own = shape_of(message_type, frozenset())
        for pair in found:
            pairs[bytes.fromhex(pair.hex)] = pair
            entries.append((bytes.fromhex(pair.hex), shapes.get(position, own.id), position))
        if found and position not in shapes:
            new_shapes[own.id] = own
    db.in_one_trip(
        ("add_entry", entries),
        ("insert_key_pair", [(digest, *pair) for digest, pair in pairs.items()]),
        ("insert_shape", [tuple(shape) for shape in new_shapes.values()]),
    )
