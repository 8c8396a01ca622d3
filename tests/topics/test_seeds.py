"""The examples that topics were made for, and what those before us got wrong, with the tests that show it."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from ccc_django import Retry, groups, topics
from ccc_django.groups import expanding
from ccc_django.models import DeadLetter, Delivery, StoredMessage, TopicSubscription
from tests.topics import test_completion as completion
from tests.topics import test_life as life
from tests.topics import test_scopes as scopes
from tests.topics import test_shared as shared
from tests.topics import test_subscribe as subscribing
from tests.topics.orders import TOPIC, OrderCreated, channel, claim, handled, ids, published

pytestmark = pytest.mark.django_db(transaction=True)

FOUR = timedelta(seconds=4)  # how far those before us looked back
SHOWN = [  # what they got wrong, and which test shows that we do not
    (
        "mode all or the default mode not recorded",
        subscribing.test_every_mode_is_recorded_on_an_unknown_and_empty_topic,
    ),
    (
        "nothing recorded on an empty topic",
        subscribing.test_every_mode_is_recorded_on_an_unknown_and_empty_topic,
    ),
    (
        "late partitions starting at now",
        subscribing.test_new_is_everything_after_in_every_partition_that_comes_later,
    ),
    (
        "unknown mode taken as all",
        subscribing.test_what_cannot_be_understood_is_an_error_and_changes_nothing,
    ),
    (
        "lookup that ties",
        scopes.test_of_two_records_the_more_specific_decides_whichever_came_first,
    ),
    (
        "backward seek that replays nothing",
        shared.test_a_seek_goes_back_in_every_topic_and_forgets_what_was_open,
    ),
    (
        "resubscribe that skips undelivered messages",
        subscribing.test_who_subscribes_again_keeps_the_mode_and_the_place,
    ),
    (
        "a batch ack passing a failed message",
        shared.test_a_claim_that_is_acked_in_part_never_passes_a_failed_message,
    ),
    (
        "counters instead of sets",
        completion.test_nothing_counts_references,
    ),
    (
        "paused group losing messages",
        life.test_a_paused_group_gets_nothing_and_loses_nothing,
    ),
    (
        "cancelled group holding messages for ever",
        life.test_a_cancelled_group_holds_nothing_back_and_can_come_back_where_it_stood,
    ),
    (
        "a dead letter never counting as finished",
        completion.test_a_dead_lettered_message_counts_as_done,
    ),
    (
        "processing rows without a lease",
        shared.test_after_its_lease_somebody_else_gets_it_and_the_first_can_do_nothing,
    ),
]


def test_each_flaw_of_those_before_us_has_a_test_of_its_own():
    assert all(callable(shown) for _, shown in SHOWN)
    assert len({flaw for flaw, _ in SHOWN}) == len(SHOWN)


# publish/subscribe: an order goes to four services


def test_an_order_goes_to_four_services_of_which_one_fails():
    channel()
    services = ("email", "analytics", "inventory", "shipping")
    for group in services:
        topics.subscribe(TOPIC, group=group, retry=Retry(max_attempts=2, first_pause=timedelta(0)))
    [order] = published("o-1")
    assert [handled(group) for group in services[:3]] == [["o-1"]] * 3
    assert topics.progress(order).missing == ("shipping",)
    for _ in range(2):
        groups.release(claim("shipping"), error=ConnectionError("no lorry"))
    assert topics.progress(order).is_complete, "it was given up, and holds up nobody"
    assert DeadLetter.objects.get().group.name == "shipping"


def test_services_are_added_and_removed_while_orders_come():
    channel()
    topics.subscribe(TOPIC, group="email")
    published("o-1")
    topics.subscribe(TOPIC, group="analytics", mode="all")
    topics.subscribe(TOPIC, group="inventory", mode="new")
    published("o-2")
    topics.remove_group(TOPIC, "email")
    [third] = published("o-3")
    assert topics.progress(third).required == ("analytics", "inventory")
    assert handled("analytics") == ["o-1", "o-2", "o-3"]
    assert handled("inventory") == ["o-2", "o-3"]
    assert topics.progress(third).is_complete


def test_a_late_joiner_begins_where_its_mode_says():
    channel()
    published(*"abcd")
    StoredMessage.objects.filter(position__lt=3).update(appended_at=timezone.now() - timedelta(hours=1))
    StoredMessage.objects.filter(position__gte=3).update(appended_at=timezone.now() - timedelta(minutes=1))
    topics.subscribe(TOPIC, group="from the beginning", mode="EARLIEST")
    topics.subscribe(TOPIC, group="from now", mode="LATEST")
    topics.subscribe(TOPIC, group="from a time", mode="timestamp", at=timezone.now() - timedelta(minutes=30))
    topics.subscribe(TOPIC, group="from a message", mode="message_id", at=4)
    published("e")
    assert handled("from the beginning") == [*"abcde"]
    assert handled("from now") == ["e"]
    assert handled("from a time") == [*"cde"]
    assert handled("from a message") == [*"de"]


def test_a_dead_group_is_found_holds_nothing_back_and_comes_back():
    channel()
    for group in ("email", "analytics"):
        topics.subscribe(TOPIC, group=group)
        topics.heartbeat(TOPIC, group=group)
    [order] = published("o-1")
    past = F("last_heartbeat_at") - timedelta(minutes=6)
    TopicSubscription.objects.filter(group_name="analytics").update(last_heartbeat_at=past)
    assert topics.bury() == [f"analytics: topic {TOPIC}"]
    for _ in range(2):
        topics.bury()
        assert topics.progress(order).missing == ("email",), "burying twice completes nothing for those who live"
    assert handled("email") == ["o-1"]
    assert topics.progress(order).is_complete
    topics.heartbeat(TOPIC, group="analytics")
    assert handled("analytics") == ["o-1"]


def test_messages_that_nobody_will_ever_do_are_completed_by_force():
    channel()
    topics.subscribe(TOPIC, group="gone")
    old = published("o-1", "o-2")
    StoredMessage.objects.update(appended_at=timezone.now() - timedelta(days=3))
    [new] = published("o-3")
    assert topics.force_complete(TOPIC, older_than=timedelta(days=2)) == 2
    assert [topics.progress(message).is_complete for message in (*old, new)] == [True, True, False]


def test_deliveries_that_a_crash_has_undone_are_made_again():
    channel()
    topics.subscribe(TOPIC, group="email")
    published(*"abc")
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        assert expanding.expand("email")
        assert Delivery.objects.count() == 3
        raise ZeroDivisionError
    assert Delivery.objects.count() == 0
    assert handled("email") == ["a", "b", "c"]
    assert not expanding.expand("email"), "and not twice"


# subscriptions: where a group begins, which those before us forgot


def test_one_partition_and_the_mode_new():
    channel("test")
    published("p1", topic="test")
    topics.subscribe("test", group="cg1", mode="new", lookback=FOUR, partition_by="order_id", handles=[OrderCreated])
    assert handled("cg1") == ["p1"], "what came a moment ago is within the lookback"
    published("p1", topic="test")
    assert handled("cg1") == ["p1"]


def test_a_partition_that_comes_later_is_not_read_from_the_moment_on_in_which_it_is_found():
    channel("test")
    topics.subscribe("test", group="cg1", mode="new", lookback=FOUR, partition_by="order_id", handles=[OrderCreated])
    published("p1", topic="test")
    assert handled("cg1") == ["p1"]
    published("p2", "p2", "p2", topic="test")
    StoredMessage.objects.update(appended_at=timezone.now() - timedelta(minutes=5))  # it was not looked at for long
    assert handled("cg1") == ["p2", "p2", "p2"]


def test_a_namespace_is_one_subscription():
    topics.subscribe(namespace="ns1", group="cg1", mode="new", lookback=FOUR)
    channel("q1", namespace="ns1")
    published("m1", topic="q1")
    assert handled("cg1") == ["m1"]
    channel("q2", namespace="ns1")
    published("m2", topic="q2")
    StoredMessage.objects.update(appended_at=timezone.now() - timedelta(minutes=5))
    assert handled("cg1") == ["m2"]
    assert TopicSubscription.objects.count() == 1


def test_groups_begin_each_for_itself():
    channel("test")
    published("m1", topic="test")
    StoredMessage.objects.update(appended_at=timezone.now() - timedelta(minutes=5))
    topics.subscribe("test", group="cg1", mode="new", lookback=FOUR)
    topics.subscribe("test", group="cg2")
    assert (ids(claim("cg1")), ids(claim("cg2"))) == ([], ["m1"])
