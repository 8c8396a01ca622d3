"""Which price counts, and which number is next."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

from ccc_django import Decider, DomainError, Message, decides, evolves
from shop.messages import ArticleBought, BuyArticle, ChangePrice, InvoiceIssued, IssueInvoice, PriceChanged

GRACE = timedelta(minutes=10)


class PriceOutdated(DomainError):
    """The article has had another price for too long."""


@dataclass
class Price:
    """What an article costs, and until when older prices are honoured."""

    current: Decimal | None = None
    honoured_until: dict[Decimal, datetime] = field(default_factory=dict)

    def is_good(self, price: Decimal, at: datetime) -> bool:
        """Whether a customer can have an article for this price at a time."""
        return price == self.current or (price in self.honoured_until and at <= self.honoured_until[price])


class Checkout(Decider, group="checkout", partition_by=["article"]):
    """Which price counts: the one of today, or one that was on the page ten minutes ago.

    Only changes of the price are facts of this decision. Customers do not disturb one another.
    """

    state_type = Price

    @evolves(PriceChanged)
    def changed(self, price: Price, event: PriceChanged) -> None:
        """Who has the old page open may still buy."""
        if price.current is not None:
            price.honoured_until[price.current] = event.created_at + GRACE
        price.current = event.price

    @decides(ChangePrice)
    def change(self, _price: Price, command: ChangePrice) -> Iterator[Message]:
        """The shop may ask what it likes."""
        yield PriceChanged(article=command.article, price=command.price)

    @decides(BuyArticle)
    def buy(self, price: Price, command: BuyArticle) -> Iterator[Message]:
        """At a price that was on the page a moment ago."""
        if not price.is_good(command.price, at=command.created_at):
            raise PriceOutdated(f"{command.article} cannot be had for {command.price} any more.")
        yield ArticleBought(**command.payload)


class Invoices(Decider, group="invoices", partition_by=["series"], snapshot_every=100):
    """Which number an invoice gets: 1, 2, 3 … in each series, without gap or repeat.

    The state is the last number. A series grows long, so it is kept every hundred invoices, and read from there.
    """

    state_type = int

    @evolves(InvoiceIssued)
    def issued(self, _last: int, event: InvoiceIssued) -> int:
        """A number is given once."""
        return event.number

    @decides(IssueInvoice)
    def issue(self, last: int, command: IssueInvoice) -> Iterator[Message]:
        """The next one."""
        yield InvoiceIssued(series=command.series, number=last + 1, order_id=command.order_id)
