"""Consumers of topics as they are declared: what they subscribe to, what they refuse, and how tests drain them."""

from datetime import timedelta

import pytest

from ccc_django import Decider, Retry, consumer, groups, testing, topics
from ccc_django.consumers import declaring, runner
from ccc_django.errors import KindChanged, NotDrained, SubscriptionRefused
from ccc_django.models import ConsumerGroup, DeadLetter, TopicSubscription
from ccc_django.topics import QUEUE
from tests.topics.orders import TOPIC, OrderCreated, OrderPaid, channel, published

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_consumers")]


@pytest.fixture
def seen() -> list[str]:
    return []


def test_a_function_gets_the_topic_that_it_names(seen):
    @consumer(topic=TOPIC, group="email")
    def send(message):
        seen.append(message.order_id)

    declaring.declare(send)
    assert (ConsumerGroup.objects.get().kind, TopicSubscription.objects.get().mode) == ("shared", "all")
    published("a", "b")
    published("x", topic="elsewhere")
    assert testing.drain("email").handled == {"email": 2}
    assert seen == ["a", "b"]


def test_where_it_begins_is_recorded_when_it_is_first_seen(seen):
    channel()
    published("before")

    @consumer(topic=TOPIC, group="email", mode="new")
    def send(message):
        seen.append(message.order_id)

    declaring.declare(send)
    published("after")
    testing.drain("email")
    declaring.forget()
    declaring.declare(send)
    testing.drain("email")
    assert seen == ["after"]


def test_with_partitions_it_is_ordered_and_says_what_it_handles(seen):
    with pytest.raises(TypeError, match="handles"):
        consumer(topic=TOPIC, group="orders", partition_by="order_id")

    @consumer(topic=TOPIC, group="orders", partition_by="order_id", handles=[OrderCreated])
    def follow(message, claim):
        seen.append((message.order_id, claim.partition_value["order_id"], claim.guard))

    declaring.declare(follow)
    published("a", "b", "a")
    testing.drain("orders")
    assert sorted(seen) == [("a", "a", None), ("a", "a", None), ("b", "b", None)]


def test_a_namespace_and_types(seen):
    @consumer(namespace="shop", group="payments", handles=OrderPaid, batch=True)
    def pay(messages):
        seen.append([message.type for message in messages])

    declaring.declare(pay)
    channel(namespace="shop")
    topics.publish(TOPIC, [OrderCreated(order_id="a"), OrderPaid(order_id="a"), OrderPaid(order_id="b")])
    testing.drain("payments")
    assert seen == [["topics.order_paid", "topics.order_paid"]]


def test_what_fails_holds_up_no_other_and_is_given_up_by_itself(seen):
    @consumer(topic=TOPIC, group="email", retry=Retry(max_attempts=2, first_pause=timedelta(0)))
    def send(message):
        if message.order_id == "b":
            raise ValueError("b")
        seen.append(message.order_id)

    published_before = channel() and published(*"abc")
    with pytest.raises(ValueError, match="b"):
        testing.drain("email")
    with pytest.raises((ValueError, NotDrained)):
        testing.drain("email")
    testing.drain("email", raises=False)
    assert seen == ["a", "c"]
    assert DeadLetter.objects.get().position == published_before[1].position


def test_what_waits_after_a_failure_is_named(seen):
    @consumer(topic=TOPIC, group="email", retry=Retry(first_pause=timedelta(hours=1), longest_pause=timedelta(hours=1)))
    def send(message):
        raise ValueError("never")

    channel()
    published("a")
    assert testing.drain("email", raises=False).waiting == {"email": 1}
    with pytest.raises(NotDrained, match="it pauses after ValueError: never"):
        testing.drain("email")


def test_a_batch_that_fails_is_tried_message_by_message(seen):
    @consumer(topic=TOPIC, group="stats", batch=True, retry=Retry(max_attempts=3, first_pause=timedelta(0)))
    def count(messages):
        if any(message.order_id == "b" for message in messages):
            raise ValueError("b")
        seen.append([message.order_id for message in messages])

    channel()
    published(*"abc")
    testing.drain("stats", raises=False)
    assert seen == [["a"], ["c"]]
    assert DeadLetter.objects.get().attempts == 3


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"topic": "t", "namespace": "n"}, "a topic, or"),
        ({"partition_by": [], "handles": [OrderCreated], "mode": "new"}, "topic="),
        ({"handles": [OrderCreated]}, "partition_by"),
    ],
)
def test_what_makes_no_sense_is_refused_when_it_is_declared(options, says):
    with pytest.raises(TypeError, match=says):
        consumer(group="g", **options)


def test_deciders_look_at_the_whole_log():
    with pytest.raises(TypeError, match="whole log"):
        type("D", (Decider,), {}, group="d", partition_by=["order_id"], topic=TOPIC)


def test_a_group_of_another_kind_or_of_a_queue_is_refused():
    topics.configure("jobs", semantics=QUEUE)

    @consumer(topic="jobs", group="other")
    def work(message):
        pass

    @consumer(topic="jobs", group="jobs", partition_by="order_id", handles=[OrderCreated])
    def order(message):
        pass

    with pytest.raises(SubscriptionRefused, match="a queue"):
        declaring.declare(work)
    with pytest.raises(KindChanged):
        declaring.declare(order)


def test_the_group_of_a_queue_is_consumed_like_any_other(seen):
    @consumer(topic="jobs", group="jobs")
    def work(message):
        seen.append(message.order_id)

    published("a", topic="jobs")
    testing.drain("jobs")
    assert seen == ["a"]
    assert groups.is_empty("jobs")


def test_code_that_handles_fewer_types_waits_for_newer_code(seen):
    @consumer(topic=TOPIC, group="email")
    def send(message):
        seen.append(message.type)

    declaring.declare(send)
    topics.publish(TOPIC, [OrderCreated(order_id="a"), OrderPaid(order_id="a")])

    older = consumer(topic=TOPIC, group="email", handles=[OrderCreated])(send.function)
    claimed = groups.claim_next("email", worker="w")
    outcome = runner.run(older, claimed)
    assert (len(outcome.steps), outcome.error, seen) == (1, None, ["topics.order_created"])
    groups.retry("email")
    outcome = runner.run(older, groups.claim_next("email", worker="w"))
    assert 'kind="shared"' in str(outcome.error)
    assert not DeadLetter.objects.exists()
    groups.retry("email")
    assert runner.run(send, groups.claim_next("email", worker="w")).steps


def test_what_a_queues_code_does_not_know_holds_up_nobody(seen):
    topics.configure("jobs")

    @consumer(topic="jobs", group="jobs", handles=[OrderCreated])
    def work(message):
        seen.append(message.order_id)

    declaring.declare(work)
    topics.publish("jobs", OrderPaid(order_id="unknown"))
    published("a", "b", topic="jobs")
    runner.run(work, groups.claim_next("jobs", worker="w"))
    assert seen == ["a", "b"]
    assert groups.status("jobs").pending == 1, "it waits for code that knows it"
