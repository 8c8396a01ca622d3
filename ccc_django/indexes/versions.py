"""Versions: what everybody must know of an index changes under a new version, and opens when everybody knows it.

A change is committed; then a number grows that every append compares, beyond all snapshots. Whoever compared the old
number holds the log's lock. When those holders are gone, everything above the sequence's value has entries, and what is
below is final and is to be built. Nobody waits for this but the index.
"""

import time

from django.db import transaction
from django.db.models import Max

from ccc_django import db, declared
from ccc_django.conf import conf
from ccc_django.errors import IndexNotReady, InsideTransaction
from ccc_django.locks import LOG
from ccc_django.models.payload_index import PayloadIndex, Status

PATIENCE = 30.0  # seconds to wait for appends that began before
PAUSE = 0.02


def open_index(row: PayloadIndex) -> None:
    """Wait until every append knows the index, and note up to where old messages need entries."""
    if row.status != Status.DECLARED:
        return
    refuse_transaction()
    db.rows("open_index")
    _wait_for({holder for (holder,) in db.rows("open_appends", key=LOG)})
    [(last,)] = db.rows("last_position")
    update(row, status=Status.BUILDING, upto=last, built_upto=0)


def update(row: PayloadIndex, **changes: object) -> None:
    """Change an index under a new version, if nobody else has changed it since it was read."""
    with transaction.atomic(using=conf.database):
        db.rows("lock_declarations")
        PayloadIndex.objects.filter(pk=row.pk, version=row.version).update(**changes, version=next_version())
    row.refresh_from_db()
    declared.reload()


def next_version() -> int:
    """The version after the last."""
    return 1 + (PayloadIndex.objects.aggregate(last=Max("version"))["last"] or 0)


def refuse_transaction() -> None:
    """What is declared must be committed before anything is built on it."""
    if db.in_transaction():
        raise InsideTransaction(
            "Indexes are declared, built and dropped outside of a transaction: everybody must see it before old "
            "messages are indexed. In tests use transaction=True, or name the index in an app's ccc_indexes.py."
        )


def _wait_for(holders: set[str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while holders:
        if time.monotonic() > deadline:
            raise IndexNotReady(
                f"{len(holders)} transactions that have appended are still open after {PATIENCE:.0f} s. The index is "
                "declared, and opens when they have ended: run manage.py ccc_indexes build."
            )
        time.sleep(PAUSE)
        holders &= {holder for (holder,) in db.rows("open_appends", key=LOG)}
