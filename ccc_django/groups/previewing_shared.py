"""Preview of shared groups: what a verb would do to messages, counted in each topic of the group."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from ccc_django.groups.previews import MOST_COUNTED, Verb
from ccc_django.groups.previews_shared import SharedPreview
from ccc_django.groups.seeking import Place, position_of
from ccc_django.models import ConsumerGroup, Delivery, GroupTopic, StoredMessage
from ccc_django.models.offset import STOPPED_FOR
from ccc_django.store.reading import head


def preview_shared(verb: Verb, group: ConsumerGroup, *, to: Place | None) -> SharedPreview:
    """What a verb would do now to a group and all that it gets."""
    places = [*GroupTopic.objects.filter(group=group).order_by("topic")]
    sought = None if to is None else position_of(to)
    begins = {place.topic: sought or place.start for place in places}
    work = Work(verb, group, places, begins, sought)
    first = sought or min(begins.values(), default=group.start)
    seen = SharedPreview(
        verb=verb,
        group=group.name,
        status=group.status_now,
        partition=None,
        head=head(),
        first=first,
        partitions=0,
        begins=begins,
        **work.figures(),
    )
    return seen if verb in {"start", "stop"} else _with_messages(seen, work)


@dataclass(frozen=True, slots=True)
class Work:
    """A shared group with its places, and where a verb lets each of them begin."""

    verb: Verb
    group: ConsumerGroup
    places: list[GroupTopic]
    begins: dict[str, int]
    sought: int | None

    def figures(self) -> dict[str, Any]:
        """Messages that pause or are stopped, as far as they still come then, and those in hand."""
        now, those = timezone.now(), self.deliveries()
        is_free, is_stopped = Q(claimed_by=""), Q(blocked_until__gt=now + STOPPED_FOR / 2)
        coming = those.filter(~self._is_passed()) if self.verb in {"reset", "seek"} else those
        return {
            "paused": coming.filter(is_free & ~is_stopped, blocked_until__gt=now).count(),
            "stopped": coming.filter(is_stopped).count(),
            "claims": those.filter(~is_free, blocked_until__gt=now).count(),
        }

    def deliveries(self) -> QuerySet[Delivery]:
        """What is open, as far as anybody has looked into the log."""
        return Delivery.objects.filter(group_topic__in=[place.pk for place in self.places])

    def passed(self) -> QuerySet[Delivery]:
        """Those that are not delivered any more."""
        return self.deliveries() if self.verb == "delete" else self.deliveries().filter(self._is_passed())

    def _is_passed(self) -> Q:
        """A reset goes to each topic's own start, a seek to the same place in all."""
        return Q(position__lt=self.sought or F("group_topic__start"))

    def messages(self, place: GroupTopic, *, after: int, upto: int) -> QuerySet[StoredMessage]:
        """What the group gets of a topic between two positions; the index on both has this order."""
        found = StoredMessage.objects.filter(topic=place.topic, position__gt=after, position__lte=upto)
        types = self.group.handled_types
        return (found.of_types(types) if types else found).order_by("topic", "position")

    def letters(self) -> int:
        """Dead letters that come with the rest."""
        positions = self.group.dead_letters.open().values("position")
        found = StoredMessage.objects.filter(position__in=positions, topic__in=[*self.begins])
        return sum(position >= self.begins[topic] for position, topic in found.values_list("position", "topic"))


def _with_messages(seen: SharedPreview, work: Work) -> SharedPreview:
    """With messages and dead letters that it concerns."""
    passed = [work.passed(), *_coming(seen, work)]
    if seen.verb == "delete":
        return replace(seen, skipped=_counted(passed), dead_letters=work.group.dead_letters.open().count())
    return replace(seen, skipped=_counted(passed), again=_counted(_behind(work)), dead_letters=work.letters())


def _coming(seen: SharedPreview, work: Work) -> Iterable[QuerySet[Any]]:
    """What nobody has made deliveries of yet, and nobody will."""
    for place in work.places:
        upto = seen.head if seen.verb == "delete" else min(seen.begins[place.topic] - 1, seen.head)
        if upto > place.watermark:
            yield work.messages(place, after=place.watermark, upto=upto)


def _behind(work: Work) -> Iterable[QuerySet[Any]]:
    """What is done, or was passed over before."""
    for place in work.places:
        first = work.begins[place.topic]
        if first <= place.watermark:
            is_open = Exists(Delivery.objects.filter(group_topic=place.pk, position=OuterRef("position")))
            yield work.messages(place, after=first - 1, upto=place.watermark).filter(~is_open)


def _counted(several: Iterable[QuerySet[Any]]) -> int:
    """All of them, as far as anybody wants to know."""
    total = 0
    for each in several:
        total += each[: MOST_COUNTED + 1 - total].count()
        if total > MOST_COUNTED:
            break
    return total
