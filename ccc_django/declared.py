"""Declared: the payload indexes that appends write and filters use, as this process knows them.

What a process knows has a version that every append passes to the statement that takes its positions, and every filter
compares after it has read: under an old one nothing is written, and nothing is believed.
"""

from dataclasses import dataclass

from pydantic_core import from_json

from ccc_django import db
from ccc_django.compiling import compiled
from ccc_django.conf import conf
from ccc_django.errors import IndexNotReady, NotIndexed
from ccc_django.filters import Conditional, Filter
from ccc_django.guards import Guard
from ccc_django.models.payload_index import Status
from ccc_django.payload_index import PayloadIndex
from ccc_django.wanted import Uncovered, Wanted

Version = tuple[int, int]
LOOK: tuple[db.Call, ...] = (("index_version", {}), ("declared_indexes", {}))
READ_COMMITTED = "read committed"


@dataclass(frozen=True, slots=True)
class Known:
    """One index with its state."""

    index: PayloadIndex
    status: str
    built_upto: int
    upto: int


@dataclass(frozen=True, slots=True)
class Declared:
    """All indexes, and the version of this knowledge."""

    version: Version
    known: tuple[Known, ...]
    indexes: tuple[PayloadIndex, ...]

    def wanted(self, filter: Filter) -> Wanted:
        """What a filter looks for; what an index does not cover yet is to be read as it is."""
        wanted = compiled(filter, self.indexes)
        used = {row.name for row in wanted.rows if row.anywhere}
        for each in self.known:
            if each.index.name in used and each.status != Status.READY:
                wanted.building.append(_uncovered(each))
        return wanted


_known: dict[str, Declared] = {}


def current() -> Declared:
    """What this process knows; appends and reads find out when it is old."""
    return _known.get(conf.database) or reload()


def reload() -> Declared:
    """Look again. The version is read first: what is read after it is at least as new."""
    [(*version, isolation)], rows = db.in_one_trip(*LOOK)
    if isolation != READ_COMMITTED:  # this transaction sees the past, which would be taken for the present
        [(*version, _)], rows = db.in_one_trip_elsewhere(*LOOK)
    known = tuple(Known(PayloadIndex(tuple(fields), bool(nulls)), *rest) for fields, nulls, *rest in map(_parsed, rows))
    declared = Declared(version=(version[0], version[1]), known=known, indexes=tuple(each.index for each in known))
    _known[conf.database] = declared
    return declared


def forget() -> None:
    """Know nothing, and look at the next use."""
    _known.clear()


def is_current(version: Version) -> bool:
    """Whether nothing has been declared or dropped since."""
    return db.rows("index_version")[0][:2] == version


def sought(filter: Filter) -> tuple[Declared, Wanted]:
    """What a filter looks for, by what is known; somebody may just have declared what seems to be missing."""
    known = current()
    try:
        return known, known.wanted(filter)
    except (NotIndexed, IndexNotReady):
        if is_current(known.version):
            raise
    known = reload()
    return known, known.wanted(filter)


def wanted_by(guard: Guard) -> Wanted:
    """What a guard looks for."""
    return sought(Conditional(guard.conditions) if guard.filter is None else guard.filter)[1]


def _parsed(row: db.Row) -> db.Row:
    return (from_json(row[0]), *row[1:])


def _uncovered(known: Known) -> Uncovered:
    name, left = known.index.name, known.upto - known.built_upto
    if known.status == Status.DECLARED:
        raise IndexNotReady(f"The index on {name} is declared and not yet open: run manage.py ccc_indexes build.")
    if conf.strict_filters:
        raise IndexNotReady(
            f"The index on {name} is being built: {left:,} positions remain (CCC_STRICT_FILTERS is on)."
        )
    return Uncovered(known.index, known.built_upto, known.upto)
