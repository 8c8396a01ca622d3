"""Prune: messages that are old and that nobody needs any more leave the log, batch by batch."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from ccc_django.conf import conf
from ccc_django.errors import UnknownTopic
from ccc_django.models import Topic
from ccc_django.topics.batches import batch, first_of, foreseen
from ccc_django.wanted import EVERYTHING

SKEW = timedelta(seconds=60)  # by which clocks may differ
WHOLE = 3_600.0  # seconds until a process looks through a topic from its beginning again


class Place(NamedTuple):
    """How far this process is in a topic, when it begins anew, and when it was there last."""

    reached: int = 0
    whole_at: float = 0.0
    looked_at: float = 0.0


_places: dict[tuple[str, str], Place] = {}  # by database and topic


@dataclass(frozen=True, slots=True, kw_only=True)
class Pruned:
    """What was pruned of a topic, or would be, and what is left of it.

    ``held_by`` are groups that messages are kept for which are old enough to go. ``is_complete`` is False if somebody
    else was at the topic, or if the time was over.
    """

    topic: str
    retention: timedelta | None = None
    count: int = 0
    oldest_kept: int | None = None
    oldest_kept_at: datetime | None = None
    held_by: tuple[str, ...] = ()
    is_complete: bool = True


Progress = Callable[[Pruned], object]  # told after every batch


def prune(
    *names: str,
    after: int = 0,
    upto: int = EVERYTHING,
    dry_run: bool = False,
    within: timedelta | None = None,
    progress: Progress | None = None,
) -> list[Pruned]:
    """Delete what is older than its topic's retention and needed by nobody, of some topics or of all that have one.

    Positions bound it, as does the time ``within`` which it may take; whoever calls again goes on. A dry run counts,
    and changes nothing.
    """
    look = Look(dry_run=dry_run, upto=upto, deadline=_deadline(within), progress=progress)
    return [look.through(topic, after).said for topic in _topics(names)]


def prune_some(*, within: timedelta) -> bool:
    """Go on where this process was, for a time, with one topic at least; False if there is more to do.

    What was kept for a reason is looked at again once an hour, from the beginning.
    """
    look, is_done = Look(deadline=_deadline(within)), True
    waiting = sorted(_topics(()), key=lambda topic: _place(topic).looked_at)  # whoever had no time is first
    for number, topic in enumerate(waiting, start=1):
        place, now = _place(topic), time.monotonic()
        if now >= place.whole_at:
            place = Place(whole_at=now + WHOLE)
        place = _places[conf.database, topic.name] = place._replace(looked_at=now)
        if _may_be_old(topic, place.reached):
            found = look.through(topic, place.reached)
            _places[conf.database, topic.name] = place._replace(reached=found.reached)
            is_done &= found.said.is_complete or found.is_busy
        if look.is_over and number < len(waiting):
            return False
    return is_done


def _may_be_old(topic: Topic, after: int) -> bool:
    """By the next message of a topic, and this machine's clock: most of the time nothing is due."""
    _, appended_at = first_of(topic.name, after)
    ages = [each for each in (topic.retention, topic.unsubscribed_retention) if each is not None]
    return appended_at is not None and datetime.now(UTC) - appended_at >= min(ages) - SKEW


def _place(topic: Topic) -> Place:
    return _places.get((conf.database, topic.name), Place())


def forget() -> None:
    """Remember nothing."""
    _places.clear()


def _topics(names: Iterable[str]) -> list[Topic]:
    if not names:
        return [*Topic.objects.retained().order_by("name")]
    known = {topic.name: topic for topic in Topic.objects.filter(name__in=[*names])}
    for name in names:
        if name not in known:
            raise UnknownTopic(name)
    return [known[name] for name in dict.fromkeys(names)]


def _deadline(within: timedelta | None) -> float | None:
    return None if within is None else time.monotonic() + within.total_seconds()


class Seen(NamedTuple):
    """What a look has come to; up to where everything is old; and whether somebody else is at it."""

    said: Pruned
    reached: int
    is_busy: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A look through topics, which prunes them, or only counts."""

    dry_run: bool = False
    upto: int = EVERYTHING
    deadline: float | None = None
    progress: Progress | None = None

    @property
    def is_over(self) -> bool:
        """Whether there is no more time."""
        return self.deadline is not None and time.monotonic() >= self.deadline

    def through(self, topic: Topic, after: int = 0) -> Seen:
        """Batch by batch, until nothing is old any more, or nothing of it may go."""
        said = Pruned(topic=topic.name)
        first_kept = first_young = None
        while True:
            found = foreseen(topic, after, self.upto) if self.dry_run else batch(topic, after, self.upto, first_young)
            said = replace(said, retention=found.retention, count=said.count + found.count, held_by=found.held_by)
            first_kept, first_young = first_kept or found.first_kept, first_young or found.first_young
            after = max(after, found.last)
            if self.progress is not None:
                self.progress(said)
            if not found.has_more or found.is_busy or self.is_over:
                break
        said = replace(said, is_complete=not (found.has_more or found.is_busy))
        position, appended_at = first_of(topic.name, (first_kept or after + 1) - 1)
        said = replace(said, oldest_kept=position, oldest_kept_at=appended_at and appended_at.astimezone(UTC))
        return Seen(said, after if first_young is None else first_young - 1, found.is_busy)
