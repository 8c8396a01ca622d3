"""Records: the subscription that a verb is about."""

from typing import Any

from ccc_django.errors import UnknownSubscription
from ccc_django.models import GroupTopic, TopicSubscription
from ccc_django.topics.scopes import Scope


def record_of(group: str, scope: Scope, *, for_update: bool = True) -> TopicSubscription:
    """A group's own subscription to this, locked until the transaction ends."""
    records: Any = TopicSubscription.objects.of_group(group).whole().filter(**scope.columns)
    record: TopicSubscription | None = (records.select_for_update(no_key=True) if for_update else records).first()
    if record is not None:
        return record
    place = GroupTopic.objects.filter(group__name=group, topic=scope.topic).select_related("subscription").first()
    if place is not None:
        raise UnknownSubscription(f"{group} gets {scope} by its subscription to {place.subscription.scope}: name that.")
    raise UnknownSubscription(f"{group} has not subscribed to {scope}: topics.subscribe(…, group={group!r}).")
