"""Losing: what is pruned although a group had not done it, because nothing is kept for it any more, is recorded."""

from collections.abc import Iterable
from typing import Any

from django.db.models import F
from django.db.models.functions import Now
from pydantic_core import to_json

from ccc_django import db, wording
from ccc_django.groups.keeping import keep
from ccc_django.models import GroupTopic, TopicSubscription
from ccc_django.topics.needing import Need


def lose(losing: Iterable[Need], part: dict[str, Any]) -> list[int]:
    """Record for each group between which positions it will lose messages, when a part of a topic is pruned.

    The places of shared groups in the topic, which may have open what is about to go.
    """
    places = []
    for need in losing:
        lost = _foreseen(need, part)
        if need.place is None or lost is None:
            continue
        if not need.only_looks:
            _record(need.place, *lost)
        if need.is_shared:
            places.append(need.place)
    return places


def _foreseen(need: Need, part: dict[str, Any]) -> tuple[int, int] | None:
    """Between which positions a group will miss something, if it will."""
    listed: dict[str, Any] = {"types": need.types, "shapes": sorted(need.partial_shapes())}
    if need.first > part["upto"] and not listed["shapes"]:
        return None
    if db.is_sqlite():
        listed = {name: to_json(values).decode() for name, values in listed.items()}
    stands = {"first": need.first, "place": need.place, "watermark": need.watermark, "is_shared": need.is_shared}
    [(first, last)] = db.rows("foreseen_loss", **part, **listed, **stands, every=not need.types)
    return None if first is None else (first, last)


def drop(places: list[int], *, after: int, upto: int) -> None:
    """What was open of messages that are gone is open no more."""
    if places:
        listed: Any = to_json(places).decode() if db.is_sqlite() else places
        db.rows("drop_pruned_deliveries", places=listed, after=after, upto=upto)


def _record(pk: int, first: int, last: int) -> None:
    """A gap from before it was last active is history; otherwise they become one."""
    place = GroupTopic.objects.select_related("subscription").get(pk=pk)
    is_same = place.lost_at is not None and place.lost_at >= place.subscription.last_active_at
    place.lost_from = min(first, place.lost_from or first) if is_same else first
    place.lost_to = max(last, place.lost_to or last) if is_same else last
    place.save(update_fields=["lost_from", "lost_to"])
    GroupTopic.objects.filter(pk=place.pk).update(lost_at=Now())


def go_on(subscriptions: Iterable[int]) -> None:
    """Messages are kept again for subscriptions that had ended; they are told what they will not get.

    Records are locked before topics, as by whoever deletes a topic.
    """
    ids = [*subscriptions]
    list(TopicSubscription.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk").values_list("pk"))
    places = GroupTopic.objects.filter(subscription_id__in=ids)
    keep(places.values_list("topic", flat=True))
    lost = places.filter(lost_at__gte=F("subscription__last_active_at"))  # in a later statement: nobody prunes now
    for place in lost.select_related("group"):
        wording.lost_messages(group=place.group.name, topic=place.topic, first=place.lost_from, last=place.lost_to)
