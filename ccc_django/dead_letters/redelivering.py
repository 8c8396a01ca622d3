"""Redelivering: a dead letter comes once more, by itself or with the rest of its partition, and ends well or not."""

from collections.abc import Iterable
from typing import Any

from django.db.models import Exists, F, OuterRef
from django.db.models.functions import Now
from pydantic_core import to_json

from ccc_django import db
from ccc_django.claims import Claim
from ccc_django.dead_letters.keeping import described, traced
from ccc_django.models import DeadLetter, Offset, StoredMessage
from ccc_django.models.dead_letter import NO_PARTITION, LetterStatus
from ccc_django.wanted import EVERYTHING


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


def coming_again(claim: Claim, positions: list[int]) -> set[int]:
    """Those of some messages that a partition has given up, and gets again because it was moved back."""
    offset = Offset.objects.filter(pk=claim.offset_id)
    letters = DeadLetter.objects.filter(
        group_id__in=offset.values("group_id"), partition_id__in=offset.values("partition_id")
    )
    return {*letters.filter(status=LetterStatus.COMING, position__in=positions).values_list("position", flat=True)}


def end_replay(claim: Claim, error: BaseException | None) -> None:
    """What became of a dead letter that was delivered again."""
    letter = DeadLetter.objects.filter(pk=claim.dead_letter or 0, status=LetterStatus.REPLAYING)
    if error is None:
        letter.update(status=LetterStatus.REPLAYED)
    else:
        letter.update(
            status=LetterStatus.OPEN,
            error=described(error),
            traceback=traced(error),
            attempts=F("attempts") + 1,
            created_at=Now(),
        )


def settle(group_id: int, positions: Iterable[int]) -> None:
    """Dead letters of a shared group were delivered again, and are done."""
    letters = DeadLetter.objects.filter(group_id=group_id, partition_id=NO_PARTITION, position__in=[*positions])
    letters.filter(status=LetterStatus.REPLAYING).update(status=LetterStatus.REPLAYED)


def drop(group_id: int, places: list[int], *, upto: int = EVERYTHING) -> int:
    """Nothing is open in these places of a shared group any more; how much was. Letters on their way are open again."""
    if not places:
        return 0
    listed: Any = to_json(places).decode() if db.is_sqlite() else places
    rows = db.rows("drop_deliveries", places=listed, upto=upto)
    if db.is_sqlite():
        count, letters = len(rows), [position for position, again in rows if again]
    else:
        [(count, letters)] = rows
    reopen(group_id, letters)
    return int(count)


def reopen(group_id: int, positions: Iterable[int]) -> None:
    """Letters of a shared group were on their way, and are not delivered after all."""
    if listed := [*positions]:
        letters = DeadLetter.objects.filter(group_id=group_id, partition_id=NO_PARTITION, position__in=listed)
        letters.filter(status=LetterStatus.REPLAYING).update(status=LetterStatus.OPEN)


def pass_by(group_id: int, topic: str, first: int) -> None:
    """A shared group goes to a place in a topic: dead letters behind it come with everything else, the others stay."""
    of_topic = StoredMessage.objects.filter(topic=topic, position=OuterRef("position"))
    letters = DeadLetter.objects.filter(Exists(of_topic), group_id=group_id, partition_id=NO_PARTITION)
    waiting = letters.filter(status__in=[LetterStatus.OPEN, LetterStatus.REPLAYING])
    waiting.filter(position__gte=first).update(status=LetterStatus.REPLAYED, reason="seek", decided_at=Now())
    waiting.filter(position__lt=first).update(status=LetterStatus.OPEN)
