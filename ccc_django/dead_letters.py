"""Dead letters: messages that a group gave up on are kept with the reason, delivered again, or discarded."""

import traceback
from collections.abc import Iterable

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Coalesce, Now

from ccc_django.claims import Claim
from ccc_django.conf import conf
from ccc_django.errors import NoPartition
from ccc_django.messages import Message
from ccc_django.models import ConsumerGroup, DeadLetter, Offset
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
        passed = [letter for letter in opened if _offset(letter).filter(last_position__gte=letter.position).exists()]
        for letter in passed:
            _offset(letter).update(
                replays=F("replays") + 1, next_position=Coalesce("next_position", F("last_position") + 1)
            )
        _decide(passed, LetterStatus.REPLAYING, by, reason)
        DeadLetter.objects.filter(pk__in=[letter.pk for letter in passed]).update(deliveries=0)
        coming = [letter for letter in opened if letter not in passed and _offset(letter).exists()]
        _decide(coming, LetterStatus.REPLAYED, by, reason)  # the partition was moved back: they come with the rest
    return len(passed) + len(coming)


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


def take_first_waiting(claim: Claim) -> DeadLetter | None:
    """The earliest dead letter of a partition that is to be delivered again, with this delivery counted."""
    partition = Offset.objects.filter(pk=claim.offset_id).values("group_id", "partition_id").first()
    waiting = DeadLetter.objects.filter(status=LetterStatus.REPLAYING, **partition) if partition else None
    letter = waiting.order_by("position").first() if waiting is not None else None
    if letter is not None:
        letter.deliveries += 1
        letter.save(update_fields=["deliveries"])
    return letter


def give_back(claim: Claim) -> None:
    """It was not delivered after all."""
    DeadLetter.objects.filter(pk=claim.dead_letter or 0).update(deliveries=F("deliveries") - 1)


def without_partition(group_id: int, positions: list[int]) -> set[int]:
    """Those of some messages that the group has put aside, because they belong to too many partitions."""
    decided = [LetterStatus.OPEN, LetterStatus.DISCARDED]
    letters = DeadLetter.objects.filter(group_id=group_id, partition_id=NO_PARTITION, status__in=decided)
    return {*letters.filter(position__in=positions).values_list("position", flat=True)}


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
    return _storable(f"{type(error).__name__}: {error}")[:LONGEST]


def traced(error: BaseException) -> str:
    """Where an error comes from."""
    return _storable("".join(traceback.format_exception(error)))[-LONGEST:]


def _storable(text: str) -> str:
    return text.encode(errors="replace").decode().replace("\x00", "\ufffd")


def _in_hand(letters: Letters, *statuses: LetterStatus) -> list[DeadLetter]:
    """Those letters that have such a status now. Locks are taken as everywhere: groups, offsets, letters."""
    wanted = [letters.pk] if isinstance(letters, DeadLetter) else [letter.pk for letter in letters]
    named = DeadLetter.objects.filter(pk__in=wanted)
    groups = ConsumerGroup.objects.filter(pk__in=named.values("group_id"))
    list(groups.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    partitions = named.values_list("group_id", "partition_id").distinct()
    offsets = [Offset.objects.filter(group_id=group, partition_id=id).values_list("pk") for group, id in partitions]
    pks = [pk for found in offsets for (pk,) in found]
    list(Offset.objects.select_for_update().filter(pk__in=pks).order_by("pk").values_list("pk"))
    return list(named.select_for_update().filter(status__in=statuses).order_by("id"))


def _offset(letter: DeadLetter) -> QuerySet[Offset]:
    found: QuerySet[Offset] = Offset.objects.filter(group_id=letter.group_id, partition_id=letter.partition_id)
    return found


def _decide(letters: list[DeadLetter], status: LetterStatus, by: str, reason: str) -> None:
    DeadLetter.objects.filter(pk__in=[letter.pk for letter in letters]).update(
        status=status, decided_by=by, reason=reason, decided_at=Now()
    )
