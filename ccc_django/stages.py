"""Stages: each one says what it has done, to its logger and to whoever watches its signal.

Nobody listening costs a comparison or two.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from django.db import connections, transaction
from django.dispatch import Signal

from ccc_django import signals, wording
from ccc_django.conf import conf

if TYPE_CHECKING:
    from datetime import datetime

    from ccc_django.claims import Claim
    from ccc_django.messages import Message
    from ccc_django.models import ScheduledMessage
    from ccc_django.wording import Line


def appended(messages: "Sequence[Message]") -> None:
    """Messages are in the log."""
    if messages and are_appends_watched():
        _after_commit(_appended, messages)


def _appended(messages: "Sequence[Message]") -> None:
    _tell(signals.appended, messages=list(messages))
    types = sorted({message.type for message in messages})
    wording.appended(count=len(messages), position=messages[-1].position, types=types)


def are_appends_watched() -> bool:
    """Whether it is worth to find out what was appended."""
    return _is_watched(signals.appended, wording.appended)


def promoted(messages: "Sequence[Message]") -> None:
    """Messages whose time has come are in the log."""
    _after_commit(wording.promoted, count=len(messages))
    appended(messages)


def scheduled(rows: "Sequence[ScheduledMessage]", due_at: "datetime") -> None:
    """Messages wait for their time."""
    if wording.scheduled.is_heard:
        types = sorted({row.message_type for row in rows})
        _after_commit(wording.scheduled, count=len(rows), due_at=due_at, types=types)


def indexed(index: str, position: int) -> None:
    """A payload index has been built so far."""
    _tell(signals.indexed, index=index, position=position)
    wording.indexed(index=index, position=position)


def notified(types: Iterable[str]) -> None:
    """Listeners were called."""
    _tell(signals.notified, types=list(types))
    wording.notified(types=types)


def advanced(group: str, position: int) -> None:
    """The log has become open work up to a position."""
    if _is_watched(signals.advanced, wording.advanced):
        _after_commit(_both, signals.advanced, wording.advanced, {"group": group, "position": position})


def claimed(claim: "Claim") -> None:
    """A worker has a partition."""
    _tell(signals.claimed, claim=claim)
    wording.claimed(**_of(claim), worker=claim.worker, attempt=claim.attempt)


def fetched(claim: "Claim") -> None:
    """It has its messages."""
    _tell(signals.fetched, claim=claim)
    wording.fetched(**_of(claim), count=len(claim.messages), position=claim.position)


def handled(claim: "Claim", messages: "Sequence[Message]", error: BaseException | None) -> None:
    """Its consumer is done with them, or with some of them."""
    _tell(signals.handled, claim=claim, messages=messages, error=error)
    wording.handled(**_of(claim), count=len(messages))


def completed(claim: "Claim", messages: "Sequence[Message]") -> None:
    """What follows from them is committed."""
    if _is_watched(signals.completed, wording.completed):
        _after_commit(_tell, signals.completed, claim=claim, messages=messages)
        _after_commit(wording.completed, **_of(claim), count=len(messages))


def acked(claim: "Claim", position: int) -> None:
    """A partition is done up to a position."""
    if _is_watched(signals.acked, wording.acked):
        _after_commit(_tell, signals.acked, claim=claim, position=position)
        _after_commit(wording.acked, **_of(claim), position=position)


def released(claim: "Claim", error: BaseException | None) -> None:
    """A partition was given back without progress."""
    if _is_watched(signals.released, wording.released):
        _after_commit(_tell, signals.released, claim=claim, error=error)
        _after_commit(wording.released, **_of(claim), error="no error" if error is None else wording.line_of(error))


def gave_up(claim: "Claim", message: "Message", error: BaseException) -> None:
    """A message has become a dead letter."""
    what = {"message_type": message.type, "position": message.position, "error": wording.line_of(error)}
    _after_commit(_tell, signals.gave_up, claim=claim, message=message, error=error)
    _after_commit(wording.gave_up, **_of(claim), **what)


def put_aside(group: str, message: "Message", error: str) -> None:
    """A message of too many partitions has become a dead letter before anybody could claim it."""
    what = {"message_type": message.type, "position": message.position, "error": error}
    _after_commit(_tell, signals.gave_up, claim=None, message=message, error=LookupError(error))
    _after_commit(wording.gave_up, group=group, partition="no partition", **what)


def swept(seconds: float) -> None:
    """Everything that was due is done."""
    _both(signals.swept, wording.swept, {"seconds": seconds})


def _of(claim: "Claim") -> dict[str, Any]:
    return {"group": claim.group, "partition": claim.partition_key}


def _is_watched(signal: Signal, line: "Line") -> bool:
    return bool(signal.receivers) or line.is_heard


def _both(signal: Signal, line: "Line", what: dict[str, Any]) -> None:
    _tell(signal, **what)
    line(**what)


def _tell(signal: Signal, **what: Any) -> None:
    if signal.receivers:
        signal.send_robust(None, **what)


def _after_commit(say: Callable[..., object], *args: Any, **what: Any) -> None:
    """Who manages transactions by hand is not watched: Django does not know when they commit."""
    connection = connections[conf.database]
    if connection.in_atomic_block:
        transaction.on_commit(partial(say, *args, **what), using=conf.database, robust=True)
    elif connection.get_autocommit():
        say(*args, **what)
