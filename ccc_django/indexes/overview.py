"""Overview: what is indexed, how large it is, who needs it, and how far it is."""

from typing import Any

from ccc_django import db
from ccc_django.indexes.dropping import needed_by
from ccc_django.models.payload_index import PayloadIndex, Status


def overview() -> list[dict[str, Any]]:
    """Every index as plain data, for people and for scripts."""
    return [describe(row) for row in PayloadIndex.objects.exclude(status=Status.DROPPED)]


def describe(row: PayloadIndex) -> dict[str, Any]:
    """One index as plain data."""
    [(entries, values)] = db.rows("size_of_index", name=row.name)
    return {
        "name": row.name,
        "kind": row.kind,
        "fields": row.fields,
        "nulls": row.nulls,
        "status": row.status,
        "coverage": coverage(row),
        "remaining": 0 if row.status == Status.READY else row.upto - row.built_upto,
        "entries": entries,
        "values": values,
        "needed_by": needed_by(row),
    }


def coverage(row: PayloadIndex) -> float:
    """The part of old messages that has entries, from 0 to 1."""
    if row.status == Status.READY:
        return 1.0
    return row.built_upto / row.upto if row.upto else 0.0
