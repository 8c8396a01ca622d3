"""Deciding: dead letters are delivered again or discarded, any number of them, a thousand in a transaction."""

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Case, F, Q, QuerySet, Value, When
from django.db.models.functions import Coalesce, Now

from ccc_django.conf import conf
from ccc_django.errors import NoPartition
from ccc_django.models import ConsumerGroup, DeadLetter, Delivery, GroupTopic, Offset, StoredMessage
from ccc_django.models.consumer_group import Kind
from ccc_django.models.dead_letter import NO_PARTITION, REPLAYABLE, LetterStatus

BATCH = 1_000  # letters a transaction

Letters = DeadLetter | Iterable[DeadLetter]
Progress = Callable[[int], None]  # is told how many have been looked at


class Wanted(NamedTuple):
    """A letter by its place in the log, so that batches are in order for each partition."""

    position: int
    pk: int
    partition_id: UUID


class Place(NamedTuple):
    """Where the partition of a letter stands."""

    pk: int
    last_position: int


def replay(letters: Letters, *, by: str = "", reason: str = "", progress: Progress | None = None) -> int:
    """Deliver messages once more, each to its group and partition; how many will be.

    One that fails again is a dead letter again. The partition stands where it stands: nothing else is repeated. More
    than a thousand are several transactions, in the order of the log: whoever was interrupted may call again.
    """
    wanted = _wanted(letters)
    _refuse_without_partition(each.pk for each in wanted if each.partition_id == NO_PARTITION)
    return _in_batches(wanted, partial(_replay, by=by, reason=reason), progress)


def discard(letters: Letters, *, by: str = "", reason: str = "", progress: Progress | None = None) -> int:
    """Record that messages will not be delivered any more, who decided that, and why; how many were decided upon."""
    return _in_batches(_wanted(letters), partial(_discard, by=by, reason=reason), progress)


def _wanted(letters: Letters) -> list[Wanted]:
    if isinstance(letters, QuerySet):  # without their tracebacks
        return sorted(Wanted(*row) for row in letters.values_list("position", "pk", "partition_id"))
    listed = [letters] if isinstance(letters, DeadLetter) else letters
    return sorted(Wanted(letter.position, letter.pk, letter.partition_id) for letter in listed)


def _refuse_without_partition(pks: Iterable[int]) -> None:
    """Before anything is done: nothing that was asked for is, if one cannot be."""
    ordered = DeadLetter.objects.replayable().filter(group__kind=Kind.ORDERED)
    if (listed := [*pks][:BATCH]) and (letter := ordered.filter(pk__in=listed).first()):
        raise NoPartition(letter)


def _in_batches(wanted: list[Wanted], decide: Callable[[list[int]], int], progress: Progress | None) -> int:
    count = 0
    for start in range(0, len(wanted), BATCH):
        batch = [each.pk for each in wanted[start : start + BATCH]]
        with transaction.atomic(using=conf.database):
            count += decide(batch)
        if progress is not None:
            progress(start + len(batch))
    return count


def _replay(pks: list[int], *, by: str, reason: str) -> int:
    places = _locked_places(pks)
    replayable = _with_message(_locked(pks, *REPLAYABLE))
    delivered, open_already = _deliver([letter for letter in replayable if letter.group.kind == Kind.SHARED])
    _decide(delivered, LetterStatus.REPLAYING, by, reason)
    _decide(open_already, LetterStatus.REPLAYED, by, reason)  # it comes with the rest, after a seek
    letters = [letter for letter in replayable if _partition(letter) in places]
    passed = [letter for letter in letters if places[_partition(letter)].last_position >= letter.position]
    coming = [letter for letter in letters if places[_partition(letter)].last_position < letter.position]
    _announce(Counter(places[_partition(letter)].pk for letter in passed))
    _decide(passed, LetterStatus.REPLAYING, by, reason)
    _decide(coming, LetterStatus.COMING, by, reason)  # the partition was moved back: they come with the rest
    return len(letters) + len(delivered) + len(open_already)


def _deliver(letters: list[DeadLetter]) -> tuple[list[DeadLetter], list[DeadLetter]]:
    """Messages of shared groups are open again, if they are of topics that the group still has; and those that are."""
    at = {letter.position for letter in letters}
    topics = dict(StoredMessage.objects.filter(position__in=at).values_list("position", "topic"))
    places = GroupTopic.objects.filter(group_id__in={letter.group_id for letter in letters})
    known = {(group, topic): pk for pk, group, topic in places.values_list("pk", "group_id", "topic")}
    found = [(letter, known.get((letter.group_id, topics.get(letter.position, "")))) for letter in letters]
    there = Delivery.objects.filter(group_topic__in={*known.values()}, position__in=at)
    are_open = {*there.values_list("group_topic_id", "position")}
    new = [(letter, place) for letter, place in found if place and (place, letter.position) not in are_open]
    Delivery.objects.bulk_create(
        Delivery(group_topic_id=place, position=letter.position, again=True) for letter, place in new
    )
    return [letter for letter, _ in new], [letter for letter, place in found if (place, letter.position) in are_open]


def _discard(pks: list[int], *, by: str, reason: str) -> int:
    _locked_places(pks)
    letters = _locked(pks, LetterStatus.OPEN)
    _decide(letters, LetterStatus.DISCARDED, by, reason)
    return len(letters)


def _locked_places(pks: list[int]) -> dict[tuple[int, UUID], Place]:
    """Where the partitions of letters stand. Locks are taken as everywhere: groups, offsets, and later letters."""
    named = DeadLetter.objects.filter(pk__in=pks)
    groups = ConsumerGroup.objects.filter(pk__in=named.values("group_id"))
    list(groups.select_for_update(no_key=True).order_by("pk").values_list("pk"))
    partitions: dict[int, list[UUID]] = {}
    for group, partition in named.order_by().values_list("group_id", "partition_id").distinct():
        partitions.setdefault(group, []).append(partition)
    theirs = Q(pk__in=[])
    for group, ids in partitions.items():
        theirs |= Q(group_id=group, partition_id__in=ids)
    offsets = Offset.objects.select_for_update().filter(theirs).order_by("pk")
    found = offsets.values_list("pk", "group_id", "partition_id", "last_position")
    return {(group, partition): Place(pk, last) for pk, group, partition, last in found}


def _locked(pks: list[int], *statuses: LetterStatus) -> list[DeadLetter]:
    """Those letters that have such a status now."""
    letters = DeadLetter.objects.select_for_update(of=("self",)).filter(pk__in=pks, status__in=statuses)
    with_kinds = letters.select_related("group").only("group_id", "partition_id", "position", "status", "group__kind")
    return list(with_kinds.order_by("id"))


def _with_message(letters: list[DeadLetter]) -> list[DeadLetter]:
    """Without those that were discarded and whose message was pruned since; asked when they are locked."""
    discarded = {letter.position for letter in letters if letter.status == LetterStatus.DISCARDED}
    there = {*StoredMessage.objects.filter(position__in=discarded).values_list("position", flat=True)}
    gone = discarded - there
    return [letter for letter in letters if letter.status != LetterStatus.DISCARDED or letter.position not in gone]


def _partition(letter: DeadLetter) -> tuple[int, UUID]:
    return letter.group_id, letter.partition_id


def _announce(replays: Counter[int]) -> None:
    """Partitions have so many letters to deliver, each, and are open for them."""
    by_count: dict[int, list[int]] = {}
    for offset, count in replays.items():
        by_count.setdefault(count, []).append(offset)
    if not by_count:
        return
    more = Case(*(When(pk__in=offsets, then=Value(count)) for count, offsets in by_count.items()))
    Offset.objects.filter(pk__in=[*replays]).update(
        replays=F("replays") + more, next_position=Coalesce("next_position", F("last_position") + 1)
    )


def _decide(letters: list[DeadLetter], status: LetterStatus, by: str, reason: str) -> None:
    """Whatever is to be delivered has not been delivered so far."""
    delivered = {"deliveries": 0} if status == LetterStatus.REPLAYING else {}
    DeadLetter.objects.filter(pk__in=[letter.pk for letter in letters]).update(
        status=status, decided_by=by, reason=reason, decided_at=Now(), **delivered
    )
