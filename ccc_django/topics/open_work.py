"""Open work of topics: which groups have not done everything yet."""

from django.db.models import Exists, F, OuterRef, Q

from ccc_django.models import Delivery, GroupTopic, Offset, StoredMessage
from ccc_django.models.consumer_group import Kind
from ccc_django.models.topic_subscription import LIVE


def open_groups(topic: str) -> list[str]:
    """Groups that have open messages of a topic, as far as anybody waits for them."""
    places = GroupTopic.objects.filter(topic=topic, subscription__status__in=LIVE)
    later = StoredMessage.objects.filter(topic=topic)
    delivered = Exists(Delivery.objects.filter(group_topic=OuterRef("pk")))
    coming = Exists(later.filter(position__gt=OuterRef("watermark")))
    of_partitions = Exists(Offset.objects.filter(group=OuterRef("group"), next_position__isnull=False))
    beyond = Exists(later.filter(position__gt=OuterRef("group__watermark")))
    shared = Q(group__kind=Kind.SHARED) & (Q(delivered) | Q(coming))
    ordered = Q(group__kind=Kind.ORDERED) & (Q(of_partitions) | Q(beyond))
    return [*places.filter(shared | ordered).order_by(F("group__name")).values_list("group__name", flat=True)]
