"""Configure and publish: what a topic is, who gets its messages, and how that changes."""

from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from ccc_django import Event, groups, store, topics
from ccc_django.errors import KindChanged, SubscriptionRefused, TopicInUse, UnknownTopic
from ccc_django.models import ConsumerGroup, GroupTopic, Topic, TopicSubscription
from ccc_django.topics import PUB_SUB, QUEUE
from tests.topics.orders import TOPIC, OrderCreated, channel, claim, handled, ids, published

pytestmark = pytest.mark.django_db(transaction=True)


class Shipped(Event, type="topics.shipped", topic="shipping"):
    order_id: str


def test_a_message_of_a_queue_is_handled_by_one_worker_of_its_single_group():
    topics.configure("jobs", semantics=QUEUE)
    published(*"abc", topic="jobs")
    assert [ids(claim("jobs", worker=f"w-{n}", limit=2)) for n in range(3)] == [["a", "b"], ["c"], []]


def test_every_group_of_a_channel_gets_every_message():
    channel()
    for group in ("email", "stats", "stock"):
        topics.subscribe(TOPIC, group=group)
    published(*"ab")
    assert [handled(group) for group in ("email", "stats", "stock")] == [["a", "b"]] * 3


def test_a_topic_that_nobody_knows_becomes_a_queue_when_something_is_published():
    stored = published("a", topic="jobs")
    assert (stored[0].topic, stored[0].position) == ("jobs", 1)
    topic = Topic.objects.get()
    assert (topic.semantics, topic.group_name) == (QUEUE, "jobs")
    published("b", topic="jobs")
    assert handled("jobs") == ["a", "b"]


def test_under_strict_settings_it_is_refused(settings):
    settings.CCC_TOPICS_STRICT = True
    with pytest.raises(UnknownTopic, match=r"topics.configure\('jobs'"):
        published("a", topic="jobs")
    assert list(store.stream()) == []
    topics.configure("jobs")
    published("a", topic="jobs")


@pytest.mark.parametrize("mode", ["all", "new"])
def test_a_queue_begins_at_the_beginning_whatever_the_default_mode_is(settings, mode):
    settings.CCC_DEFAULT_SUBSCRIPTION_MODE = mode
    store.append(OrderCreated(order_id="early", topic="jobs"))
    topics.configure("jobs", group="workers")
    published("late", topic="jobs")
    assert Topic.objects.get().group_name == "workers"
    assert handled("workers") == ["early", "late"]


def test_messages_get_into_a_topic_by_their_class_and_by_themselves_too():
    channel("shipping")
    topics.subscribe("shipping", group="g")
    store.append([Shipped(order_id="by class"), OrderCreated(order_id="by itself", topic="shipping")])
    topics.publish("shipping", Shipped(order_id="published"))
    topics.publish("elsewhere", Shipped(order_id="elsewhere"))
    assert handled("g") == ["by class", "by itself", "published"]


def test_publishing_is_part_of_the_transaction():
    channel()
    topics.subscribe(TOPIC, group="email")
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        published("a")
        raise ZeroDivisionError
    assert handled("email") == []
    assert topics.publish(TOPIC, []) == []


def test_a_publisher_pays_nothing_for_those_who_get_it():
    channel()
    published("the first one announces itself")
    counts = set()
    for number in range(3):
        topics.subscribe(TOPIC, group=f"g-{number}")
        with CaptureQueriesContext(connection) as captured:
            published("a")
        counts.add(len(captured))
    assert len(counts) == 1


def test_what_is_not_given_stays_as_it_is():
    topics.configure(TOPIC, semantics=PUB_SUB, namespace="shop", task="orders", retention=timedelta(days=3))
    topic = topics.configure(TOPIC, task="selling")
    assert (topic.semantics, topic.namespace, topic.task) == (PUB_SUB, "shop", "selling")
    assert topic.retention == timedelta(days=3)
    assert topics.configure(TOPIC, retention=None).retention is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"name": "x" * 300},
        {"name": "t", "semantics": "BROADCAST"},
        {"name": "t", "retention": timedelta(0)},
        {"name": "t", "retention": 3},
        {"name": "t", "semantics": PUB_SUB, "group": "g"},
    ],
)
def test_what_no_topic_can_be_is_refused_and_changes_nothing(wrong):
    with pytest.raises(ValueError):  # noqa: PT011 - each says something else
        topics.configure(**wrong)
    assert not Topic.objects.exists()
    assert not ConsumerGroup.objects.exists()


def test_a_queue_cannot_take_the_name_of_an_ordered_group():
    groups.register("jobs", partition_by="order_id", handled_types=[OrderCreated])
    with pytest.raises(KindChanged, match="jobs is ordered"):
        topics.configure("jobs")
    assert not Topic.objects.exists()
    topics.configure("jobs", group="jobs-workers")
    published("a", topic="jobs")
    assert handled("jobs-workers") == ["a"]


def test_semantics_do_not_change_while_messages_are_open():
    topics.configure("jobs")
    published("a", topic="jobs")
    with pytest.raises(TopicInUse, match="jobs has open messages"):
        topics.configure("jobs", semantics=PUB_SUB)
    assert "becomes PUB_SUB" in topics.preview("configure", "jobs", semantics=PUB_SUB).sentence
    assert "1 open" in topics.preview("configure", "jobs", semantics=PUB_SUB).sentence
    assert Topic.objects.get().semantics == QUEUE
    handled("jobs")
    assert topics.configure("jobs", semantics=PUB_SUB).semantics == PUB_SUB
    topics.subscribe("jobs", group="email", mode="new")
    published("b", topic="jobs")
    assert (handled("jobs"), handled("email")) == (["b"], ["b"]), "the queue's group is one of several now"


def test_by_force_they_change_all_the_same_and_nothing_open_is_lost():
    topics.configure("jobs")
    published("a", topic="jobs")
    topics.configure("jobs", semantics=PUB_SUB, force=True)
    assert handled("jobs") == ["a"]


def test_a_channel_becomes_a_queue_with_the_one_group_that_it_has():
    channel()
    topics.subscribe(TOPIC, group="email")
    published("a")
    handled("email")
    assert topics.configure(TOPIC, semantics=QUEUE).group_name == "email"
    published("b")
    assert handled("email") == ["b"], "where it stood"


def test_of_several_groups_the_one_that_is_named_stays():
    channel()
    topics.subscribe(TOPIC, group="email")
    topics.subscribe(TOPIC, group="stats")
    with pytest.raises(SubscriptionRefused, match="stats by its subscription to topic"):
        topics.configure(TOPIC, semantics=QUEUE, group="email")
    assert Topic.objects.get().semantics == PUB_SUB
    topics.configure(TOPIC, semantics=QUEUE, group="email", force=True)
    published("a")
    assert (handled("email"), handled("stats")) == (["a"], [])
    assert [record.group_name for record in TopicSubscription.objects.all()] == ["email"]


def test_a_deleted_topic_is_forgotten_with_its_subscriptions_and_its_messages_stay():
    channel()
    topics.subscribe(TOPIC, group="email")
    published("a")
    with pytest.raises(TopicInUse, match="email has open messages"):
        topics.delete(TOPIC)
    topics.delete(TOPIC, force=True)
    assert not Topic.objects.exists()
    assert not TopicSubscription.objects.exists()
    assert not GroupTopic.objects.exists()
    assert handled("email") == []
    assert [message.order_id for message in store.stream()] == ["a"]
    with pytest.raises(UnknownTopic):
        topics.delete(TOPIC)
    channel()
    topics.subscribe(TOPIC, group="email")
    assert handled("email") == ["a"]


def test_a_queues_group_that_was_deleted_begins_at_the_beginning_again(settings):
    settings.CCC_DEFAULT_SUBSCRIPTION_MODE = "new"
    published("a", topic="jobs")
    assert handled("jobs") == ["a"]
    groups.delete("jobs")
    assert topics.claim("jobs", group="jobs", worker="w").messages[0].order_id == "a"


def test_a_group_that_is_given_a_queue_keeps_what_it_handles():
    channel()
    topics.subscribe(TOPIC, group="email", handles=[OrderCreated])
    topics.configure("jobs", group="email")
    assert ConsumerGroup.objects.get(name="email").handled_types == ["topics.order_created"]


def test_a_queue_that_is_given_to_another_group_says_what_is_dropped():
    published("a", topic="jobs")
    told = topics.preview("configure", "jobs", group="others").sentence
    assert "jobs leaves it" in told
    assert "jobs has 1 open" in told
    topics.configure("jobs", group="others", force=True)
    assert (handled("jobs"), handled("others")) == ([], ["a"])


def test_what_a_group_does_not_handle_keeps_no_topic_open():
    channel()
    topics.subscribe(TOPIC, group="email", handles=[Shipped])
    published("a")
    topics.delete(TOPIC)
    assert not Topic.objects.exists()


def test_whoever_gets_a_channel_by_a_namespace_is_named_with_that_before_it_becomes_a_queue():
    channel(namespace="shop")
    topics.subscribe(namespace="shop", group="audit")
    with pytest.raises(SubscriptionRefused, match="audit by its subscription to namespace shop"):
        topics.configure(TOPIC, semantics=QUEUE, group="other")
    topics.configure("jobs", semantics=QUEUE)
    with pytest.raises(TopicInUse, match=r"groups.delete\('jobs'\)"):
        topics.remove_group("jobs", "jobs")
