"""Traces of messages in topics: which group has done what."""

from datetime import timedelta

import pytest

from ccc_django import Retry, groups, store, topics
from ccc_django.instrumentation.handled import handled
from tests.topics.orders import TOPIC, OrderCreated, OrderPaid, channel, claim, published

pytestmark = pytest.mark.django_db(transaction=True)


def seen(messages) -> dict[int, dict[str, str]]:
    return {position: {each.group: each.status for each in found} for position, found in handled(messages).items()}


def test_a_trace_names_the_groups_of_the_topic_and_no_others():
    channel()
    topics.subscribe(TOPIC, group="email", retry=Retry(max_attempts=2, first_pause=timedelta(0)))
    topics.subscribe(TOPIC, group="late", mode="position", at=2)
    topics.subscribe(TOPIC, group="payments", handles=[OrderPaid])
    topics.subscribe(TOPIC, group="by order", partition_by="order_id", handles=[OrderCreated])
    groups.register("whole", partition_by="order_id", handled_types=[OrderCreated])
    first, second = published("a", "b")
    [elsewhere] = store.append(OrderCreated(order_id="a", topic="elsewhere"))
    claimed = claim("email", limit=2)
    groups.ack(claimed, messages=[first])
    groups.release(claimed, messages=[second], error=ValueError("b"))
    groups.ack(claim("by order"))
    assert seen([first, second, elsewhere]) == {
        1: {"email": "done", "late": "skipped", "by order": "done", "whole": "open"},
        2: {"email": "failed", "late": "open", "by order": "open", "whole": "open"},
        3: {"whole": "open"},
    }
    groups.release(claim("email"), error=ValueError("b"))
    assert seen([second])[2]["email"] == "dead letter"
