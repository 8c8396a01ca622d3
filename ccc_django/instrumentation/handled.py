"""Handled: what each group has done with some messages, judged by its watermark, offsets and dead letters."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from uuid import UUID

from pydantic_core import from_json

from ccc_django.instrumentation.carried import Carried, carried_by
from ccc_django.messages import Message
from ccc_django.models import (
    ConsumerGroup,
    DeadLetter,
    Delivery,
    GroupTopic,
    Offset,
    OffsetKeyPair,
    StoredMessage,
)
from ccc_django.models.consumer_group import Kind
from ccc_django.models.dead_letter import LetterStatus
from ccc_django.partitions import TooManyPartitions, partitions_of
from ccc_django.wording import first_line

DONE, OPEN, FAILED, DEAD, DISCARDED, SKIPPED = "done", "open", "failed", "dead letter", "discarded", "skipped"
PAGE = 500
SEVERAL = 10  # failed partitions that are looked at, where a message concerns many


@dataclass(frozen=True, slots=True, kw_only=True)
class Handled:
    """What one group has done with one message; it was skipped if it lies before where the group began."""

    group: str
    status: str
    error: str = ""


def handled(messages: Iterable[Message]) -> dict[int, tuple[Handled, ...]]:
    """By position: what each group that gets messages like this one has done with it."""
    stored = {message.position: message for message in messages if message.position is not None}
    groups = list(ConsumerGroup.objects.order_by("name"))
    names = {name for group in groups for name in group.partition_by}
    found: dict[int, tuple[Handled, ...]] = {}
    for start in range(0, len(stored), PAGE):
        page = dict(list(stored.items())[start : start + PAGE])
        carried = carried_by(list(page), names)
        judged = [_of_group(group, page, carried) for group in groups]
        found |= {position: tuple(each[position] for each in judged if position in each) for position in page}
    return found


def _of_group(group: ConsumerGroup, page: dict[int, Message], carried: dict[int, Carried]) -> dict[int, Handled]:
    """What a group has done with those messages that it gets: of its types, with one of its attributes at least."""
    theirs = {position: message for position, message in page.items() if _concerns(group, message)}
    if group.kind == Kind.SHARED:
        return {**_shared(group, theirs), **_letters(group, list(theirs))}
    mine: dict[int, Carried] = {}
    for position in theirs:
        of_group = {name: pairs for name, pairs in carried.get(position, {}).items() if name in group.partition_by}
        if of_group or not group.partition_by:
            mine[position] = of_group
    letters, judge = _letters(group, list(mine)), Judge(group, mine)
    return {
        position: letters[position] if position in letters else judge.handled(position, page[position].type)
        for position in mine
    }


def _concerns(group: ConsumerGroup, message: Message) -> bool:
    """Whether a message is of a group's types and topics; a shared group without types gets all of them."""
    is_handled = message.type in group.handled_types or (group.kind == Kind.SHARED and not group.handled_types)
    return is_handled and (group.topics is None or message.envelope.topic in group.topics)


def _shared(group: ConsumerGroup, messages: dict[int, Message]) -> dict[int, Handled]:
    """Of a shared group: what is not open, once it has passed it, is done."""
    places = {place.topic: place for place in GroupTopic.objects.filter(group=group)}
    deliveries = Delivery.objects.filter(group_topic__in=[place.pk for place in places.values()])
    errors = dict(deliveries.filter(position__in=[*messages]).values_list("position", "error"))
    found: dict[int, Handled] = {}
    for position, message in messages.items():
        place = places[message.envelope.topic]
        error = errors.get(position, "")
        is_open = position in errors or position > place.watermark
        status = SKIPPED if position < place.start else FAILED if error else OPEN if is_open else DONE
        found[position] = Handled(group=group.name, status=status, error=first_line(error))
    return found


def _letters(group: ConsumerGroup, positions: list[int]) -> dict[int, Handled]:
    """What a group has given up; an open letter counts more than one that was discarded for another partition."""
    words = {LetterStatus.DISCARDED: DISCARDED, LetterStatus.OPEN: DEAD}
    letters = DeadLetter.objects.filter(group=group, position__in=positions, status__in=list(words))
    return {
        letter.position: Handled(
            group=group.name, status=words[LetterStatus(letter.status)], error=first_line(letter.error)
        )
        for letter in letters.order_by("status")
    }


class Judge:
    """Knows how far a group is in the partitions of some messages."""

    def __init__(self, group: ConsumerGroup, messages: dict[int, Carried]) -> None:
        self.group = group
        self.messages = messages
        self.partitions = {position: self._partitions(carried) for position, carried in messages.items()}
        ids = {id for several in self.partitions.values() for id in several or ()}
        self.offsets: dict[UUID, Offset] = {
            offset.partition_id: offset for offset in Offset.objects.filter(group=group, partition_id__in=ids)
        }

    def handled(self, position: int, type: str) -> Handled:
        """Done is what no partition has before it, once the group has found out which partitions get it."""
        if position < self.group.begins_at:
            return Handled(group=self.group.name, status=SKIPPED)
        is_known = position <= self._watermark(type)
        partitions = self.partitions[position]
        if partitions is None:
            behind, status = list(self._sharing_behind(position)), DONE if is_known else OPEN
        else:
            offsets = [self.offsets[id] for id in partitions if id in self.offsets]
            behind = [offset for offset in offsets if offset.last_position < position]
            status = DONE if offsets else SKIPPED if is_known else OPEN
        for offset in behind:
            if offset.error and self._first_open(offset, upto=position) == position:
                return Handled(group=self.group.name, status=FAILED, error=first_line(offset.error))
        return Handled(group=self.group.name, status=OPEN if behind else status)

    def _partitions(self, carried: Carried) -> list[UUID] | None:
        """The partitions of a message with all attributes; one with some belongs to all that share its values."""
        if len(carried) < len(self.group.partition_by):
            return None
        try:
            return [partition.uuid for partition in partitions_of(carried, carried, self.group.most_partitions)]
        except TooManyPartitions:
            return []

    def _sharing_behind(self, position: int) -> Iterator[Offset]:
        """Some of the partitions that share the values of a message and are not behind it; failed ones first."""
        offsets = Offset.objects.filter(group=self.group, last_position__lt=position)
        for pairs in self.messages[position].values():
            sharing = OffsetKeyPair.objects.filter(group_id=self.group.pk, key_pair__in=[pair.id for pair in pairs])
            offsets = offsets.filter(pk__in=sharing.values("offset_id"))
        yield from offsets.exclude(error="")[:SEVERAL]
        yield from offsets[:1]

    def _watermark(self, type: str) -> int:
        """How far messages of a type have become work; a group may go back over the log for new types alone."""
        group = self.group
        return group.watermark if type in group.catch_up_types else max(group.watermark, group.catch_up_to)

    def _first_open(self, offset: Offset, *, upto: int) -> int | None:
        """The message that a partition is at: if it has an error, this is the one that has failed."""
        rows = StoredMessage.objects.fetch(
            from_json(offset.partition_key),
            types=self.group.handled_types,
            after=offset.last_position,
            upto=upto,
            limit=1,
        )
        return next(iter(rows.values_list("position", flat=True)), None)
