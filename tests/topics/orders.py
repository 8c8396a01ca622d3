"""What the tests of topics speak about: orders, and who gets them."""

from ccc_django import Event, groups, topics
from ccc_django.topics import PUB_SUB

TOPIC = "orders.events"


class OrderCreated(Event, type="topics.order_created"):
    order_id: str


class OrderPaid(Event, type="topics.order_paid"):
    order_id: str


def published(*orders: str, topic: str = TOPIC) -> list:
    return topics.publish(topic, [OrderCreated(order_id=order) for order in orders])


def channel(name: str = TOPIC, **options):
    return topics.configure(name, semantics=PUB_SUB, **options)


def claim(group: str, *, worker: str = "w-1", limit: int = 50, **options):
    return groups.claim_next(group, worker=worker, limit=limit, **options)


def ids(claimed) -> list[str]:
    return [] if claimed is None else [message.order_id for message in claimed.messages]


def handled(group: str, *, limit: int = 50) -> list[str]:
    """Claim and ack until nothing is left."""
    done: list[str] = []
    while claimed := claim(group, limit=limit):
        done += ids(claimed)
        groups.ack(claimed)
    return done
