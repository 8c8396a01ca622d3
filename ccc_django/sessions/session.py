"""Session: poll hands out the next record, commit says that it is done, seek goes elsewhere; for one thread."""

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NoReturn, Self

from django.db import Error, transaction

from ccc_django import db
from ccc_django.claims import Claim
from ccc_django.conf import conf
from ccc_django.errors import ClaimLost, NothingToCommit, SessionClosed, WrongThread
from ccc_django.groups.keeping import keep
from ccc_django.heads import checked_head
from ccc_django.messages import Message
from ccc_django.models import ConsumerGroup, Offset, Topic, matching
from ccc_django.models.stored_message import message_of
from ccc_django.sessions.records import ConsumedRecord, record_of
from ccc_django.store.following import LOOK_AGAIN, waiting
from ccc_django.store.reading import head

AUTO, MANUAL = COMMITS = ("auto", "manual")
PAGE = 100  # messages that are read together, and handed out one by one
MOST = 100_000  # records that are handed out at once
LAST = 2**63 - 2  # the last offset that there can be


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a session's progress is kept, and the fence of who has opened it."""

    group: str
    group_id: int
    offset_id: int
    token: int
    epoch: int
    position: int

    @property
    def fence(self) -> dict[str, int]:
        """Whose it is, as every statement asks."""
        return {"id": self.offset_id, "token": self.token, "epoch": self.epoch}


class Session:
    """One consumer's place in one topic. Whoever opens it again fences the older one: ``ClaimLost`` on its next call.

    With ``commit="auto"`` a record is done when it is polled; with ``"manual"`` when it is committed, and a crash
    before that delivers it again. Within ``transaction.atomic()`` a commit is a part of your transaction.
    """

    def __init__(self, *, topic: str, consumer_id: str, commit: str, place: Place) -> None:
        self.topic = topic
        self.consumer_id = consumer_id
        self.commit_mode = commit
        self._place = place
        self._owner = _here()
        self._resources = ExitStack()
        self._wait: Callable[[float], object] | None = None
        self._page: deque[Message] = deque()
        self._at = place.position  # the last position that was handed out, or passed over
        self._polled: int | None = None  # the last one since the last commit
        self._done: int | None = None  # what was committed last, unless a transaction was rolled back
        self._is_closed = False

    def poll(self, timeout: float = 0.0) -> ConsumedRecord | None:
        """The next record; None if there is none within the time, in seconds."""
        found = self.poll_many(1, timeout=timeout)
        return found[0] if found else None

    def poll_many(self, limit: int = PAGE, *, timeout: float = 0.0) -> list[ConsumedRecord]:
        """The next records, as many as there are up to a limit; waits only if there is none."""
        self._use()
        if not (_is_number(limit, int) and 1 <= limit <= MOST and _is_number(timeout, int, float) and timeout >= 0):
            raise ValueError(f"limit={limit!r}, timeout={timeout!r}: 1 to {MOST:,} records, and a number of seconds.")
        found = self._waited(limit, time.monotonic() + timeout)
        if not found:
            return []
        last = found[-1].position or 0
        if self.commit_mode == AUTO:
            self._move(last)
        for _ in found:
            self._page.popleft()
        self._at = self._polled = last
        return [record_of(message) for message in found]

    def __iter__(self) -> Iterator[ConsumedRecord]:
        """Record by record, until there is none; for those to come, poll with a time."""
        while (record := self.poll()) is not None:
            yield record

    def commit(self, offset: int | None = None) -> None:
        """The record that was polled last is done, and all before it; or up to an offset: the next one is behind it.

        It never moves back: not below the last commit or seek.
        """
        self._use()
        if self.commit_mode == AUTO:
            return
        done = self._last() if offset is None else _checked(offset, self._at)
        stored = self._move(done)
        if done == self._polled:
            self._polled = None
        elif done == stored and offset is not None:
            self._go_to(stored)
        self._done = done

    def _last(self) -> int:
        """What was polled last and is not committed; also if it was, in a transaction that was rolled back."""
        if self._polled is not None:
            return self._polled
        stored = Offset.objects.filter(pk=self._place.offset_id).values_list("last_position", flat=True).first()
        if self._done is None or stored is None or stored >= self._done:
            raise NothingToCommit(f"{self} has polled nothing since the last commit.")
        return self._done

    def seek(self, offset: int) -> int:
        """Go on with the record at an offset, which is stored at once; below what is kept, with the oldest that is.

        Returns the first offset that may be delivered.
        """
        self._use()
        return self._seek(_checked(offset, None))

    def seek_to_beginning(self) -> int:
        """Go on with the oldest record that is kept."""
        return self.seek(0)

    def seek_to_end(self) -> int:
        """Go on with what is not final yet: with records to come."""
        self._use()
        return self._seek(head() + 1)

    @property
    def committed_offset(self) -> int:
        """The offset that was committed last, also by an earlier session of this consumer; 0 if there is none."""
        self._refuse_strangers()
        offset = Offset.objects.filter(pk=self._place.offset_id).values_list("replay_until", flat=True)
        return offset.first() or 0

    def close(self) -> None:
        """Let go of it; the progress is kept."""
        if self._is_closed:
            return
        self._refuse_strangers()
        self._is_closed = True
        self._resources.close()
        held = Offset.objects.filter(pk=self._place.offset_id, token=self._place.token)
        held.update(token=0, claimed_by="", claimed_at=None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with nullcontext() if error is None else suppress(Error):  # what has happened says more
            self.close()

    def __str__(self) -> str:
        return f"The session of {self.consumer_id} on {self.topic}"

    def _waited(self, limit: int, deadline: float) -> list[Message]:
        found = self._available(limit)
        while not found and (left := deadline - time.monotonic()) > 0:
            if self._wait is None:  # and look once more: what came before we listened has called nobody
                self._wait = self._resources.enter_context(waiting())
            else:
                self._wait(min(left, LOOK_AGAIN))
            found = self._available(limit)
        return found

    def _available(self, limit: int) -> list[Message]:
        """What can be handed out now; of a page that was read before, if the session is still ours, and not paused."""
        if len(self._page) < limit:
            self._read(max(limit, PAGE))
        else:
            self._is_on(db.rows("session_state", **self._place.fence))
        return [self._page[number] for number in range(min(limit, len(self._page)))]

    def _read(self, most: int) -> None:
        """The rows are read by a later statement than the head: all of them up to it are there."""
        state, [highest], rows = db.in_one_trip(
            ("session_state", self._place.fence),
            ("head", {}),
            ("next_of_topic", {"topic": self.topic, "after": self._at, "most": most}),
        )
        final = checked_head(*highest)
        is_on = self._is_on(state)
        self._page = deque(message_of(matching.converted(row)) for row in rows if row[0] <= final) if is_on else deque()

    def _is_on(self, state: list[db.Row]) -> bool:
        """Whether it gets anything: not while it is stopped or paused."""
        if not state:
            self._lose()
        if not state[0][0]:
            self._page.clear()
        return bool(state[0][0])

    def _move(self, position: int, *, is_seek: bool = False) -> int:
        """Store where it is; the position that is stored now."""
        call = {**self._place.fence, "group": self._place.group_id, "position": position, "is_seek": is_seek}
        with transaction.atomic(using=conf.database) if db.is_sqlite() else nullcontext():
            rows = db.rows("move_session", **call)
            if rows and db.is_sqlite():
                db.rows("pass_session", id=self._place.offset_id, group=self._place.group_id)
        if not rows:
            self._lose()
        return int(rows[0][0])

    def _seek(self, offset: int) -> int:
        with transaction.atomic(using=conf.database):  # the group before its topic, as everywhere
            list(ConsumerGroup.objects.select_for_update(no_key=True).filter(pk=self._place.group_id).values_list("pk"))
            keep([self.topic])
            first = max(offset, self._oldest())
            self._move(first - 1, is_seek=True)
        self._go_to(first - 1)
        return first

    def _oldest(self) -> int:
        """The first position that is kept; of a topic of which nothing is left, the one behind it.

        Before the first message that can be seen, one may be that is not final yet.
        """
        not_final = head() + 1
        if found := db.rows("first_of_topic", topic=self.topic, after=0):
            return min(int(found[0][0]), not_final)
        pruned = Topic.objects.filter(name=self.topic).values_list("pruned_upto", flat=True).first()
        return (pruned or 0) + 1

    def _go_to(self, position: int) -> None:
        self._at, self._polled, self._done = position, None, None
        self._page.clear()

    def _lose(self) -> NoReturn:
        place = self._place
        raise ClaimLost(
            Claim(
                group=place.group,
                worker=self.consumer_id,
                offset_id=place.offset_id,
                token=place.token,
                partition_key=self.topic,
                partition_value={},
                key_pair_ids=(),
                epoch=place.epoch,
            )
        )

    def _use(self) -> None:
        self._refuse_strangers()
        if self._is_closed:
            raise SessionClosed(f"{self} is closed: sessions.open({self.topic!r}, consumer_id={self.consumer_id!r}).")

    def _refuse_strangers(self) -> None:
        if _here() != self._owner:
            raise WrongThread(f"{self} was opened by another thread: a session is for one. Open one with another name.")


def _here() -> tuple[int, int]:
    return os.getpid(), threading.get_ident()


def _checked(offset: Any, reached: int | None) -> int:
    """An offset from 0 on; one that is committed must be there."""
    if not _is_number(offset, int) or not 0 <= offset <= LAST:
        raise ValueError(f"offset={offset!r}: a position in the log.")
    if reached is not None and offset > reached and offset > head():
        raise ValueError(f"offset={offset}: there is no such record yet.")
    return int(offset)


def _is_number(value: Any, *kinds: type) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)
