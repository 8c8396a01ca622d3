"""Arguments: what people write at a command line, as values of ours, or an advice in one line."""

from argparse import ArgumentTypeError
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.utils.timezone import is_naive
from pydantic_core import from_json

from ccc_django.groups.seeking import Place
from ccc_django.management.tables import UNITS
from ccc_django.management.tailing import attribute
from ccc_django.topics.starts import mode_of

LONGEST = timedelta(days=36_500)


def moment(text: str) -> datetime:
    """A time that means the same everywhere: whoever acts upon it must not have to guess its zone."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r}: a time such as 2026-01-31T12:00+00:00") from None
    if is_naive(time):
        advice = f"{time.isoformat()}+00:00"
        raise ArgumentTypeError(f"{text!r} has no time zone: say {advice}, or whatever is meant")
    return time


def place(text: str) -> Place:
    """A position, "beginning", "end", or a time."""
    if text in {"beginning", "end"}:
        return text
    if text.isascii() and text.isdigit():
        if int(text) < 1:
            raise ArgumentTypeError(f"{text}: positions begin at 1")
        return int(text)
    try:
        return moment(text)
    except ArgumentTypeError as problem:
        if "zone" in str(problem):
            raise
        advice = 'a position from 1 on, "beginning", "end", or a time such as 2026-01-31T12:00+00:00'
        raise ArgumentTypeError(f"{text!r}: {advice}") from None


def start_place(text: str) -> int | datetime:
    """A position or a time, where a subscription begins."""
    found = place(text)
    if isinstance(found, str):
        advice = "a position from 1 on, or a time such as 2026-01-31T12:00+00:00; --mode all or new says the rest"
        raise ArgumentTypeError(f"{text!r}: {advice}")
    return found


def mode(text: str) -> str:
    """Where a subscription begins, by a name of ours or of others."""
    try:
        return mode_of(text)
    except ValueError as problem:
        raise ArgumentTypeError(str(problem).rstrip(".")) from None


def duration(text: str) -> timedelta:
    """A length of time as tables show it: 7d, 36h, 90min, 30s."""
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    seconds = dict(UNITS).get(text.removeprefix(number))
    if seconds is None or not (number.strip().isascii() and number.strip().isdigit()):
        raise ArgumentTypeError(f"{text!r}: a length of time such as 7d, 36h, 90min or 30s")
    if int(number) > LONGEST.total_seconds() / seconds:
        raise ArgumentTypeError(f"{text}: a hundred years at most")
    return timedelta(seconds=int(number) * seconds)


def retention(text: str) -> timedelta | None:
    """How long messages are kept; "forever" is no length."""
    return None if text == "forever" else duration(text)


def rate(text: str) -> float | None:
    """Messages a second; 0 is no limit."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise ArgumentTypeError(f"{text!r}: a number of messages a second, or 0")
    return number or None


def partition_part(text: str) -> dict[str, Any]:
    """One value of a partition as name=value, or all of them as JSON."""
    if not text.startswith("{"):
        return dict([attribute(text)])
    try:
        values: dict[str, Any] = from_json(text, allow_inf_nan=False)
    except ValueError as problem:
        raise ArgumentTypeError(f"{text!r} is no JSON: {problem}") from None
    return values


def partition(parts: Iterable[dict[str, Any]] | None) -> dict[str, Any] | None:
    """The values that were given one by one, or none."""
    return None if parts is None else {name: value for part in parts for name, value in part.items()}


def positive(text: str) -> int:
    """A number of one or more."""
    if not (text.isascii() and text.isdigit() and int(text)):
        raise ArgumentTypeError(f"{text!r}: a number of one or more")
    return int(text)


def pause(text: str) -> float:
    """Seconds to wait, a tenth at least."""
    try:
        seconds = float(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r}: a number of seconds; names of groups come before it") from None
    if not seconds >= 0.1:  # noqa: PLR2004 - said in the docstring
        raise ArgumentTypeError(f"{text}: 0.1 seconds at least")
    return seconds
