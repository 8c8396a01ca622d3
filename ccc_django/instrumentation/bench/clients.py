"""Clients: what is measured, each as one who does it again and again."""

import secrets
import time
from itertools import count

from ccc_django import db, groups, store
from ccc_django.claims import Claim
from ccc_django.conditions import Condition
from ccc_django.consumers import runner
from ccc_django.consumers.base import Options
from ccc_django.consumers.functions import FunctionConsumer
from ccc_django.guards import Guard
from ccc_django.instrumentation.bench.messages import Listed, Single
from ccc_django.instrumentation.bench.names import KEY, LANE, SINGLE, TYPES
from ccc_django.instrumentation.bench.timing import Client

MANY = 100  # messages of one append, and of one batch
LANES = 32
PATIENCE, PAUSE = 0.2, 0.002  # seconds: how long one waits for what others have in hand, and between two looks


class Travelling(Client):
    """Asks for nothing."""

    has_messages = False

    def work(self) -> int:
        """One journey."""
        return len(db.rows("empty_journey"))


class Committing(Client):
    """Writes a row that means nothing."""

    has_messages = False

    def work(self) -> int:
        """One commit."""
        db.rows("bare_commit", name=self.run)
        return 1


class Appending(Client):
    """Appends one message at a time."""

    def __init__(self, run: str) -> None:
        super().__init__(run)
        self.name, self.numbers = secrets.token_hex(8), count()

    def work(self) -> int:
        """One message, from making it on."""
        store.append(self.message())
        return 1

    def message(self) -> Single:
        """A message that is a partition of its own."""
        number = next(self.numbers)
        return Single(ccc_bench_key=f"{self.name}-{number}", ccc_bench_lane=number % LANES)


class AppendingGuarded(Appending):
    """Appends one message at a time, unless there is one with the same key."""

    def __init__(self, run: str) -> None:
        super().__init__(run)
        self.after = store.head()

    def work(self) -> int:
        """One message under a guard."""
        message = self.message()
        condition = Condition(SINGLE, KEY, message.ccc_bench_key)
        store.append(message, guard=Guard(conditions=(condition,), after=self.after))
        return 1


class AppendingMany(Appending):
    """Appends many messages at once."""

    def work(self) -> int:
        """One append."""
        numbers = [next(self.numbers) for _ in range(MANY)]
        items = [Listed(ccc_bench_item=f"{self.name}-{each}", ccc_bench_lane=each % LANES) for each in numbers]
        return len(store.append(items))


class Claiming(Client):
    """Claims partitions of one message, and acks them."""

    def __init__(self, run: str) -> None:
        super().__init__(run)
        self.worker = f"{run}-{secrets.token_hex(4)}"

    def work(self) -> int:
        """One claim and its ack."""
        claim = groups.claim_next(claims_of(self.run), worker=self.worker, limit=1)
        if claim is None:
            return 0
        groups.ack(claim)
        return len(claim.messages)


class Consuming(Claiming):
    """Consumes as a worker does, with a handler that does nothing; each ack travels with the next claim."""

    def __init__(self, run: str) -> None:
        super().__init__(run)
        options = Options(group=batches_of(run), partition_by=(LANE,))
        self.consumer = FunctionConsumer(handle, options, TYPES, batch=True, in_transaction=True)
        self.held: Claim | None = None

    def work(self) -> int:
        """One batch."""
        claim = self._claimed()
        if claim is None:
            return 0
        outcome = runner.run(self.consumer, claim, may_hold=True)
        if outcome.error is not None:
            raise outcome.error
        self.held = outcome.held
        return len(outcome.steps)

    def end(self) -> None:
        """The last ack has no claim to travel with."""
        if self.held is not None:
            groups.ack(self.held)

    def _claimed(self) -> Claim | None:
        """The next batch; the others may have every lane in hand for a moment."""
        deadline = time.monotonic() + PATIENCE
        while True:
            held, self.held = self.held, None
            claim = groups.claim_next(self.consumer.group_name(), worker=self.worker, limit=MANY, ack=held)
            if claim is not None or groups.is_empty(self.consumer.group_name()) or time.monotonic() > deadline:
                return claim
            time.sleep(PAUSE)


def handle(messages: list[Single | Listed]) -> None:
    """Do nothing with a batch."""


def claims_of(run: str) -> str:
    """The group whose partitions have one message each."""
    return f"{run}-claims"


def batches_of(run: str) -> str:
    """The group whose partitions are lanes."""
    return f"{run}-batches"
