"""Backfill: whoever joins late gets what was there before, in bounded batches, while everything else goes on."""

import logging
import time
from datetime import timedelta

import pytest
from django.utils import timezone

from ccc_django import groups, sessions, topics
from ccc_django.errors import SubscriptionRefused, UnknownSubscription, UnknownTopic
from ccc_django.groups import expanding
from ccc_django.models import ConsumerGroup, Delivery, GroupTopic
from ccc_django.topics import backfilling
from tests.retaining import age
from tests.topics.orders import TOPIC, OrderCreated, OrderPaid, channel, claim, handled, ids, published

pytestmark = pytest.mark.django_db(transaction=True)

ORDERED = {"partition_by": "order_id", "handles": [OrderCreated]}


@pytest.fixture
def history(monkeypatch):
    """Seven messages, and batches of two."""
    monkeypatch.setattr(expanding, "BATCH", 2)
    monkeypatch.setattr(backfilling, "BATCH", 2)
    channel()
    return published(*"abcdefg")


def state(group: str = "late") -> topics.Backfill:
    return topics.backfill_status(TOPIC, group=group)


def test_what_was_there_before_becomes_open_work_batch_by_batch(history):
    topics.subscribe(TOPIC, group="late", mode="all")
    assert (state().position, state().upto, state().remaining, state().is_complete) == (0, 7, 7, False)
    seen = []
    done = topics.backfill(TOPIC, group="late", progress=lambda each: seen.append((each.position, each.remaining)))
    assert seen == [(0, 7), (2, 5), (4, 3), (6, 1), (7, 0)]
    assert (done.is_complete, done.fraction, done.remaining) == (True, 1.0, 0)
    assert Delivery.objects.count() == 7
    assert handled("late") == [*"abcdefg"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [({"mode": "position", "at": 4}, "defg"), ({"mode": "new"}, ""), ({"mode": "all"}, "abcdefg")],
)
def test_it_begins_where_the_mode_says(history, options, expected):
    topics.subscribe(TOPIC, group="late", **options)
    assert state().remaining == len(expected)
    topics.backfill(TOPIC, group="late")
    published("h")
    assert handled("late") == [*expected, "h"]


def test_a_time_is_a_beginning_as_well(history):
    age(upto=3)
    topics.subscribe(TOPIC, group="late", mode="timestamp", at=timezone.now() - timedelta(days=1))
    assert (state().start, state().remaining) == (4, 4)


def test_what_is_published_meanwhile_comes_behind_it_once(history):
    topics.subscribe(TOPIC, group="late", mode="all")
    published("h", "i")
    assert state().upto == 7, "what came later is not a part of it"
    done = []
    while claimed := claim("late", limit=1):
        done += ids(claimed)
        groups.ack(claimed)
        if len(done) < 4:
            published(f"more-{len(done)}")
    assert done == [*"abcdefghi", "more-1", "more-2", "more-3"]


def test_workers_make_it_by_the_way_and_whoever_was_interrupted_goes_on(history):
    topics.subscribe(TOPIC, group="late", mode="all")
    state_then = topics.backfill(TOPIC, group="late", within=timedelta(0))
    assert not state_then.is_complete
    groups.ack(claim("late", limit=1))
    assert 0 < state().fraction < 1
    assert topics.backfill(TOPIC, group="late").is_complete
    assert handled("late") == [*"bcdefg"]


def test_a_rate_bounds_what_becomes_deliveries(history, monkeypatch):
    monkeypatch.setattr(expanding, "BATCH", 100)
    topics.subscribe(TOPIC, group="late", mode="all")
    assert topics.limit_backfill(TOPIC, group="late", rate=2).rate == 2
    assert expanding.expand("late")
    assert state().position == 2, "those of a second"
    assert not expanding.expand("late")
    assert handled("late") == ["a", "b"]
    started = time.monotonic()
    topics.limit_backfill(TOPIC, group="late", rate=10)
    topics.backfill(TOPIC, group="late")
    assert 0.3 < time.monotonic() - started < 5
    assert handled("late") == [*"cdefg"]
    published(*"hijklmnopqrs")
    assert len(handled("late")) == 12, "what came later is not bounded"


def test_a_rate_that_is_taken_away_lets_all(history, monkeypatch):
    monkeypatch.setattr(expanding, "BATCH", 100)
    topics.subscribe(TOPIC, group="late", mode="all")
    topics.limit_backfill(TOPIC, group="late", rate=0.001)
    assert not expanding.expand("late")
    topics.limit_backfill(TOPIC, group="late", rate=None)
    assert handled("late") == [*"abcdefg"]


def test_a_rate_that_is_set_again_after_a_long_pause_does_not_make_up_for_it(history, monkeypatch):
    monkeypatch.setattr(expanding, "BATCH", 100)
    topics.subscribe(TOPIC, group="late", mode="all")
    GroupTopic.objects.update(backfilled_at=timezone.now() - timedelta(hours=1))
    topics.limit_backfill(TOPIC, group="late", rate=2)
    assert expanding.expand("late")
    assert state().position == 2


@pytest.mark.parametrize("rate", [0, -1, "fast", True])
def test_rates_that_cannot_be_are_refused(history, rate):
    topics.subscribe(TOPIC, group="late", mode="all")
    with pytest.raises(ValueError, match="rate="):
        topics.limit_backfill(TOPIC, group="late", rate=rate)
    assert GroupTopic.objects.get().backfill_rate is None


def test_it_can_be_cancelled(history, caplog):
    topics.subscribe(TOPIC, group="late", mode="all")
    expanding.expand("late")
    published("h")
    with caplog.at_level(logging.INFO, logger="ccc_django.topics"):
        assert topics.cancel_backfill(TOPIC, group="late") == 5
    assert "5 passed over" in caplog.text
    assert state().is_complete
    assert topics.cancel_backfill(TOPIC, group="late") == 0
    assert handled("late") == ["a", "b", "h"]
    assert topics.progress(history[4]).is_complete


def test_an_ordered_group_has_one_too(history):
    topics.subscribe(TOPIC, group="late", mode="all", **ORDERED)
    topics.publish(TOPIC, OrderPaid(order_id="a"))
    assert (state().upto, state().remaining) == (7, 7)
    assert topics.backfill(TOPIC, group="late").is_complete
    assert sorted(handled("late")) == [*"abcdefg"]
    with pytest.raises(SubscriptionRefused, match="ordered"):
        topics.limit_backfill(TOPIC, group="late", rate=5)


def test_that_of_an_ordered_group_can_be_cancelled(history):
    topics.subscribe(TOPIC, group="late", mode="all", **ORDERED)
    published("a", "h")
    assert topics.cancel_backfill(TOPIC, group="late") == 7
    assert state().is_complete
    assert sorted(handled("late")) == ["a", "h"]


def test_of_several_topics_in_one_order_none_is_cancelled_alone(history):
    channel(namespace="shop")
    channel("other", namespace="shop")
    topics.subscribe(namespace="shop", group="late", mode="all", **ORDERED)
    with pytest.raises(SubscriptionRefused, match="one order"):
        topics.cancel_backfill(TOPIC, group="late")


def test_a_paused_group_is_not_backfilled(history):
    topics.subscribe(TOPIC, group="late", mode="all")
    topics.pause(TOPIC, group="late")
    with pytest.raises(SubscriptionRefused, match="PAUSED"):
        topics.backfill(TOPIC, group="late")
    assert not Delivery.objects.exists()


def test_a_session_reads_by_itself(history):
    sessions.open(TOPIC, consumer_id="me").close()
    with pytest.raises(SubscriptionRefused, match="reads by itself"):
        topics.backfill(TOPIC, group=f"me@{TOPIC}")
    assert state(f"me@{TOPIC}").remaining == 7


def test_pruning_waits_for_it(history):
    channel(retention=timedelta(days=1))
    topics.subscribe(TOPIC, group="late", mode="all")
    age()
    assert topics.prune()[0].held_by == ("late",)
    topics.backfill(TOPIC, group="late")
    assert topics.prune()[0].count == 0
    handled("late")
    assert topics.prune()[0].count == 7


@pytest.mark.parametrize("verb", ["seek", "restart"])
def test_whoever_goes_back_has_one_again(history, verb):
    topics.subscribe(TOPIC, group="late", mode="all")
    handled("late")
    published("h")
    if verb == "seek":
        groups.seek("late", to=3)
    else:
        topics.restart(TOPIC, group="late", mode="position", at=3, apply_to="all")
    assert (state().position, state().upto, state().remaining) == (2, 8, 6)


@pytest.mark.parametrize("verb", [topics.backfill_status, topics.backfill, topics.cancel_backfill])
def test_what_nobody_knows_is_named(history, verb):
    with pytest.raises(UnknownSubscription, match="nobody"):
        verb(TOPIC, group="nobody")
    with pytest.raises(UnknownTopic):
        verb("nowhere", group="nobody")
    assert not ConsumerGroup.objects.exists()
