"""Consumers of topics whose effects a test can look at; what they do is said by environment variables."""

import os
import time
from datetime import timedelta

from ccc_django import Retry, consumer
from tests.topics.orders import TOPIC, OrderCreated, OrderPaid
from tests.worker_app.models import Effect

SECONDS = float(os.environ.get("CCC_TEST_HANDLER_SECONDS", "0"))
LEASE = timedelta(seconds=float(os.environ.get("CCC_TEST_LEASE", "60")))
POISON = os.environ.get("CCC_TEST_POISON", "")
RETRY = Retry(max_attempts=2, first_pause=timedelta(seconds=0.05))


def done(message, claim) -> None:
    Effect.objects.create(
        group_name=claim.group, partition=claim.partition_key, position=message.position, worker=claim.worker
    )


@consumer(topic=TOPIC, group="email", lease=LEASE, retry=RETRY)
def send(message, claim):
    """Gets every message, one by one, in any order."""
    if message.order_id == POISON:
        raise ValueError("this one is poison")
    done(message, claim)
    time.sleep(SECONDS)


@consumer(topic=TOPIC, group="stats", batch=True, lease=LEASE, retry=RETRY)
def count(messages, claim):
    """Gets every message, in batches."""
    if any(message.order_id == POISON for message in messages):
        raise ValueError("one of these is poison")
    for message in messages:
        done(message, claim)


@consumer(topic=TOPIC, group="payments", handles=[OrderPaid], mode="new", lease=LEASE)
def note(message, claim):
    """Gets payments alone, from the day on which it is first seen."""
    done(message, claim)


@consumer(topic=TOPIC, group="by-order", partition_by=["order_id"], handles=[OrderCreated, OrderPaid], lease=LEASE)
def follow(message, claim):
    """Gets each order in its order."""
    done(message, claim)


@consumer(namespace="shop", group="audit", lease=LEASE)
def audit(message, claim):
    """Gets whatever is in the shop."""
    done(message, claim)
