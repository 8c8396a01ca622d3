"""Subscribe: where a group begins is recorded before anything is read, and never forgotten."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from ccc_django import groups, store, topics
from ccc_django.errors import KindChanged, SubscriptionRefused, UnknownTopic
from ccc_django.models import ConsumerGroup, GroupTopic, StoredMessage, Topic, TopicSubscription
from ccc_django.topics import PUB_SUB, QUEUE
from tests.topics.orders import TOPIC, OrderCreated, channel, handled, ids, published

pytestmark = pytest.mark.django_db(transaction=True)


def record(group="email") -> TopicSubscription:
    return TopicSubscription.objects.get(group_name=group)


@pytest.mark.parametrize("mode", ["all", "new", None])
def test_every_mode_is_recorded_on_an_unknown_and_empty_topic(mode):
    topics.subscribe(TOPIC, group="email", mode=mode)
    assert (record().mode, record().start_position, record().status) == (mode or "all", 1, "ACTIVE")
    assert Topic.objects.get().semantics == PUB_SUB
    published("first")
    assert handled("email") == ["first"], "the first message of a topic is not lost"


def test_who_subscribes_again_keeps_the_mode_and_the_place(settings):
    channel()
    published("a")
    topics.subscribe(TOPIC, group="email", mode="new")
    published("b")
    settings.CCC_DEFAULT_SUBSCRIPTION_MODE = "all"
    before = record()
    for again in (None, "all", "new"):
        topics.subscribe(TOPIC, group="email", mode=again)
    assert [(each.mode, each.start_position, each.subscribed_at) for each in [record()]] == [
        (before.mode, before.start_position, before.subscribed_at)
    ]
    assert handled("email") == ["b"], "nothing undelivered is skipped by subscribing again"


def test_the_default_mode_of_the_day_is_what_is_recorded(settings):
    channel()
    published("a")
    topics.subscribe(TOPIC, group="old")
    settings.CCC_DEFAULT_SUBSCRIPTION_MODE = "new"
    topics.subscribe(TOPIC, group="young")
    published("b")
    assert (record("old").mode, record("young").mode) == ("all", "new")
    assert (handled("old"), handled("young")) == (["a", "b"], ["b"])


def test_a_group_that_claims_without_having_subscribed_is_recorded_first():
    published_before = channel() and published("a")
    claimed = topics.claim(TOPIC, group="email", worker="w")
    assert claimed.messages == published_before
    assert record().mode == "all"
    groups.ack(claimed)
    assert topics.claim(TOPIC, group="email", worker="w") is None
    assert TopicSubscription.objects.count() == 1


def test_a_group_that_claims_can_say_where_it_begins():
    channel()
    published("a")
    assert topics.claim(TOPIC, group="email", worker="w", mode="new") is None
    published("b")
    assert ids(topics.claim(TOPIC, group="email", worker="w", mode="all")) == ["b"]


def test_a_time_and_a_position_are_inclusive():
    channel()
    first, second, third = published("a"), published("b"), published("c")
    del first
    at = second[0].envelope.appended_at
    topics.subscribe(TOPIC, group="by time", mode="timestamp", at=at)
    topics.subscribe(TOPIC, group="by text", mode="timestamp", at=at.isoformat())
    topics.subscribe(TOPIC, group="by position", mode="position", at=third[0].position)
    later = StoredMessage.objects.filter(appended_at__gte=at - timedelta(milliseconds=1)).order_by("position").first()
    expected = ["a", "b", "c"][later.position - 1 :]
    assert handled("by time") == handled("by text") == expected
    assert "b" in expected
    assert handled("by position") == ["c"]
    assert record("by time").start_at == at


def test_a_position_may_be_yet_to_come():
    channel()
    topics.subscribe(TOPIC, group="email", mode="position", at=3)
    published("a", "b", "c", "d")
    assert handled("email") == ["c", "d"]


@pytest.mark.parametrize(
    ("mode", "known"),
    [
        ("new-only", "new"),
        ("now", "new"),
        ("LATEST", "new"),
        ("from_now", "new"),
        ("from_beginning", "all"),
        ("EARLIEST", "all"),
        ("ALL", "all"),
    ],
)
def test_names_that_others_use_are_understood(mode, known):
    topics.subscribe(TOPIC, group="email", mode=mode)
    assert record().mode == known


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"mode": "everything"}, "no mode"),
        ({"mode": ""}, "no mode"),
        ({"mode": "timestamp"}, "a time"),
        ({"mode": "timestamp", "at": "yesterday"}, "a time"),
        ({"mode": "timestamp", "at": "2026-13-45T00:00:00+00:00"}, "a time"),
        ({"mode": "timestamp", "at": datetime(2026, 1, 1)}, "time zone"),  # noqa: DTZ001 - what is refused
        ({"mode": "timestamp", "at": "2026-01-01T00:00:00"}, "time zone"),
        ({"mode": "timestamp", "at": datetime(2126, 1, 1, tzinfo=UTC)}, "yet to come"),
        ({"mode": "timestamp", "at": 5}, "a time"),
        ({"mode": "position"}, "a position"),
        ({"mode": "position", "at": 0}, "a position"),
        ({"mode": "position", "at": True}, "a position"),
        ({"mode": "position", "at": "7"}, "a position"),
        ({"mode": "all", "at": 7}, "begins where it says"),
        ({"mode": "all", "lookback": timedelta(1)}, "lookback"),
        ({"mode": "new", "lookback": timedelta(-1)}, "lookback"),
        ({"mode": "new", "lookback": 4}, "lookback"),
        ({"heartbeat_interval": 0}, "time-out"),
        ({"heartbeat_interval": 600}, "time-out"),
        ({"namespace": "shop"}, "a topic, or"),
    ],
)
def test_what_cannot_be_understood_is_an_error_and_changes_nothing(options, says):
    with pytest.raises(ValueError, match=says):
        topics.subscribe(TOPIC, group="email", **options)
    assert not TopicSubscription.objects.exists()
    assert not ConsumerGroup.objects.exists()
    assert not Topic.objects.exists()


def test_an_option_that_there_is_not_is_an_error():
    with pytest.raises(TypeError, match="heart_beat"):
        topics.subscribe(TOPIC, group="email", heart_beat=3)
    with pytest.raises(ValueError, match="a topic, a namespace or a task"):
        topics.subscribe(group="email")


def test_an_unknown_mode_in_the_settings_is_an_error_too(settings):
    settings.CCC_DEFAULT_SUBSCRIPTION_MODE = "newest"
    with pytest.raises(ValueError, match="newest"):
        topics.subscribe(TOPIC, group="email")


def test_new_looks_back_as_far_as_it_is_told(settings):
    channel()
    published("old", "recent", "just now")
    now = timezone.now()
    StoredMessage.objects.filter(position=1).update(appended_at=now - timedelta(minutes=10))
    StoredMessage.objects.filter(position=2).update(appended_at=now - timedelta(seconds=30))
    topics.subscribe(TOPIC, group="strict", mode="new")
    topics.subscribe(TOPIC, group="kind", mode="new", lookback=timedelta(minutes=5))
    settings.CCC_SUBSCRIPTION_LOOKBACK = timedelta(hours=1)
    topics.subscribe(TOPIC, group="by settings", mode="new")
    topics.subscribe(TOPIC, group="against settings", mode="new", lookback=timedelta(0))
    assert handled("strict") == handled("against settings") == []
    assert handled("kind") == ["recent", "just now"]
    assert handled("by settings") == ["old", "recent", "just now"]


def test_new_is_everything_after_in_every_partition_that_comes_later():
    channel()
    published("before")
    topics.subscribe(TOPIC, group="orders", mode="new", partition_by="order_id", handles=[OrderCreated])
    published("p1")
    assert handled("orders") == ["p1"]
    published("p2", "p2", "p2")
    published("before")
    assert sorted(handled("orders")) == ["before", "p2", "p2", "p2"], "a late partition begins where the group did"


def test_the_record_is_the_databases():
    before = timezone.now() - timedelta(minutes=1)
    topics.subscribe(TOPIC, group="email")
    assert before < record().subscribed_at < timezone.now() + timedelta(minutes=1)
    assert (record().heartbeat_interval, record().heartbeat_timeout) == (60, 300)
    assert record().last_heartbeat_at is None
    topics.subscribe(TOPIC, group="email", heartbeat_interval=5, heartbeat_timeout=20)
    assert (record().heartbeat_interval, record().heartbeat_timeout) == (5, 20)


@pytest.mark.parametrize(
    "wrong",
    [
        {"mode": "some"},
        {"status": "ALIVE"},
        {"start_position": 0},
        {"heartbeat_interval": 0},
        {"heartbeat_timeout": 1},
        {"topic": ""},
        {"namespace": "shop"},
    ],
)
def test_the_table_refuses_what_no_subscription_can_be(wrong):
    topics.subscribe(TOPIC, group="email")
    with pytest.raises(IntegrityError), transaction.atomic():
        TopicSubscription.objects.update(**wrong)


def test_a_second_group_of_a_queue_is_refused_with_an_explanation():
    topics.configure("jobs", semantics=QUEUE)
    with pytest.raises(SubscriptionRefused, match=r"jobs is a queue.*PUB_SUB"):
        topics.subscribe("jobs", group="email")
    assert not ConsumerGroup.objects.filter(name="email").exists(), "nothing is left of what was refused"
    assert topics.subscribe("jobs", group="jobs").mode == "all"


def test_under_strict_settings_a_topic_is_configured_first(settings):
    settings.CCC_TOPICS_STRICT = True
    with pytest.raises(UnknownTopic, match="Configure it"):
        topics.subscribe(TOPIC, group="email")
    channel()
    topics.subscribe(TOPIC, group="email")


def test_a_group_stays_what_it_is():
    topics.subscribe(TOPIC, group="email")
    with pytest.raises(KindChanged, match="email is shared"):
        topics.subscribe(TOPIC, group="email", partition_by="order_id", handles=[OrderCreated])
    with pytest.raises(KindChanged):
        groups.register("email", partition_by="order_id", handled_types=[OrderCreated])
    with pytest.raises(SubscriptionRefused, match="handles"):
        topics.subscribe(TOPIC, group="other", kind="ordered")
    with pytest.raises(ValueError, match="shared"):
        groups.register("third", kind="shared", partition_by="order_id")


def test_a_deleted_group_begins_anew_with_or_without_its_record():
    channel()
    published("a")
    topics.subscribe(TOPIC, group="email", mode="new")
    published("b")
    assert handled("email") == ["b"]
    groups.delete("email", keep_subscriptions=True)
    assert record().mode == "new"
    topics.subscribe(TOPIC, group="email", mode="all")
    assert handled("email") == ["b"], "where the record says"
    groups.delete("email")
    assert not TopicSubscription.objects.exists()
    assert not GroupTopic.objects.exists()
    topics.subscribe(TOPIC, group="email", mode="all")
    assert handled("email") == ["a", "b"]


def test_seek_beats_the_record():
    channel()
    published("a", "b", "c")
    topics.subscribe(TOPIC, group="email", mode="new")
    assert handled("email") == []
    groups.seek("email", to=2)
    assert handled("email") == ["b", "c"]
    groups.reset("email")
    assert handled("email") == [], "a reset goes back to the record"


def test_what_is_in_the_log_without_a_topic_is_nobodys_here():
    channel()
    store.append(OrderCreated(order_id="plain"))
    topics.subscribe(TOPIC, group="email")
    assert handled("email") == []


def test_in_a_transaction_that_is_rolled_back_nobody_has_subscribed():
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        topics.subscribe(TOPIC, group="email")
        raise ZeroDivisionError
    assert not TopicSubscription.objects.exists()
