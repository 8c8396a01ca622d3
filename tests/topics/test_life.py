"""Life of subscriptions: paused, resumed, cancelled, silent, revived, removed; nothing that was promised is lost."""

from datetime import timedelta

import pytest
from django.db.models import F

from ccc_django import groups, maintenance, topics
from ccc_django.errors import ClaimLost, SubscriptionRefused, TopicInUse, UnknownGroup, UnknownSubscription
from ccc_django.instrumentation import health as whole_health
from ccc_django.models import ConsumerGroup, Delivery, TopicSubscription
from tests.topics.orders import TOPIC, OrderCreated, channel, claim, handled, ids, published

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(params=["shared", "ordered"])
def email(request):
    """A group of each kind."""
    channel()
    options = {} if request.param == "shared" else {"partition_by": "order_id", "handles": [OrderCreated]}
    topics.subscribe(TOPIC, group="email", **options)
    return "email"


def status() -> str:
    return TopicSubscription.objects.get(group_name="email").status


def grow_old(seconds: int) -> None:
    """Let the last heartbeat be so long ago."""
    beaten = F("last_heartbeat_at") - timedelta(seconds=seconds)
    TopicSubscription.objects.filter(last_heartbeat_at__isnull=False).update(last_heartbeat_at=beaten)


def test_a_paused_group_gets_nothing_and_loses_nothing(email):
    published("a")
    topics.pause(TOPIC, group=email)
    published("b")
    assert handled(email) == []
    assert topics.progress(published("c")[0]).missing == ("email",), "it is kept for it"
    topics.resume(TOPIC, group=email)
    assert handled(email) == ["a", "b", "c"]


def test_who_subscribes_again_while_paused_stays_paused(email):
    topics.pause(TOPIC, group=email)
    topics.subscribe(TOPIC, group=email)
    published("a")
    assert (status(), handled(email)) == ("PAUSED", [])


def test_a_cancelled_group_holds_nothing_back_and_can_come_back_where_it_stood(email):
    published("a")
    assert handled(email) == ["a"]
    [message] = published("b")
    topics.cancel(TOPIC, group=email)
    assert topics.progress(message).required == ()
    assert handled(email) == []
    with pytest.raises(SubscriptionRefused, match="subscribe again"):
        topics.pause(TOPIC, group=email)
    topics.heartbeat(TOPIC, group=email)
    assert status() == "CANCELLED", "a heartbeat revives the dead only"
    published("c")
    topics.subscribe(TOPIC, group=email, mode="new")
    assert handled(email) == ["b", "c"], "where it stood"


def test_what_is_in_hand_when_it_is_paused_or_cancelled_can_be_acked(email):
    for verb in (topics.pause, topics.cancel):
        published("a")
        claimed = claim(email)
        verb(TOPIC, group=email)
        groups.ack(claimed)
        topics.resume(TOPIC, group=email)
        assert handled(email) == []


def test_who_never_had_a_heartbeat_does_not_die(email):
    assert topics.bury() == []
    assert status() == "ACTIVE"


def test_a_silent_group_dies_and_its_next_heartbeat_revives_it_where_it_stood(email, caplog):
    published("a")
    topics.heartbeat(TOPIC, group=email)
    grow_old(299)
    assert topics.bury() == []
    grow_old(2)
    with caplog.at_level("WARNING"):
        assert topics.bury() == [f"email: topic {TOPIC}"]
    assert "it is dead" in caplog.text
    assert topics.bury() == [], "twice changes nothing"
    [message] = published("b")
    assert (status(), handled(email)) == ("DEAD", [])
    assert topics.progress(message).required == (), "it holds nothing back"
    topics.heartbeat(TOPIC, group=email)
    assert status() == "ACTIVE"
    assert topics.bury() == []
    assert handled(email) == ["a", "b"]


@pytest.mark.parametrize("verb", [topics.pause, topics.cancel])
def test_only_active_ones_die(email, verb):
    topics.heartbeat(TOPIC, group=email)
    verb(TOPIC, group=email)
    grow_old(10_000)
    assert topics.bury() == []
    topics.resume(TOPIC, group=email)
    assert topics.bury() == [], "who is resumed has time to say so"


def test_the_dead_come_back_by_subscribing_too(email):
    topics.heartbeat(TOPIC, group=email)
    grow_old(10_000)
    topics.bury()
    topics.subscribe(TOPIC, group=email)
    assert (status(), topics.bury()) == ("ACTIVE", [])


def test_the_sweep_buries_and_health_tells(email):
    topics.heartbeat(TOPIC, group=email)
    grow_old(10_000)
    maintenance.sweep()
    assert status() == "DEAD"
    found = whole_health.check()
    assert not found.is_healthy
    assert f"email is dead in topic {TOPIC}" in found.line
    assert whole_health.check(names=["email"]).is_healthy is False


def test_workers_beat_for_their_groups_and_write_only_when_it_is_time(email):
    topics.beat(["email", "nobody"])
    first = TopicSubscription.objects.get().last_heartbeat_at
    assert first is not None
    topics.beat(["email"])
    assert TopicSubscription.objects.get().last_heartbeat_at == first
    grow_old(31)
    topics.beat(["email"])
    assert TopicSubscription.objects.get().last_heartbeat_at >= first


def test_a_stopped_group_beats_too(email):
    groups.stop(email)
    topics.beat([email])
    assert TopicSubscription.objects.get().last_heartbeat_at is not None


def test_who_is_removed_gets_nothing_and_what_is_in_hand_is_lost(email):
    published("a", "b")
    claimed = claim(email, limit=1)
    topics.remove_group(TOPIC, email)
    with pytest.raises(ClaimLost):
        groups.ack(claimed)
    assert handled(email) == []
    assert not TopicSubscription.objects.exists()
    assert not Delivery.objects.exists()
    assert ConsumerGroup.objects.get().name == email, "the group itself stays"
    assert topics.progress(published("c")[0]).required == ()
    with pytest.raises(UnknownSubscription):
        topics.remove_group(TOPIC, email)
    with pytest.raises(UnknownGroup):
        topics.remove_group(TOPIC, "nobody")


def test_groups_are_removed_and_added_while_others_go_on():
    channel()
    for group in ("one", "two"):
        topics.subscribe(TOPIC, group=group)
    published("a")
    topics.remove_group(TOPIC, "one")
    published("b")
    topics.subscribe(TOPIC, group="three", mode="new")
    published("c")
    topics.subscribe(TOPIC, group="one", mode="new")
    published("d")
    assert [handled(group) for group in ("one", "two", "three")] == [["d"], ["a", "b", "c", "d"], ["c", "d"]]


def test_a_queue_keeps_its_group():
    topics.configure("jobs")
    with pytest.raises(TopicInUse, match="a queue"):
        topics.remove_group("jobs", "jobs")


@pytest.mark.parametrize("apply_to", ["untouched", "all"])
def test_a_restart_moves_what_is_not_touched_or_everything(email, apply_to):
    published("a", "b")
    assert handled(email) == ["a", "b"]
    topics.restart(TOPIC, group=email, mode="position", at=2, apply_to=apply_to)
    assert handled(email) == (["b"] if apply_to == "all" else [])
    assert (TopicSubscription.objects.get().mode, TopicSubscription.objects.get().start_position) == ("position", 2)
    published("c")
    assert handled(email) == ["c"]
    groups.reset(email)
    assert handled(email) == ["b", "c"], "a reset goes to the new start"


def test_who_has_not_begun_begins_at_the_new_place(email):
    published("a", "b", "c")
    topics.restart(TOPIC, group=email, mode="position", at=3)
    assert handled(email) == ["c"]


def test_a_restart_to_new_passes_over_what_waits(email):
    published("a", "b")
    claimed = claim(email, limit=1)
    topics.restart(TOPIC, group=email, mode="new", apply_to="all")
    with pytest.raises(ClaimLost):
        groups.ack(claimed)
    published("c")
    assert handled(email) == ["c"]


def test_a_restart_leaves_partitions_alone_that_have_begun():
    channel()
    topics.subscribe(TOPIC, group="g", mode="position", at=3, partition_by="order_id", handles=[OrderCreated])
    published("a", "b", "a", "b")
    first = claim("g")
    groups.ack(first)
    assert ids(first) == ["a"]
    topics.restart(TOPIC, group="g", mode="all")
    published("c")
    assert sorted(handled("g")) == ["b", "b", "c"], "b had not begun, a had"


@pytest.mark.parametrize("wrong", [{"apply_to": "some"}, {"mode": "sometimes"}, {"mode": "position"}])
def test_a_restart_that_cannot_be_understood_changes_nothing(email, wrong):
    before = TopicSubscription.objects.values().get()
    with pytest.raises(ValueError):  # noqa: PT011 - each says something else
        topics.restart(TOPIC, group=email, **wrong)
    assert TopicSubscription.objects.values().get() == before


def test_previews_tell_and_change_nothing(email):
    published("a", "b")
    before = TopicSubscription.objects.values().get()
    told = {
        verb: topics.preview(verb, TOPIC, group="email").sentence
        for verb in ("pause", "resume", "cancel", "remove", "restart")
    }
    assert all("email" in sentence for sentence in told.values())
    assert "kept" in told["pause"]
    assert "lost" in told["remove"]
    assert "done" in told["cancel"]
    assert "forgotten" in topics.preview("delete", TOPIC).sentence
    assert "older than" in topics.preview("force-complete", TOPIC, older_than=timedelta(1)).sentence
    assert "is made" in topics.preview("configure", "new").sentence
    with pytest.raises(ValueError, match="one of"):
        topics.preview("explode", TOPIC)
    assert TopicSubscription.objects.values().get() == before
    assert handled(email) == ["a", "b"]


def test_what_has_caught_up_to_its_start_was_touched_all_the_same():
    channel()
    published("a", "b")
    topics.subscribe(TOPIC, group="email", mode="new")
    groups.seek("email", to=1)
    assert handled("email") == ["a", "b"], "it stands just before its start again"
    topics.restart(TOPIC, group="email", mode="all")
    assert handled("email") == []


def test_what_has_only_looked_is_not_touched():
    channel()
    published("a", "b")
    topics.subscribe(TOPIC, group="email", mode="new")
    assert handled("email") == []
    published("x", topic="elsewhere")
    assert handled("email") == []
    topics.restart(TOPIC, group="email", mode="all")
    assert handled("email") == ["a", "b"]


def test_who_has_left_and_subscribes_again_begins_anew(email):
    published("a", "b")
    assert handled(email) == ["a", "b"]
    published("c")
    groups.release(claim(email))
    topics.remove_group(TOPIC, email)
    assert groups.status(email).pending == 0
    topics.subscribe(TOPIC, group=email, mode="new")
    published("d")
    assert handled(email) == ["d"], "nothing of what was open before"
    topics.remove_group(TOPIC, email)
    topics.subscribe(TOPIC, group=email, mode="all")
    assert handled(email) == ["a", "b", "c", "d"]


def test_who_gets_nothing_now_has_nothing_to_do(email):
    published("a")
    for verb in (topics.pause, topics.cancel):
        verb(TOPIC, group=email)
        assert groups.is_empty(email)
    assert groups.status(email).lag == 0, "nobody waits for it"
    topics.resume(TOPIC, group=email)
    assert not groups.is_empty(email)
    assert groups.status(email).lag == 1


def test_records_of_partitions_have_no_heart():
    channel()
    topics.subscribe(TOPIC, group="g", partition_by="order_id", handles=[OrderCreated])
    topics.subscribe(TOPIC, group="g", partition={"order_id": "a"})
    topics.beat(["g"])
    grow_old(10_000)
    assert topics.bury() == [f"g: topic {TOPIC}"]


def test_heartbeats_are_checked_against_what_was_said_before(email):
    topics.subscribe(TOPIC, group=email, heartbeat_interval=500, heartbeat_timeout=600)
    with pytest.raises(ValueError, match="time-out"):
        topics.subscribe(TOPIC, group=email, heartbeat_timeout=300)
    topics.subscribe(TOPIC, group=email, heartbeat_timeout=700)
