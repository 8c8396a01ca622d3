"""What happens around accounts."""

from datetime import datetime
from typing import Annotated

from ccc_django import Command, Event, Unindexed


class ClaimUserName(Command, type="user_name.claim"):
    """Somebody wants to be known by a name."""

    user_name: str
    user_id: str


class UserNameClaimed(Event, type="user_name.claimed"):
    """A name stands for somebody."""

    user_name: str
    user_id: str


class ReleaseUserName(Command, type="user_name.release"):
    """Somebody wants to give a name back."""

    user_name: str
    user_id: str


class UserNameReleased(Event, type="user_name.released"):
    """A name stands for nobody; others may have it after a while, so that nobody is taken for somebody else."""

    user_name: str
    user_id: str
    free_from: Annotated[datetime, Unindexed]


class RequestOptIn(Command, type="opt_in.request"):
    """Somebody wants the newsletter: the token goes to the address, to see whether it is theirs."""

    token: str
    email: str


class OptInRequested(Event, type="opt_in.requested"):
    """A token is on its way, and will not be good for ever."""

    token: str
    email: str
    valid_until: Annotated[datetime, Unindexed]


class ConfirmOptIn(Command, type="opt_in.confirm"):
    """Somebody has followed the link in the email."""

    token: str


class OptInConfirmed(Event, type="opt_in.confirmed"):
    """The address is theirs, and they want the newsletter."""

    token: str
    email: str
