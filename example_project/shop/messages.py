"""What happens in the order shop."""

from decimal import Decimal
from typing import Annotated
from uuid import UUID

from ccc_django import Event, Indexed, Sensitive, Unindexed


class OrderPlaced(Event, type="order.placed", topic="orders.events"):
    """A customer has ordered; every article of the order can be used to find it."""

    order_id: UUID
    customer_id: str
    articles: Annotated[list[str], Indexed(name="article")]
    total: Decimal
    delivery_note: Annotated[str, Unindexed] = ""
    card_number: Annotated[str, Sensitive]


class OrderShipped(Event, type="order.shipped", topic="orders.events"):
    """The parcel is on its way."""

    order_id: UUID
