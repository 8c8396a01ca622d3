"""Finding: dead letters by group, type, error, time and partition, and what would be decided upon them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.db.models import Count, Exists, OuterRef, Q, Subquery
from django.utils.timezone import is_naive

from ccc_django.errors import UnknownGroup
from ccc_django.models import ConsumerGroup, DeadLetter, GroupTopic, StoredMessage
from ccc_django.models.consumer_group import Kind
from ccc_django.models.dead_letter import NO_PARTITION, DeadLetterQuerySet, LetterStatus
from ccc_django.partitions import partition_of

ANY = "any"
MOST_NAMED = 10  # letters that a sentence names

Verb = Literal["replay", "discard"]


def find(
    *,
    group: str | None = None,
    type: str | None = None,
    error: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    partition: Mapping[str, Any] | None = None,
    status: str | None = None,
    ids: Iterable[int] = (),
) -> DeadLetterQuerySet:
    """Dead letters that everything which is given is true of, in the order of the log.

    ``error`` is a part of it, in any case; ``since`` and ``until`` are when the message was given up, the latter
    exclusive. Without a status those are found that are open, or that are named by their ids; ``"any"`` finds all.
    """
    if group is not None:
        _refuse_strangers(group, partition)
    wanted = {
        "group__name": group,
        "message_type": type,
        "error__icontains": error,
        "created_at__gte": _with_zone(since),
        "created_at__lt": _with_zone(until),
        "partition_id": None if partition is None else partition_of(partition).uuid,
        "status": _status(status, is_named=bool(ids)),
        "pk__in": [*ids] or None,
    }
    found: DeadLetterQuerySet = DeadLetter.objects.filter(**{k: v for k, v in wanted.items() if v is not None})
    return found


def _refuse_strangers(name: str, partition: Mapping[str, Any] | None) -> None:
    """A group that is not there, or a partition by other attributes, is a typing error, and not nothing."""
    group = ConsumerGroup.objects.filter(name=name).first()
    if group is None:
        raise UnknownGroup(name)
    if partition is not None and sorted(partition) != group.partition_by:
        raise ValueError(f"{group} has partitions by {', '.join(group.partition_by) or 'nothing'}: give their values.")


def _with_zone(time: datetime | None) -> datetime | None:
    if time is not None and is_naive(time):
        raise ValueError(f"{time}: a time needs a time zone.")
    return time


def _status(status: str | None, *, is_named: bool) -> str | None:
    if status is None:
        return None if is_named else LetterStatus.OPEN
    if status not in {*LetterStatus.values, ANY}:
        raise ValueError(f"{status!r} is no status: {', '.join([*LetterStatus.values, ANY])}.")
    return None if status == ANY else status


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """How many letters would be decided upon, of which groups and types; and those that cannot be delivered again."""

    verb: Verb
    count: int
    of: tuple[tuple[str, str, int], ...]
    without_partition: int = 0
    named: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        """What a person is asked to agree to."""
        what = "delivered again" if self.verb == "replay" else "discarded"
        whose = "".join(f"\n  {count:,} of {group}: {type}" for group, type, count in self.of)
        left = f"{', '.join(self.named)}{' …' if self.without_partition > len(self.named) else ''}"
        stay = (
            f"\n{self.without_partition:,} cannot be, because their lists name too many partitions: {left}. Register "
            "the group with more (most_partitions=…) and seek to them, or discard them."
        )
        return f"{self.count:,} will be {what}.{whose}{stay if self.without_partition else ''}"


def preview(verb: Verb, letters: DeadLetterQuerySet, *, limit: int | None = None) -> Preview:
    """What a decision upon letters would do now; nothing is changed."""
    chosen = DeadLetter.objects.filter(pk__in=decidable(verb, letters)[:limit].values("pk"))
    of = chosen.order_by().values_list("group__name", "message_type").annotate(count=Count("pk"))
    counted = tuple(sorted(of))
    no_partition = letters.replayable().filter(partition_id=NO_PARTITION, group__kind=Kind.ORDERED)
    left_out = no_partition if verb == "replay" else letters.none()
    return Preview(
        verb=verb,
        count=sum(count for _, _, count in counted),
        of=counted,
        without_partition=left_out.count(),
        named=tuple(f"{letter} (id {letter.pk})" for letter in left_out.defer("traceback")[:MOST_NAMED]),
    )


def decidable(verb: Verb, letters: DeadLetterQuerySet) -> DeadLetterQuerySet:
    """Those of some letters that can be decided upon; what belongs nowhere any more cannot be delivered again."""
    if verb != "replay":
        return letters.open()
    there = StoredMessage.objects.filter(position=OuterRef("position"))  # what was discarded may have been pruned
    replayable = letters.replayable().filter(~Q(status=LetterStatus.DISCARDED) | Exists(there))
    in_partitions, in_topics = replayable.with_partition(), _with_place(replayable)
    return letters.filter(Q(pk__in=in_partitions.values("pk")) | Q(pk__in=in_topics.values("pk")))


def _with_place(letters: DeadLetterQuerySet) -> DeadLetterQuerySet:
    """Letters of shared groups that still get the topic of the message."""
    message = StoredMessage.objects.filter(position=OuterRef(OuterRef("position"))).values("topic")[:1]
    places = GroupTopic.objects.filter(group_id=OuterRef("group_id"), topic=Subquery(message))
    return letters.filter(Exists(places), group__kind=Kind.SHARED)
