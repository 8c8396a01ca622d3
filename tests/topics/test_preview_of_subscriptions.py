"""Previews of what is done to a subscription: what is open is counted once, and said as far as it was counted."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ccc_django import groups, topics
from ccc_django.topics import previewing
from tests.topics.orders import OrderCreated, channel, published

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_ordered_group_says_what_it_has_open_once_for_all_its_topics():
    for name in ("orders", "returns", "refunds"):
        channel(name, namespace="shop")
    topics.subscribe(namespace="shop", group="ledger", mode="all", partition_by="order_id", handles=[OrderCreated])
    published("1", "2", topic="orders")
    groups.release(groups.claim_next("ledger", worker="w-1"))
    assert "2 open: it is kept." in topics.preview("pause", group="ledger", namespace="shop").sentence


def test_a_shared_group_says_what_it_has_open_in_all_its_topics():
    for name in ("orders", "returns"):
        channel(name, namespace="shop")
        published("1", "2", topic=name)
    topics.subscribe(namespace="shop", group="mails", mode="all")
    topics.subscribe("orders", group="stats", mode="all")
    assert "4 open" in topics.preview("cancel", group="mails", namespace="shop").sentence
    assert "2 open" in topics.preview("cancel", "orders", group="stats").sentence


def test_what_was_not_counted_to_the_end_is_not_told_as_a_figure(monkeypatch):
    channel()
    topics.subscribe("orders.events", group="mails", mode="all")
    published("1", "2", "3")
    monkeypatch.setattr(previewing, "MOST_COUNTED", 2)
    assert "2+ open" in topics.preview("pause", "orders.events", group="mails").sentence


def test_a_namespace_without_any_topic_has_nothing_open():
    channel("orders")
    topics.subscribe("orders", group="mails", mode="all")
    topics.subscribe(namespace="shop", group="mails", mode="all")
    published("1", topic="orders")
    assert "Nothing is open" in topics.preview("remove", group="mails", namespace="shop").sentence


def test_a_preview_costs_the_same_for_one_topic_and_for_many():
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            topics.preview("pause", group="mails", namespace="shop")
        return len(captured)

    channel("orders", namespace="shop")
    topics.subscribe(namespace="shop", group="mails", mode="all")
    one = queries()
    for number in range(10):
        channel(f"topic-{number}", namespace="shop")
    assert queries() == one


def test_some_topics_are_asked_for_in_one_statement():
    for name in ("orders", "returns", "refunds"):
        channel(name)
        topics.subscribe(name, group="mails", mode="all")
    assert [each.topic for each in topics.fan_out(["returns", "orders", "unknown"])] == ["orders", "returns"]
    assert len(topics.fan_out()) == 3
