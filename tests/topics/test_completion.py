"""Completion: who is to get a message and who has done it, derived and exact; health of a topic; what is forced."""

import sys
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone

from ccc_django import Event, Retry, groups, store, topics
from ccc_django.errors import ClaimLost, SubscriptionRefused, UnknownTopic
from ccc_django.models import ConsumerGroup, Delivery, GroupTopic, StoredMessage
from ccc_django.topics import completing
from tests.topics.orders import TOPIC, OrderCreated, OrderPaid, channel, claim, handled, published

pytestmark = pytest.mark.django_db(transaction=True)


class Seated(Event, type="topics.seated"):
    course: str
    user: str


class CourseMoved(Event, type="topics.course_moved"):
    course: str


def test_progress_names_who_is_missing():
    channel()
    for group in ("email", "stats", "stock"):
        topics.subscribe(TOPIC, group=group)
    topics.subscribe(TOPIC, group="late", mode="position", at=2)
    [message] = published("a")
    seen = topics.progress(message)
    assert seen.required == ("email", "stats", "stock")
    assert (seen.required_consumer_groups, seen.completed_consumer_groups) == (3, 0)
    handled("stats")
    handled("email")
    seen = topics.progress(message)
    assert (seen.completed_consumer_groups, seen.missing, seen.is_complete) == (2, ("stock",), False)
    claimed = claim("stock")
    assert not topics.progress(message).is_complete, "in hand is not done"
    groups.ack(claimed)
    assert topics.progress(message).is_complete


def test_a_message_that_nobody_is_to_get_is_complete():
    channel()
    [message] = published("a")
    assert topics.progress(message).is_complete
    with pytest.raises(ValueError, match="publish it"):
        topics.progress(OrderCreated(order_id="x"))


def test_what_a_group_does_not_handle_is_done_when_it_has_passed_it():
    channel()
    topics.subscribe(TOPIC, group="payments", handles=[OrderPaid])
    topics.subscribe(TOPIC, group="by order", partition_by="order_id", handles=[OrderPaid])
    [message] = published("a")
    assert topics.progress(message).missing == ("by order", "payments")
    handled("payments")
    handled("by order")
    assert topics.progress(message).is_complete


def test_of_an_ordered_group_every_partition_has_to_pass_a_message_that_names_it_in_part():
    channel("school")
    topics.subscribe("school", group="g", partition_by=["course", "user"], handles=[Seated, CourseMoved])
    topics.publish("school", [Seated(course="Algebra", user="joe"), Seated(course="Algebra", user="ann")])
    [moved] = topics.publish("school", CourseMoved(course="Algebra"))
    [elsewhere] = topics.publish("school", CourseMoved(course="Logic"))
    assert not topics.progress(moved).is_complete
    claimed = claim("g")
    assert not topics.progress(moved).is_complete
    groups.ack(claimed)
    assert not topics.progress(moved).is_complete, "one of two partitions"
    groups.ack(claim("g"))
    assert topics.progress(moved).is_complete
    assert topics.progress(elsewhere).is_complete, "no partition gets it"


def test_one_partition_of_everything_is_looked_at_too():
    channel()
    topics.subscribe(TOPIC, group="g", partition_by=[], handles=[OrderCreated])
    [message] = published("a")
    assert not topics.progress(message).is_complete
    handled("g")
    assert topics.progress(message).is_complete


def test_a_dead_lettered_message_counts_as_done():
    channel()
    topics.subscribe(TOPIC, group="email", retry=Retry(max_attempts=1))
    [message] = published("a")
    groups.release(claim("email"), error=ValueError("a"))
    assert topics.progress(message).is_complete
    assert groups.status("email").dead_letters == 1


def test_health_tells_of_each_group():
    channel()
    topics.subscribe(TOPIC, group="email")
    topics.subscribe(TOPIC, group="stats", mode="new")
    topics.subscribe(TOPIC, group="by order", partition_by="order_id", handles=[OrderCreated])
    published(*"abc")
    groups.ack(claim("email", limit=2))
    topics.heartbeat(TOPIC, group="email")
    by_group = {each.group: each for each in topics.health(TOPIC)}
    email = by_group["email"]
    assert (email.status, email.lag, email.pending, email.processed, email.kind) == ("ACTIVE", 1, 1, 2, "shared")
    assert timedelta(0) <= email.oldest_pending_age < timedelta(minutes=1)
    assert abs(timezone.now() - email.last_heartbeat_at) < timedelta(minutes=1)
    assert (by_group["stats"].pending, by_group["stats"].mode) == (3, "new")
    assert by_group["by order"].lag == 3
    handled("by order")
    [ordered] = [each for each in topics.health(TOPIC) if each.group == "by order"]
    assert (ordered.pending, ordered.lag, ordered.processed, ordered.oldest_pending_age) == (0, 0, 3, None)
    assert [each.group for each in topics.fan_out()] == ["by order", "email", "stats"]
    with pytest.raises(UnknownTopic):
        topics.health("nothing")
    channel("empty")
    assert topics.health("empty") == []


def test_what_waits_is_counted_up_to_a_limit(monkeypatch):
    for module in ("ccc_django.topics.figures", "ccc_django.groups.status"):
        monkeypatch.setattr(sys.modules[module], "MOST_COUNTED", 3)
    channel()
    topics.subscribe(TOPIC, group="email")
    published(*"abcde")
    assert topics.health(TOPIC)[0].pending_text == "3+"
    claim("email", limit=1)
    assert topics.health(TOPIC)[0].pending_text == "3+"
    assert groups.status("email").pending == 4


def test_processed_is_a_statistic_that_a_rollback_does_not_count():
    channel()
    topics.subscribe(TOPIC, group="email")
    published("a", "b")
    claimed = claim("email", limit=1)
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        groups.ack(claimed)
        raise ZeroDivisionError
    assert topics.health(TOPIC)[0].processed == 0
    groups.ack(claimed)
    assert topics.health(TOPIC)[0].processed == 1


@pytest.mark.parametrize("kind", ["shared", "ordered"])
def test_what_is_too_old_is_complete_by_force(kind):
    channel()
    options = {} if kind == "shared" else {"partition_by": "order_id", "handles": [OrderCreated]}
    topics.subscribe(TOPIC, group="email", **options)
    topics.subscribe(TOPIC, group="other")
    old = published("a", "b")
    StoredMessage.objects.update(appended_at=timezone.now() - timedelta(days=3))
    [young] = published("c")
    claimed = claim("email", limit=1)
    assert topics.force_complete(TOPIC, older_than=timedelta(days=2), group="email") >= 1
    assert topics.progress(old[0]).missing == ("other",)
    assert topics.progress(young).missing == ("email", "other")
    assert topics.force_complete(TOPIC, older_than=timedelta(days=2)) == 2
    assert all(topics.progress(message).is_complete for message in old)
    assert topics.force_complete(TOPIC, older_than=timedelta(days=2)) == 0, "twice changes nothing"
    with pytest.raises(ClaimLost):
        groups.ack(claimed)
    assert (handled("email"), handled("other")) == (["c"], ["c"])
    published("a")
    assert handled("email") == ["a"]


def test_force_needs_an_age_and_an_order_of_its_own():
    channel(namespace="ns")
    channel("second", namespace="ns")
    topics.subscribe(namespace="ns", group="g", partition_by="order_id", handles=[OrderCreated])
    published("a")
    with pytest.raises(ValueError, match="a length of time"):
        topics.force_complete(TOPIC, older_than=3)
    topics.subscribe(TOPIC, group="another")
    with pytest.raises(SubscriptionRefused, match="one order"):
        topics.force_complete(TOPIC, older_than=timedelta(0))
    assert handled("another") == ["a"], "nothing was done to anybody"
    with pytest.raises(UnknownTopic):
        topics.force_complete("nothing", older_than=timedelta(0))
    assert handled("g") == ["a"]


def test_nothing_counts_references():
    """Groups come and go in any number; what is required is asked of the subscriptions each time."""
    channel()
    [message] = published("a")
    for _ in range(2):
        topics.subscribe(TOPIC, group="email")
        assert topics.progress(message).missing == ("email",)
        topics.cancel(TOPIC, group="email")
        topics.cancel(TOPIC, group="email")
        assert topics.progress(message).required == ()
        topics.resume(TOPIC, group="email")
        topics.remove_group(TOPIC, "email")
        groups.delete("email")
    assert [model.objects.count() for model in (GroupTopic, Delivery, ConsumerGroup)] == [0, 0, 0]
    assert [stored.order_id for stored in store.stream()] == ["a"]


def test_what_is_forced_is_complete_also_for_an_ordered_group_that_has_not_looked_at_it():
    channel()
    topics.subscribe(TOPIC, group="by order", partition_by="order_id", handles=[OrderCreated])
    topics.subscribe(TOPIC, group="by two", partition_by=["order_id", "user"], handles=[OrderCreated])
    [message] = published("a")
    topics.pause(TOPIC, group="by order")
    assert topics.force_complete(TOPIC, older_than=timedelta(0)) == 2
    assert topics.progress(message).missing == ()
    topics.resume(TOPIC, group="by order")
    assert handled("by order") == []


def test_a_group_that_leaves_while_messages_are_forced_holds_up_no_other(monkeypatch):
    channel()
    for group in ("leaving", "staying"):
        topics.subscribe(TOPIC, group=group)
    [message] = published("a")
    newest = completing._newest

    def after_it_has_left(*what):
        topics.remove_group(TOPIC, "leaving")
        return newest(*what)

    monkeypatch.setattr(completing, "_newest", after_it_has_left)
    assert topics.force_complete(TOPIC, older_than=timedelta(0)) == 1
    assert topics.progress(message).is_complete
