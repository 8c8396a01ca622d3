"""Drop: an index that nobody needs is given up, and then its entries go, batch by batch."""

from collections.abc import Iterable

from django.db import transaction

from ccc_django import db
from ccc_django.compiling import compiled
from ccc_django.conf import conf
from ccc_django.errors import IndexNeeded, NotIndexed
from ccc_django.filters import Filter
from ccc_django.indexes import in_code, versions
from ccc_django.models.payload_index import PayloadIndex, Status
from ccc_django.payload_index import PayloadIndex as Index

BATCH = 5_000


def drop(name: str | Iterable[str]) -> int:
    """Give up an index, by name or by its fields, and remove its entries; how many there were.

    What something relies on is refused. Entries that messages have by their own class stay.
    """
    versions.refuse_transaction()
    name = name if isinstance(name, str) else Index(tuple(sorted(name))).name
    row = PayloadIndex.objects.exclude(status=Status.DROPPED).filter(name=name).first()
    if row is None:
        known = PayloadIndex.objects.exclude(status=Status.DROPPED).values_list("name", flat=True)
        raise LookupError(f"There is no index {name!r}. There are: {', '.join(known) or 'none'}.")
    if needs := needed_by(row):
        raise IndexNeeded(f"{row} is needed by {', '.join(needs)}: change that first.")
    versions.update(row, status=Status.DROPPED)
    return _remove_entries(row)


def needed_by(row: PayloadIndex) -> list[str]:
    """What relies on an index: declarations in code, and declared filters that would have no index without it."""
    others = [other.value for other in PayloadIndex.objects.exclude(status=Status.DROPPED).exclude(pk=row.pk)]
    needs = [source for index, source in in_code.declared().items() if index.name == row.name]
    for name, filter in in_code.filters().items():
        if not _can_be_compiled(filter, others) and _can_be_compiled(filter, [*others, row.value]):
            needs.append(f'the filter "{name}"')
    return needs


def _can_be_compiled(filter: Filter, known: list[Index]) -> bool:
    try:
        compiled(filter, known)
    except NotIndexed:
        return False
    return True


def _remove_entries(row: PayloadIndex) -> int:
    removed = 0
    while True:
        with transaction.atomic(using=conf.database):
            rows = PayloadIndex.objects.filter(pk=row.pk, status=Status.DROPPED)
            if not (rows if db.is_sqlite() else rows.select_for_update()).exists():
                return removed  # declared again meanwhile
            count = len(db.rows("remove_entries", name=row.name, most=BATCH))
        removed += count
        if not count:
            return removed
