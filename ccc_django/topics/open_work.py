"""Open work of topics: which groups have not done everything yet."""

from ccc_django.models import Delivery, GroupTopic, StoredMessage
from ccc_django.models.consumer_group import Kind
from ccc_django.models.topic_subscription import LIVE


def open_groups(topic: str) -> list[str]:
    """Groups that have open messages of a topic, as far as anybody waits for them, by name."""
    places = GroupTopic.objects.filter(topic=topic, subscription__status__in=LIVE, group__holds=True)
    return [
        place.group.name for place in places.select_related("group").order_by("group__name") if has_open_messages(place)
    ]


def has_open_messages(place: GroupTopic) -> bool:
    """Whether a group has something of a topic still to do, that it handles."""
    group, is_shared = place.group, place.group.kind == Kind.SHARED
    coming = StoredMessage.objects.filter(topic=place.topic).after(place.watermark if is_shared else group.watermark)
    if group.handled_types:
        coming = coming.of_types(group.handled_types)
    if is_shared:
        return Delivery.objects.filter(group_topic=place).exists() or coming.exists()
    return group.offsets.filter(next_position__isnull=False).exists() or coming.exists()
