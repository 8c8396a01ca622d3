"""Workers: who is there, and who has gone without a word."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from ccc_django.models import Worker


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenWorker:
    """A worker that is there, or that has not been heard of for three beats."""

    name: str
    host: str
    groups: list[str]
    beaten_at: datetime
    is_there: bool


def seen(names: Collection[str] = ()) -> list[SeenWorker]:
    """Every worker that is known, or those of some groups, by name."""
    rows = [(worker, True) for worker in Worker.objects.there()]
    rows += [(worker, False) for worker in Worker.objects.silent()]
    return [_seen(worker, is_there) for worker, is_there in rows if not names or {*names} & {*worker.groups}]


def _seen(worker: Worker, is_there: bool) -> SeenWorker:  # noqa: FBT001 - a column
    return SeenWorker(
        name=worker.name, host=worker.host, groups=worker.groups, beaten_at=worker.beaten_at, is_there=is_there
    )
