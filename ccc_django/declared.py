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
from ccc_django.models.payload_index import PayloadIndex, Status
from ccc_django.payload_index import PayloadIndex as Index
from ccc_django.wanted import Uncovered, Wanted

Version = tuple[int, int]
LOOK: tuple[db.Call, ...] = (("index_version", {}), ("declared_indexes", {}))
READ_COMMITTED = "read committed"


@dataclass(frozen=True, slots=True)
class Known:
    """One index with its state."""

    index: Index
    status: str


@dataclass(frozen=True, slots=True)
class Declared:
    """All indexes, and the version of this knowledge."""

    version: Version
    known: tuple[Known, ...]
    indexes: tuple[Index, ...]

    def wanted(self, filter: Filter) -> Wanted:
        """What a filter looks for: by what is complete, or, where that is not enough, by what is being built."""
        if isinstance(filter, Conditional):
            return Wanted.by(filter.conditions)
        try:
            return compiled(filter, [each.index for each in self.known if each.status == Status.READY])
        except NotIndexed:
            wanted = compiled(filter, self.indexes)
        used = {row.name for row in wanted.rows if row.anywhere}
        unfinished = [each for each in self.known if each.index.name in used and each.status != Status.READY]
        wanted.building += [_uncovered(each) for each in unfinished]
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
    known = tuple(Known(Index(tuple(from_json(fields)), bool(nulls)), status) for fields, nulls, status in rows)
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


def looked_for(guard: Guard) -> tuple[Declared, Wanted]:
    """What a guard looks for, by what is known."""
    return sought(Conditional(guard.conditions) if guard.filter is None else guard.filter)


def _uncovered(known: Known) -> Uncovered:
    """What of an index is not covered, by its row of now: builders move on without telling everybody."""
    name = known.index.name
    if known.status == Status.DECLARED:
        raise IndexNotReady(f"The index on {name} is declared and not yet open: run manage.py ccc_indexes build.")
    built_upto, upto = PayloadIndex.objects.values_list("built_upto", "upto").get(name=name)
    if conf.strict_filters:
        left = f"{upto - built_upto:,} positions remain"
        raise IndexNotReady(f"The index on {name} is being built: {left} (CCC_STRICT_FILTERS is on).")
    return Uncovered(known.index, built_upto, upto)
