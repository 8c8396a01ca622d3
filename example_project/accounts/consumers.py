"""Who is known by which name, and who gets the newsletter."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from accounts.messages import (
    ClaimUserName,
    ConfirmOptIn,
    OptInConfirmed,
    OptInRequested,
    ReleaseUserName,
    RequestOptIn,
    UserNameClaimed,
    UserNameReleased,
)
from ccc_django import Decider, DomainError, Message, decides, evolves

RETENTION = timedelta(days=3)
VALIDITY = timedelta(hours=24)


class UserNameTaken(DomainError):
    """The name stands for somebody, or did until a moment ago."""


class NotYourUserName(DomainError):
    """Only who has a name can give it back."""


@dataclass
class UserName:
    """Who has a name; if nobody does, from when on it can be had."""

    owner: str | None = None
    free_from: datetime | None = None

    def is_free(self, at: datetime) -> bool:
        """Whether somebody can have it at a time."""
        return self.owner is None and (self.free_from is None or at >= self.free_from)


class UserNames(Decider, group="user-names", partition_by=["user_name"]):
    """Who is known by a name: one user at a time, and nobody for a while after it was given back."""

    state_type = UserName

    @evolves(UserNameClaimed)
    def claimed(self, _name: UserName, event: UserNameClaimed) -> UserName:
        """It is theirs."""
        return UserName(owner=event.user_id)

    @evolves(UserNameReleased)
    def released(self, _name: UserName, event: UserNameReleased) -> UserName:
        """It is nobody's."""
        return UserName(free_from=event.free_from)

    @decides(ClaimUserName)
    def claim(self, name: UserName, command: ClaimUserName) -> Iterator[Message]:
        """It can be had if it is free when they ask."""
        if not name.is_free(at=command.created_at):
            raise UserNameTaken(f"{command.user_name} is taken.")
        yield UserNameClaimed(user_name=command.user_name, user_id=command.user_id)

    @decides(ReleaseUserName)
    def release(self, name: UserName, command: ReleaseUserName) -> Iterator[Message]:
        """It can be given back by who has it."""
        if name.owner != command.user_id:
            raise NotYourUserName(f"{command.user_name} is not yours.")
        yield UserNameReleased(**command.payload, free_from=command.created_at + RETENTION)


class TokenUnknown(DomainError):
    """Nobody was sent this token."""


class TokenUsed(DomainError):
    """A token is good for one time."""


class TokenExpired(DomainError):
    """A token is good for a day."""


@dataclass
class Token:
    """Whose token it is, until when it is good, and whether it was used."""

    email: str = ""
    valid_until: datetime | None = None
    is_used: bool = False


class OptIn(Decider, group="opt-in", partition_by=["token"]):
    """Who gets the newsletter: whoever confirms in time, once."""

    state_type = Token

    @evolves(OptInRequested)
    def requested(self, _token: Token, event: OptInRequested) -> Token:
        """It is on its way."""
        return Token(email=event.email, valid_until=event.valid_until)

    @evolves(OptInConfirmed)
    def confirmed(self, token: Token, _event: OptInConfirmed) -> None:
        """It has served."""
        token.is_used = True

    @decides(RequestOptIn)
    def request(self, token: Token, command: RequestOptIn) -> Iterator[Message]:
        """Every request has a token of its own."""
        if token.valid_until is not None:
            raise TokenUsed("Make up another token.")
        yield OptInRequested(**command.payload, valid_until=command.created_at + VALIDITY)

    @decides(ConfirmOptIn)
    def confirm(self, token: Token, command: ConfirmOptIn) -> Iterator[Message]:
        """What counts is when the link was followed, not when we come to decide."""
        if token.valid_until is None:
            raise TokenUnknown("We have not sent this link.")
        if command.created_at > token.valid_until:
            raise TokenExpired("This link is too old: ask for another one.")
        if token.is_used:
            raise TokenUsed("This link was used already.")
        yield OptInConfirmed(token=command.token, email=token.email)
