"""Scopes: a group subscribes to a topic, a namespace, a task or one partition, and the most specific record decides."""

from itertools import combinations

import pytest

from ccc_django import groups, topics
from ccc_django.errors import SubscriptionRefused, UnknownSubscription
from ccc_django.models import ConsumerGroup, GroupTopic, TopicSubscription
from ccc_django.topics import QUEUE
from ccc_django.topics.scopes import specificity
from tests.topics.orders import TOPIC, OrderCreated, OrderPaid, channel, claim, handled, published

pytestmark = pytest.mark.django_db(transaction=True)

SCOPES = {  # from the most specific to the least
    "topic": {"topic": TOPIC},
    "namespace and task": {"namespace": "shop", "task": "orders"},
    "namespace": {"namespace": "shop"},
    "task": {"task": "orders"},
}


def subscribed(scope: dict, group: str = "email", **options):
    return topics.subscribe(
        scope.get("topic", ""), group=group, **{k: v for k, v in scope.items() if k != "topic"}, **options
    )


@pytest.mark.parametrize("pair", [*combinations(SCOPES, 2)], ids=" before ".join)
@pytest.mark.parametrize("first", [0, 1])
def test_of_two_records_the_more_specific_decides_whichever_came_first(pair, first):
    channel(namespace="shop", task="orders")
    published(*"abcd")
    starts = {pair[0]: 2, pair[1]: 4}
    for name in (pair[first], pair[1 - first]):
        subscribed(SCOPES[name], mode="position", at=starts[name])
    assert handled("email") == ["b", "c", "d"]
    assert GroupTopic.objects.get().subscription.start_position == 2


def test_no_two_scopes_are_equally_specific():
    channel(namespace="shop", task="orders")
    for scope in SCOPES.values():
        subscribed(scope)
    ranks = [specificity(record) for record in TopicSubscription.objects.all()]
    assert len({*ranks}) == len(SCOPES)
    assert [GroupTopic.objects.get().subscription.topic] == [TOPIC]
    for scope in SCOPES.values():
        assert specificity(GroupTopic.objects.get().subscription) == max(ranks)
        topics.remove_group(group="email", **scope)
        ranks.remove(max(ranks))
    assert not GroupTopic.objects.exists()


@pytest.mark.parametrize("scope", SCOPES.values(), ids=SCOPES)
def test_the_record_of_a_partition_beats_any_other(scope):
    channel(namespace="shop", task="orders")
    published("a", "b", "a", "b")
    subscribed(scope, group="g", mode="position", at=4, partition_by="order_id", handles=[OrderCreated])
    topics.subscribe(TOPIC, group="g", partition={"order_id": "a"}, mode="all")
    assert sorted(handled("g")) == ["a", "a", "b"]
    groups.reset("g")
    assert sorted(handled("g")) == ["a", "a", "b"], "a reset goes back to the records"
    groups.reset("g", forget=True)
    assert sorted(handled("g")) == ["a", "a", "b"]


def test_a_partition_may_begin_later_than_its_group():
    channel()
    published("a", "b")
    topics.subscribe(TOPIC, group="g", partition_by="order_id", handles=[OrderCreated])
    topics.subscribe(TOPIC, group="g", partition={"order_id": "a"}, mode="new")
    published("a", "b")
    assert sorted(handled("g")) == ["a", "b", "b"]


def test_a_partition_is_of_a_group_that_has_subscribed():
    channel()
    groups.register("g", partition_by="order_id", handled_types=[OrderCreated])
    with pytest.raises(SubscriptionRefused, match="subscribe the group first"):
        topics.subscribe(TOPIC, group="g", partition={"order_id": "a"})
    topics.subscribe(TOPIC, group="email")
    with pytest.raises(ValueError, match="no partitions"):
        topics.subscribe(TOPIC, group="email", partition={"order_id": "a"})


def test_topics_that_come_later_are_covered_from_the_subscription_on():
    channel("q1", namespace="ns1")
    published("before", topic="q1")
    topics.subscribe(namespace="ns1", group="cg1", mode="new")
    published("M1", topic="q1")
    assert handled("cg1") == ["M1"]
    channel("q2", namespace="ns1")
    published("M2", topic="q2")
    channel("q3", namespace="other")
    published("M3", topic="q3")
    assert handled("cg1") == ["M2"]
    assert {place.start for place in GroupTopic.objects.all()} == {2}


def test_what_a_topic_has_got_before_it_came_into_the_namespace_is_covered_since_the_subscription():
    channel("q")
    published("a", topic="q")
    topics.subscribe(namespace="ns", group="g", mode="new")
    published("b", topic="q")
    channel("q", namespace="ns")
    published("c", topic="q")
    assert handled("g") == ["b", "c"]


def test_a_topic_that_leaves_the_namespace_is_left():
    channel("q", namespace="ns")
    topics.subscribe(namespace="ns", group="g")
    published("a", topic="q")
    claim("g")
    channel("q", namespace="elsewhere")
    assert handled("g") == []
    channel("q", namespace="ns")
    assert handled("g") == ["a"], "it begins anew where the record says"


def test_queues_of_a_namespace_are_their_own_groups_alone():
    topics.configure("jobs", semantics=QUEUE, namespace="ns")
    channel("q", namespace="ns")
    topics.subscribe(namespace="ns", group="g")
    published("job", topic="jobs")
    published("event", topic="q")
    assert (handled("g"), handled("jobs")) == (["event"], ["job"])


def test_groups_are_independent():
    channel()
    published("a")
    topics.subscribe(TOPIC, group="cg1", mode="new")
    topics.subscribe(TOPIC, group="cg2", mode="all")
    published("b")
    assert (handled("cg1"), handled("cg2")) == (["b"], ["a", "b"])


def test_a_more_specific_record_that_comes_later_moves_nobody_who_has_begun():
    channel(namespace="shop")
    published("a", "b")
    topics.subscribe(namespace="shop", group="email", mode="all")
    assert handled("email") == ["a", "b"]
    topics.subscribe(TOPIC, group="email", mode="all")
    published("c")
    assert handled("email") == ["c"]


def test_an_ordered_group_over_a_namespace_is_in_one_order():
    channel("q1", namespace="ns")
    topics.subscribe(namespace="ns", group="g", partition_by="order_id", handles=[OrderCreated])
    channel("q2", namespace="ns")
    one, two, three = published("a", topic="q1"), published("a", topic="q2"), published("a", topic="q1")
    claimed = claim("g")
    assert claimed.messages == [*one, *two, *three]
    groups.ack(claimed)
    published("a", topic="q3")
    assert handled("g") == []


def test_a_new_topic_wakes_partitions_of_an_ordered_group_behind_their_last_position():
    channel("q1", namespace="ns")
    topics.subscribe(namespace="ns", group="g", partition_by="order_id", handles=[OrderCreated])
    published("a", topic="q1")
    assert handled("g") == ["a"]
    channel("q2")
    published("a", "b", topic="q2")
    published("x", topic="q1")
    assert handled("g") == ["x"]
    channel("q2", namespace="ns")
    assert sorted(handled("g")) == ["a", "b"]


def test_an_ordered_group_has_one_order_and_one_subscription():
    channel()
    channel("other")
    topics.subscribe(TOPIC, group="g", partition_by="order_id", handles=[OrderCreated])
    with pytest.raises(SubscriptionRefused, match="one order"):
        topics.subscribe("other", group="g")
    groups.register("whole", partition_by="order_id", handled_types=[OrderCreated])
    published("a")
    assert handled("whole") == ["a"]
    with pytest.raises(SubscriptionRefused, match="whole log"):
        topics.subscribe(TOPIC, group="whole")
    assert ConsumerGroup.objects.get(name="whole").topics is None


def test_verbs_say_which_record_decides():
    channel(namespace="shop")
    topics.subscribe(namespace="shop", group="email")
    for verb in (topics.pause, topics.resume, topics.cancel, topics.heartbeat):
        with pytest.raises(UnknownSubscription, match="namespace shop"):
            verb(TOPIC, group="email")
        with pytest.raises(UnknownSubscription, match="has not subscribed"):
            verb(TOPIC, group="nobody")


def test_partitions_that_are_only_in_a_topic_that_joins_later_are_found():
    channel(namespace="shop")
    channel("late")
    published("early", topic="late")
    topics.subscribe(namespace="shop", group="g", partition_by="order_id", handles=[OrderCreated])
    published("x")
    assert handled("g") == ["x"]
    channel("late", namespace="shop")
    assert handled("g") == ["early"]


def test_a_topic_that_joins_while_a_new_type_is_looked_for_is_looked_at_for_all_types():
    channel(namespace="shop")
    topics.subscribe(namespace="shop", group="g", partition_by="order_id", handles=[OrderPaid])
    topics.publish(TOPIC, OrderPaid(order_id="x"))
    assert handled("g") == ["x"]
    channel("late")
    topics.publish("late", OrderPaid(order_id="x"))
    assert handled("g") == []
    groups.register("g", partition_by="order_id", handled_types=[OrderCreated])
    channel("late", namespace="shop")
    assert handled("g") == ["x"]


def by_partition() -> None:
    """A group that begins at the beginning, but for one partition."""
    channel()
    published("a", "b", "a", "b")
    topics.subscribe(TOPIC, group="g", partition_by="order_id", handles=[OrderCreated])
    topics.subscribe(TOPIC, group="g", partition={"order_id": "a"}, mode="position", at=3)


def test_the_record_of_a_partition_outlives_its_group():
    by_partition()
    assert sorted(handled("g")) == ["a", "b", "b"]
    groups.delete("g", keep_subscriptions=True)
    topics.subscribe(TOPIC, group="g", partition_by="order_id", handles=[OrderCreated])
    assert sorted(handled("g")) == ["a", "b", "b"]


def test_the_record_of_a_partition_is_forgotten_with_the_partition():
    by_partition()
    handled("g")
    groups.delete("g", partition={"order_id": "a"})
    published("a")
    assert handled("g") == ["a", "a", "a"]


@pytest.mark.parametrize("apply_to", ["untouched", "all"])
def test_a_restart_leaves_partitions_to_their_own_records(apply_to):
    by_partition()
    topics.restart(TOPIC, group="g", mode="all", apply_to=apply_to)
    assert sorted(handled("g")) == ["a", "b", "b"]


def test_a_partition_that_is_known_and_has_not_begun_begins_where_its_record_says():
    channel()
    published("a", "b", "a")
    topics.subscribe(TOPIC, group="g", partition_by="order_id", handles=[OrderCreated])
    groups.release(claim("g"))
    topics.subscribe(TOPIC, group="g", partition={"order_id": "a"}, mode="position", at=3)
    assert sorted(handled("g")) == ["a", "b"]


def test_whoever_claims_a_topic_that_the_group_does_not_get_is_refused():
    channel()
    channel("other")
    topics.subscribe(TOPIC, group="g", partition_by="order_id", handles=[OrderCreated])
    published("a")
    with pytest.raises(SubscriptionRefused, match="one order"):
        topics.claim("other", group="g", worker="w")
    groups.register("whole", partition_by="order_id", handled_types=[OrderCreated])
    assert handled("whole") == ["a"]
    with pytest.raises(SubscriptionRefused, match="whole log"):
        topics.claim(TOPIC, group="whole", worker="w")


def test_a_claim_of_an_ordered_group_by_topic_gets_the_earliest():
    channel()
    topics.subscribe(TOPIC, group="g", partition_by="order_id", handles=[OrderCreated])
    published("a", "b", "c")
    first = topics.claim(TOPIC, group="g", worker="w")
    topics.claim(TOPIC, group="g", worker="w")
    groups.release(first)
    assert topics.claim(TOPIC, group="g", worker="w").messages[0].order_id == "a"
