"""Dead letters: messages that a group gave up on are kept with the reason, delivered again, or discarded."""

import traceback
from collections import Counter
from collections.abc import Iterable

from django.db import transaction
from django.db.models import Exists, F, OuterRef
from django.db.models.functions import Coalesce, Now

from ccc_django.claims import Claim
from ccc_django.conf import conf
from ccc_django.errors import NoPartition
from ccc_django.messages import Message
from ccc_django.models import DeadLetter, Offset
from ccc_django.models.dead_letter import NO_PARTITION, LetterStatus

LONGEST = 10_000  # characters of an error or a traceback

Letters = DeadLetter | Iterable[DeadLetter]


def replay(letters: Letters, *, by: str = "", reason: str = "") -> int:
    """Deliver messages once more, each to its group and partition; how many will be.

    One that fails again is a dead letter again. The partition stands where it stands: nothing else is repeated.
    """
    with transaction.atomic(using=conf.database):
        opened = _in_hand(letters, LetterStatus.OPEN, LetterStatus.DISCARDED)
        if without := [letter for letter in opened if letter.partition_id == NO_PARTITION]:
            raise NoPartition(without[0])
        for (group, partition), count in Counter((letter.group_id, letter.partition_id) for letter in opened).items():
            Offset.objects.filter(group_id=group, partition_id=partition).update(
                replays=F("replays") + count, next_position=Coalesce("next_position", F("last_position") + 1)
            )
        _decide(opened, LetterStatus.REPLAYING, by, reason)
    return len(opened)


def discard(letters: Letters, *, by: str = "", reason: str = "") -> int:
    """Record that messages will not be delivered any more, who decided that, and why; how many were decided upon."""
    with transaction.atomic(using=conf.database):
        opened = _in_hand(letters, LetterStatus.OPEN)
        _decide(opened, LetterStatus.DISCARDED, by, reason)
    return len(opened)


def add(claim: Claim, message: Message, error: BaseException) -> None:
    """A partition gives a message up."""
    offset = Offset.objects.values("group_id", "partition_id", "partition_key").get(pk=claim.offset_id)
    put(offset, message, error=described(error), trace=traced(error), attempts=claim.attempt)


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


def first_waiting(claim: Claim) -> DeadLetter | None:
    """The earliest dead letter of a partition that is to be delivered again."""
    partition = Offset.objects.filter(pk=claim.offset_id).values("group_id", "partition_id").first()
    waiting = DeadLetter.objects.filter(status=LetterStatus.REPLAYING)
    return waiting.filter(**partition).order_by("position").first() if partition else None


def end_replay(claim: Claim, error: BaseException | None) -> None:
    """What became of a dead letter that was delivered again."""
    letter = DeadLetter.objects.filter(pk=claim.dead_letter or 0, status=LetterStatus.REPLAYING)
    if error is None:
        letter.update(status=LetterStatus.REPLAYED)
    else:
        letter.update(
            status=LetterStatus.OPEN, error=described(error), traceback=traced(error), attempts=F("attempts") + 1
        )


def described(error: BaseException) -> str:
    """An error in one line or a few, as any database can keep it."""
    return _storable(f"{type(error).__name__}: {error}")


def traced(error: BaseException) -> str:
    """Where an error comes from."""
    return _storable("".join(traceback.format_exception(error)))


def _storable(text: str) -> str:
    return text.encode(errors="replace").decode().replace("\x00", "\ufffd")[-LONGEST:]


def _in_hand(letters: Letters, *statuses: LetterStatus) -> list[DeadLetter]:
    """Those letters that have such a status now; their offsets are locked before them, as everybody does it."""
    wanted = [letters.pk] if isinstance(letters, DeadLetter) else [letter.pk for letter in letters]
    named = DeadLetter.objects.filter(pk__in=wanted)
    theirs = named.filter(group_id=OuterRef("group_id"), partition_id=OuterRef("partition_id"))
    list(Offset.objects.select_for_update().filter(Exists(theirs)).order_by("id").values_list("id"))
    return list(named.select_for_update().filter(status__in=statuses).order_by("id"))


def _decide(letters: list[DeadLetter], status: LetterStatus, by: str, reason: str) -> None:
    DeadLetter.objects.filter(pk__in=[letter.pk for letter in letters]).update(
        status=status, decided_by=by, reason=reason, decided_at=Now()
    )
