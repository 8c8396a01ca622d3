"""Actions: what a consumer wants to be done, as values. The runner alone does it, together with the ack."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from datetime import datetime
from typing import Any

from ccc_django.canonical import in_utc
from ccc_django.messages import Message, noted


@dataclass(frozen=True, slots=True)
class Append:
    """Append a message, as a message by itself also says."""

    message: Message


@dataclass(frozen=True, slots=True)
class Schedule:
    """Append a message when its time has come."""

    message: Message
    _: KW_ONLY
    at: datetime

    def __post_init__(self) -> None:
        in_utc(self.at)


@dataclass(frozen=True, slots=True)
class RunInTransaction:
    """Call a function in the transaction that acks, so that what it writes is committed with the ack or not at all."""

    function: Callable[[], object]


@dataclass(frozen=True, slots=True)
class RunAfterCommit:
    """Call a function once the ack is committed; if the process dies before, or it fails, it is not called again."""

    function: Callable[[], object]


Action = Append | Schedule | RunInTransaction | RunAfterCommit


def actions_of(result: Any, *, cause: Message) -> list[Action]:
    """What a handler returned or yielded: messages and actions, one or several, correlated with their cause."""
    return [_correlated(action, cause) for action in _listed(result)]


def noting(actions: Iterable[Action], **notes: str) -> list[Action]:
    """The same actions, whose messages also have some notes in their metadata."""
    return [
        _with(action, noted(action.message, **notes)) if isinstance(action, Append | Schedule) else action
        for action in actions
    ]


def _listed(result: Any) -> Iterator[Action]:
    if result is None:
        return
    is_one = isinstance(result, Action | Message | str) or not isinstance(result, Iterable)  # messages are iterable too
    given = [result] if is_one else result
    for each in given:
        if isinstance(each, Message):
            yield Append(each)
        elif isinstance(each, Action):
            yield each
        else:
            raise TypeError(f"A handler returns messages and actions, not {each!r}.")


def _correlated(action: Action, cause: Message) -> Action:
    """A message that names another cause by itself keeps it."""
    if isinstance(action, Append | Schedule) and action.message.causation_id == action.message.id:
        return _with(action, cause.correlate(action.message))
    return action


def _with(action: Append | Schedule, message: Message) -> Action:
    return Append(message) if isinstance(action, Append) else Schedule(message, at=action.at)
