"""Preview: what a verb would do to a group, or to one partition, before anybody does it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Max, Min, Q, QuerySet
from django.utils import timezone

from ccc_django.errors import UnknownGroup, UnknownPartition
from ccc_django.groups.lifecycle import named_partition
from ccc_django.groups.previewing_shared import preview_shared
from ccc_django.groups.previews import MOST_COUNTED, VERBS, Preview, Verb
from ccc_django.groups.seeking import Place, position_of
from ccc_django.models import ConsumerGroup, Offset, StoredMessage, TopicSubscription
from ccc_django.models.consumer_group import Kind
from ccc_django.models.offset import STOPPED_FOR
from ccc_django.store.reading import head


def preview(
    verb: Verb,
    name: str,
    *,
    partition: Mapping[str, Any] | None = None,
    to: Place | None = None,
    keep_subscriptions: bool = False,
) -> Preview:
    """What a verb would do now; nothing is changed. ``to`` is the place of a seek."""
    if verb not in VERBS or (verb == "seek") != (to is not None):
        raise ValueError(f"{verb!r}, to={to!r}: one of {', '.join(VERBS)}; a seek, and nothing else, has a place.")
    concerned = _concerned(name, partition)
    if partition is not None and verb != "seek" and not concerned.offsets.exists():
        raise UnknownPartition(name, named_partition(concerned.group, partition).key)
    if concerned.group.kind == Kind.SHARED:
        seen: Preview = preview_shared(verb, concerned.group, to=to)
    else:
        seen = _seen(verb, concerned, first=_first(verb, concerned, to))
        seen = seen if verb in {"start", "stop"} else _with_messages(seen, concerned)
    if verb != "delete" or partition is not None:
        return seen
    count = TopicSubscription.objects.of_group(name).count()
    return replace(seen, subscriptions=count, keeps_subscriptions=keep_subscriptions)


@dataclass(frozen=True, slots=True)
class Concerned:
    """A group with all its partitions, or with one."""

    group: ConsumerGroup
    partition: Mapping[str, Any] | None
    offsets: QuerySet[Offset]

    def count(self, *, after: int, upto: int) -> int:
        """Messages that the partition gets, or that are of the group's types, between two positions."""
        if upto <= after:
            return 0
        types, most = self.group.handled_types, MOST_COUNTED + 1
        if self.partition is None:
            return StoredMessage.objects.after(after).upto(upto).of_types(types)[:most].count()
        return StoredMessage.objects.fetch(self.partition, types=types, after=after, upto=upto, limit=most).count()

    def places(self) -> tuple[int, int]:
        """Up to where something was acked, and up to where everything is done."""
        at = self.offsets.aggregate(acked=Max("replay_until"), last=Min("last_position"), open=Min("next_position"))
        if self.partition is None:
            return at["acked"] or 0, min(self.group.watermark, (at["open"] or self.group.watermark + 1) - 1)
        return at["acked"] or 0, self.group.begins_at - 1 if at["last"] is None else at["last"]


def _concerned(name: str, partition: Mapping[str, Any] | None) -> Concerned:
    group = ConsumerGroup.objects.filter(name=name).first()
    if group is None:
        raise UnknownGroup(name)
    offsets: QuerySet[Offset] = group.offsets.all()
    if partition is not None:
        offsets = offsets.filter(partition_id=named_partition(group, partition).uuid)
    return Concerned(group, partition, offsets)


def _first(verb: Verb, concerned: Concerned, to: Place | None) -> int:
    """Where delivery begins afterwards: a partition that was deleted comes back as new ones come."""
    if to is not None:
        return position_of(to)
    is_like_new = verb == "delete" and concerned.partition is not None
    return concerned.group.begins_at if is_like_new else concerned.group.start


def _seen(verb: Verb, concerned: Concerned, *, first: int) -> Preview:
    now, group, offsets = timezone.now(), concerned.group, concerned.offsets
    is_free, is_stopped = Q(claimed_by=""), Q(blocked_until__gt=now + STOPPED_FOR / 2)
    named = None if concerned.partition is None else named_partition(group, concerned.partition)
    return Preview(
        verb=verb,
        group=group.name,
        status=group.status_now,
        partition=named and named.key,
        head=head(),
        first=first,
        partitions=offsets.count(),
        paused=offsets.filter(is_free & ~is_stopped, blocked_until__gt=now).count(),
        stopped=offsets.filter(is_stopped).count(),
        claims=offsets.filter(~is_free, blocked_until__gt=now).count(),
    )


def _with_messages(seen: Preview, concerned: Concerned) -> Preview:
    """With messages and dead letters that it concerns."""
    acked, done = concerned.places()
    letters = concerned.group.dead_letters.open()
    if concerned.partition is not None:
        letters = letters.filter(partition_id__in=concerned.offsets.values("partition_id"))
    if seen.verb == "delete":
        waiting = concerned.count(after=done, upto=seen.head if seen.partition is None else concerned.group.watermark)
        return replace(seen, skipped=waiting, dead_letters=letters.count())
    return replace(
        seen,
        again=concerned.count(after=seen.first - 1, upto=acked),
        skipped=concerned.count(after=done, upto=min(seen.first - 1, seen.head)),
        dead_letters=letters.filter(position__gte=seen.first).count(),
    )
