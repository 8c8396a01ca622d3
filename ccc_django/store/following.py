"""Follow: the messages of the log as it grows, in order, each once, and never past the head."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

from ccc_django import db, notifications
from ccc_django.conf import conf
from ccc_django.expressions import Types, type_names
from ccc_django.expressions import where as filter_of
from ccc_django.filters import Filter
from ccc_django.messages import Message
from ccc_django.models import StoredMessage
from ccc_django.store.reading import head, read

PAGE = 1_000
LOOK_AGAIN = 0.5  # seconds after which a follower looks by itself: an append that is rolled back calls nobody


def follow(  # noqa: PLR0913 - what to follow, from where, until when
    *,
    after: int = 0,
    last: int | None = None,
    type: Types = (),
    topic: str | None = None,
    correlation_id: UUID | None = None,
    where: Filter | None = None,
    limit: int | None = None,
    forever: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> Iterator[Message]:
    """Messages after a position, or the last few, up to the head; with ``forever=True`` also those that are to come.

    What is given must all be met. An append that is still open holds back what lies behind it, so that nothing is
    skipped. It ends at the head, after ``limit`` messages, or when ``stop()`` says so, which is asked at the head.
    """
    if last is not None and (after or last < 0):
        raise ValueError(f"last={last}: a number from 0 on, and without after=.")
    sought = Sought.of(type=type, topic=topic, correlation_id=correlation_id, where=where)
    return islice(_followed(sought, after, last, stop, forever=forever), limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """What is followed: messages that meet all of this."""

    types: tuple[str, ...]
    topic: str | None
    correlation_id: UUID | None
    where: Filter | None

    @classmethod
    def of(cls, *, type: Types, topic: str | None, correlation_id: UUID | None, where: Filter | None) -> "Sought":
        """A filter takes the types in, so that it knows whose indexes it needs."""
        types = tuple(type_names(type))
        both = where & filter_of(type=type) if where is not None and types else where
        return cls(types=types, topic=topic, correlation_id=correlation_id, where=both)

    def between(self, after: int, upto: int, *, backwards: bool = False) -> Iterator[Message]:
        """Matches between two positions, page by page."""
        while after < upto and (page := self._page(after, upto, backwards=backwards)):
            yield from filter(self._is_met_by, page)
            reached = page[-1].position or 0
            after, upto = (after, reached - 1) if backwards else (reached, upto)

    def _page(self, after: int, upto: int, *, backwards: bool) -> list[Message]:
        if self.where is not None:
            return read(self.where, after=after, upto=upto, limit=PAGE, backwards=backwards).messages
        rows = StoredMessage.objects.after(after).upto(upto).order_by("-position" if backwards else "position")
        rows = rows.of_types(self.types) if self.types else rows
        rows = rows if self.topic is None else rows.filter(topic=self.topic)
        rows = rows if self.correlation_id is None else rows.correlated(self.correlation_id)
        return list(rows[:PAGE].messages())

    def _is_met_by(self, message: Message) -> bool:
        """What an index of the payload cannot tell."""
        is_of_topic = self.topic is None or message.topic == self.topic
        return is_of_topic and (self.correlation_id is None or message.correlation_id == self.correlation_id)


def _followed(
    sought: Sought, after: int, last: int | None, stop: Callable[[], bool], *, forever: bool
) -> Iterator[Message]:
    with ExitStack() as resources:
        wait = resources.enter_context(waiting()) if forever else None  # before the first look: no call is missed
        if last is not None:
            after = _before_last(sought, last)
        while True:
            final = head()  # the rows are read by later statements: all of them up to here are there
            yield from sought.between(after, final)
            after = max(after, final)  # the head may step back a little
            if wait is None or stop():
                return
            wait(LOOK_AGAIN)


def _before_last(sought: Sought, count: int) -> int:
    """The position behind which the last so many come."""
    final = head()
    found = list(islice(sought.between(0, final, backwards=True), count))
    return (found[-1].position or 0) - 1 if found else final


@contextmanager
def waiting() -> Iterator[Callable[[float], object]]:
    """Something that waits until messages of any type may have come: one of another type may hold back ours."""
    if not conf.listen and not db.is_sqlite():
        yield time.sleep
        return
    with db.connection().wrap_database_errors, notifications.listening() as listener:
        yield listener.wait
