"""What happens in the order shop."""

from decimal import Decimal
from typing import Annotated
from uuid import UUID

from ccc_django import Command, Event, Indexed, Sensitive, Unindexed


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


class ChangePrice(Command, type="price.change"):
    """The shop wants another price for an article."""

    article: str
    price: Decimal


class PriceChanged(Event, type="price.changed"):
    """An article has another price."""

    article: str
    price: Decimal


class BuyArticle(Command, type="article.buy"):
    """A customer wants an article at the price that was on the page."""

    article: str
    price: Decimal
    order_id: UUID


class ArticleBought(Event, type="article.bought"):
    """A customer has bought an article, at this price."""

    article: str
    price: Decimal
    order_id: UUID


class IssueInvoice(Command, type="invoice.issue"):
    """An order is to be paid."""

    series: str
    order_id: UUID


class InvoiceIssued(Event, type="invoice.issued"):
    """An invoice has got the next number of its series."""

    series: str
    number: int
    order_id: UUID
