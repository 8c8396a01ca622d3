"""Keeping: a message that a group gives up on is put aside with its error and where that comes from."""

import traceback

from ccc_django.claims import Claim, SharedClaim
from ccc_django.messages import Message
from ccc_django.models import DeadLetter, Offset
from ccc_django.wording import text_of

LONGEST = 10_000  # characters of an error or a traceback


def add(claim: Claim, message: Message, error: BaseException) -> None:
    """A partition gives a message up."""
    offset = Offset.objects.values("group_id", "partition_id", "partition_key").get(pk=claim.offset_id)
    put(offset, message, error=described(error), trace=traced(error), attempts=claim.attempt)


def put_shared(claim: SharedClaim, message: Message, error: BaseException) -> None:
    """A shared group gives a message up."""
    where: dict[str, object] = {"group_id": claim.group_id}
    put(where, message, error=described(error), trace=traced(error), attempts=claim.attempt)


def put(where: dict[str, object], message: Message, *, error: str, trace: str = "", attempts: int = 0) -> None:
    """A dead letter of a group and a partition; one that was there before is open again."""
    letter = DeadLetter(
        **where,
        position=message.position or 0,
        message_id=message.envelope.id,
        message_type=message.type,
        error=error,
        traceback=trace,
        attempts=attempts,
    )
    DeadLetter.objects.bulk_create(
        [letter],
        update_conflicts=True,
        unique_fields=["group", "partition_id", "position"],
        update_fields=["status", "error", "traceback", "attempts", "decided_by", "reason", "decided_at", "created_at"],
    )


def described(error: BaseException) -> str:
    """An error in one line or a few, as any database can keep it."""
    return _storable(f"{type(error).__name__}: {text_of(error)}")[:LONGEST]


def traced(error: BaseException) -> str:
    """Where an error comes from."""
    return _storable("".join(traceback.format_exception(error)))[-LONGEST:]


def _storable(text: str) -> str:
    return text.encode(errors="replace").decode().replace("\x00", "\ufffd")
