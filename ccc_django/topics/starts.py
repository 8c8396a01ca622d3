"""Starts: where a subscription begins, by its mode; what cannot be understood is an error, and never taken for all."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Min
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.dateparse import parse_datetime

from ccc_django.conf import conf
from ccc_django.groups.seeking import position_of
from ccc_django.models import StoredMessage
from ccc_django.models.topic_subscription import Mode
from ccc_django.store.reading import head

ALIASES = {
    "from_beginning": Mode.ALL,
    "earliest": Mode.ALL,
    "new_only": Mode.NEW,
    "from_now": Mode.NEW,
    "now": Mode.NEW,
    "latest": Mode.NEW,
    "from_timestamp": Mode.TIMESTAMP,
    "from_message_id": Mode.POSITION,
    "message_id": Mode.POSITION,
}
At = datetime | str | int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A mode with what it needs, understood and not yet looked up."""

    mode: Mode
    at: datetime | int | None = None
    lookback: timedelta = timedelta(0)

    @classmethod
    def of(cls, mode: str | None, at: At, lookback: timedelta | None) -> "Start":
        """What a caller has asked for; without a mode, what the settings say."""
        known = mode_of(conf.default_subscription_mode if mode is None else mode)
        back = timedelta(0)
        if known == Mode.NEW:
            back = conf.subscription_lookback if lookback is None else lookback
            if not isinstance(back, timedelta) or back < timedelta(0):
                raise ValueError(f"lookback={back!r}: a length of time, and not less than none.")
        elif lookback:
            raise ValueError(f'mode "{known}" begins where it says: only "new" has a lookback.')
        return cls(mode=known, at=_place(known, at), lookback=back)

    def columns(self) -> dict[str, Any]:
        """As a subscription has it, looked up at this moment."""
        at = self.at if isinstance(self.at, datetime) else None
        return {"mode": self.mode, "start_position": self.position(), "start_at": at}

    def position(self) -> int:
        """The first position that is delivered; ``new`` is everything that is not final at this moment."""
        if self.mode == Mode.ALL:
            return 1
        if self.mode == Mode.NEW:
            return self._new()
        return position_of(self.at) if isinstance(self.at, datetime | int) else 1

    def _new(self) -> int:
        final = head()
        if not self.lookback:
            return final + 1
        recent = StoredMessage.objects.filter(appended_at__gte=Now() - self.lookback)
        first: int | None = recent.aggregate(first=Min("position"))["first"]
        return min(first or final + 1, final + 1)


def mode_of(name: str) -> Mode:
    """A mode by its name, or by a name that others give it."""
    plain = str(name).lower().replace("-", "_")
    if plain in ALIASES:
        return ALIASES[plain]
    if plain not in Mode.values:
        raise ValueError(f"{name!r} is no mode: {', '.join(Mode.values)}.")
    return Mode(plain)


def _place(mode: Mode, at: At) -> datetime | int | None:
    if mode == Mode.TIMESTAMP:
        return _time(at)
    if mode == Mode.POSITION:
        if isinstance(at, bool) or not isinstance(at, int) or at < 1:
            raise ValueError(f"at={at!r}: a position from 1 on.")
        return at
    if at is not None:
        raise ValueError(f'at={at!r}: mode "{mode}" begins where it says; "timestamp" and "position" have a place.')
    return None


def _time(at: At) -> datetime:
    parsed = at
    if isinstance(at, str):
        try:
            parsed = parse_datetime(at)
        except ValueError:
            parsed = None
    if not isinstance(parsed, datetime):
        raise ValueError(f"at={at!r}: a time, such as 2026-01-31T12:00:00+00:00.")  # noqa: TRY004 - of a wrong value
    if timezone.is_naive(parsed):
        raise ValueError(f"at={at!r}: a time needs a time zone.")
    if parsed > timezone.now() + timedelta(seconds=1):
        raise ValueError(f'at={at!r} is yet to come: its position is not known. Mode "new" begins now.')
    return parsed
