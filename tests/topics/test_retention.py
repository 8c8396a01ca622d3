"""Retention: what is old and needed by nobody is pruned, and nothing else."""

import logging
from datetime import timedelta

import pytest
from django.core.checks import run_checks
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from ccc_django import (
    Decider,
    Event,
    Projector,
    Retry,
    consumers,
    dead_letters,
    evolves,
    groups,
    maintenance,
    reacts,
    store,
    testing,
    topics,
    where,
)
from ccc_django.conditions import Condition
from ccc_django.consumers.declaring import declare
from ccc_django.errors import UnknownTopic
from ccc_django.indexes import in_code
from ccc_django.models import (
    ConsumerGroup,
    DeadLetter,
    Delivery,
    GroupTopic,
    KeyPair,
    MessageKeyPair,
    ScheduledMessage,
    StoredMessage,
    Topic,
    TopicSubscription,
)
from ccc_django.topics import batches, pruning
from tests.retaining import age
from tests.topics.orders import TOPIC, OrderCreated, OrderPaid, channel, claim, handled, ids, published

pytestmark = pytest.mark.django_db(transaction=True)

DAY = timedelta(days=1)
ONCE = Retry(max_attempts=1)


class SeatTaken(Event, type="retention.seat_taken"):
    course: str
    user: str


class CourseMoved(Event, type="retention.course_moved"):
    course: str


def kept(topic: str | None = TOPIC) -> list[int]:
    messages = StoredMessage.objects.order_by("position")
    found = messages if topic is None else messages.filter(topic=topic)
    return [*found.values_list("position", flat=True)]


def pruned(*names: str) -> int:
    return sum(each.count for each in topics.prune(*names))


@pytest.fixture
def orders() -> Topic:
    """A topic that keeps messages for a day, with one group."""
    topic = channel(retention=DAY)
    topics.subscribe(TOPIC, group="email")
    return topic


def die(group: str = "email", *, ago: timedelta = timedelta(0)) -> None:
    topics.beat([group])
    silent = TopicSubscription.objects.filter(group_name=group)
    silent.update(last_heartbeat_at=F("last_heartbeat_at") - timedelta(seconds=301))
    topics.bury()
    silent.update(died_at=F("died_at") - ago)


# what goes


def test_without_a_retention_nothing_is_pruned():
    channel()
    topics.subscribe(TOPIC, group="email")
    published("a")
    handled("email")
    age(days=10_000)
    assert topics.prune() == []
    assert topics.prune(TOPIC)[0].count == 0
    assert kept() == [1]


def test_what_is_old_and_done_goes_and_what_is_younger_stays(orders):
    published("a", "b", "c")
    handled("email")
    age(days=0.99)
    assert pruned() == 0
    age(days=0.02, upto=2)
    assert pruned() == 2
    assert kept() == [3]
    topic = Topic.objects.get()
    assert (topic.pruned_upto, topic.pruned) == (2, 2)
    assert topic.pruned_at is not None


def test_index_entries_go_with_their_messages_and_others_stay(orders):
    published("a", "b")
    store.append(OrderCreated(order_id="a"))
    published("a", topic="other")
    handled("email")
    age()
    assert pruned() == 2
    assert [*MessageKeyPair.objects.order_by("position").values_list("position", flat=True)] == [3, 4]
    assert len(store.read(OrderCreated.to_conditions(order_id="a")).messages) == 2
    assert store.read(OrderCreated.to_conditions(order_id="b")).messages == []
    assert KeyPair.objects.filter(name="order_id").count() == 2, "the dictionary keeps its words"


def test_a_message_that_comes_again_with_the_same_value_is_found(orders):
    published("a")
    handled("email")
    age()
    pruned()
    published("a")
    assert [message.position for message in store.read(OrderCreated.to_conditions(order_id="a")).messages] == [2]
    assert handled("email") == ["a"]


@pytest.mark.parametrize("is_sparse", [False, True])
def test_more_than_a_batch_is_pruned_in_several(orders, is_sparse, monkeypatch):
    monkeypatch.setattr(batches, "BATCH", 3)
    for number in range(10):
        published(f"o-{number}")
        store.append([OrderCreated(order_id="stranger") for _ in range(30 if is_sparse else 1)])
    handled("email")
    age()
    seen = []
    [said] = topics.prune(progress=lambda each: seen.append(each.count))
    assert (said.count, said.oldest_kept, said.is_complete) == (10, None, True)
    assert seen == [3, 6, 9, 10]
    entries = {*MessageKeyPair.objects.values_list("position", flat=True)}
    assert entries == {*kept(None)}
    assert len(entries) == (300 if is_sparse else 10)


def test_messages_that_were_stamped_out_of_order_go_by_their_own_time(orders, monkeypatch):
    monkeypatch.setattr(batches, "BATCH", 3)
    published(*"abcdefgh")
    handled("email")
    age()
    StoredMessage.objects.filter(position__in=[2, 7]).update(appended_at=timezone.now())
    assert pruned() == 6
    assert kept() == [2, 7]
    assert Topic.objects.get().pruned_upto == 1, "not beyond what will be old later"
    age(days=2)
    assert pruned() == 2


def test_positions_are_not_used_again_and_everything_goes_on(orders):
    published("a", "b")
    handled("email")
    age()
    pruned()
    assert kept(None) == []
    assert store.head() == 2
    [message] = published("c")
    assert message.position == 3
    assert handled("email") == ["c"]


# what stays


@pytest.mark.parametrize("verb", ["nothing", "claim", "pause", "stop", "fail"])
def test_nothing_that_a_group_has_not_done_goes(orders, verb):
    published("a", "b", "c")
    groups.ack(claim("email", limit=1))
    {
        "nothing": lambda: None,
        "claim": lambda: claim("email"),
        "pause": lambda: topics.pause(TOPIC, group="email"),
        "stop": lambda: groups.stop("email"),
        "fail": lambda: groups.release(claim("email", limit=1), error=ValueError("no")),
    }[verb]()
    age()
    [said] = topics.prune()
    assert (said.count, said.oldest_kept, said.held_by) == (1, 2, ("email",))
    assert kept() == [2, 3]


def test_the_furthest_behind_decides(orders):
    topics.subscribe(TOPIC, group="stats")
    topics.subscribe(TOPIC, group="stock", partition_by="order_id", handles=[OrderCreated])
    published("a", "b", "c")
    handled("email")
    groups.ack(claim("stats", limit=2))
    groups.ack(claim("stock"))
    age()
    assert topics.prune()[0].held_by == ("stock",)
    assert kept() == [2, 3]
    handled("stock")
    assert topics.prune()[0].held_by == ("stats",)
    assert kept() == [3]
    handled("stats")
    assert pruned() == 1


def test_groups_of_the_whole_log_hold_messages_of_every_topic(orders):
    groups.register("roster", partition_by="order_id", handled_types=[OrderCreated])
    published("a", "b")
    handled("email")
    groups.ack(claim("roster"))
    age()
    assert topics.prune()[0].held_by == ("roster",)
    assert kept() == [2]
    groups.ack(claim("roster"))
    assert pruned() == 1


def test_a_group_that_begins_later_needs_nothing_from_before(orders):
    published("a", "b")
    handled("email")
    topics.subscribe(TOPIC, group="late", mode="new")
    topics.subscribe(TOPIC, group="later", mode="new", partition_by="order_id", handles=[OrderCreated])
    age()
    assert pruned() == 2


def test_a_late_joiner_holds_what_it_will_get(orders):
    published("a", "b", "c")
    handled("email")
    topics.subscribe(TOPIC, group="late", mode="position", at=2)
    age()
    assert pruned() == 1
    assert handled("late") == ["b", "c"]


def test_a_seek_back_holds_again(orders):
    published("a", "b", "c")
    handled("email")
    groups.seek("email", to=2)
    age()
    assert pruned() == 1
    assert handled("email") == ["b", "c"]


def test_other_topics_and_messages_without_one_are_left_alone(orders):
    channel("kept")
    store.append(OrderCreated(order_id="none"))
    store.append(OrderCreated(order_id="unconfigured", topic="nobody.knows"))
    published("kept", topic="kept")
    published("a")
    handled("email")
    age()
    assert pruned() == 1
    assert kept(None) == [1, 2, 3]
    with pytest.raises(UnknownTopic):
        topics.prune("nobody.knows")
    with pytest.raises(ValueError, match="a topic has a name"):
        topics.configure("", retention=DAY)


def test_a_topic_that_nobody_has_subscribed_to_keeps_its_messages_unless_it_says_otherwise():
    channel(retention=DAY)
    published("a")
    age()
    assert topics.prune()[0].count == 0
    topics.configure(TOPIC, unsubscribed_retention=timedelta(days=30))
    assert pruned() == 0
    age(days=25)
    assert topics.prune()[0].retention == timedelta(days=30)
    assert kept() == []
    topics.configure(TOPIC, unsubscribed_retention=None)
    published("b")
    age(days=100)
    assert pruned() == 0


def test_without_a_retention_of_its_own_a_subscribed_topic_keeps_everything():
    channel(unsubscribed_retention=DAY)
    topics.subscribe(TOPIC, group="email")
    published("a")
    handled("email")
    age()
    assert pruned() == 0


@pytest.mark.parametrize("what", ["retention", "unsubscribed_retention", "keep_partial"])
@pytest.mark.parametrize("length", [timedelta(0), -DAY, 7, timedelta(days=40_000), timedelta.max])
def test_lengths_that_cannot_be_are_refused(what, length):
    with pytest.raises(ValueError, match=what):
        channel(**{what: length})
    assert not Topic.objects.exists()


def test_a_queue_is_pruned_as_well():
    topics.configure("images", retention=DAY)
    published("a", "b", topic="images")
    groups.ack(claim("images", limit=1))
    age()
    assert pruned() == 1
    assert handled("images") == ["b"]


def test_one_topic_is_pruned_by_its_name(orders):
    channel("other", retention=DAY)
    topics.subscribe("other", group="email")
    published("a")
    published("b", topic="other")
    handled("email")
    age()
    assert [each.topic for each in topics.prune("other")] == ["other"]
    assert kept() == [1]


# groups that end


def test_a_cancelled_group_holds_nothing(orders):
    published("a", "b")
    topics.cancel(TOPIC, group="email")
    age()
    assert pruned() == 2


def test_a_dead_group_holds_for_its_grace(orders, settings):
    published("a", "b")
    die(ago=timedelta(days=6, hours=23))
    age()
    assert topics.prune()[0].held_by == ("email",)
    settings.CCC_DEAD_GRACE = timedelta(days=6)
    assert pruned() == 2


def test_the_grace_begins_when_somebody_notices(orders):
    """Workers that were off for a month must not find an empty log."""
    published("a")
    topics.beat(["email"])
    TopicSubscription.objects.update(last_heartbeat_at=timezone.now() - timedelta(days=30))
    age(days=30)
    maintenance.sweep()
    assert TopicSubscription.objects.get().status == "DEAD"
    maintenance.sweep()
    topics.beat(["email"])
    assert handled("email") == ["a"]


@pytest.mark.parametrize("revive", ["resume", "subscribe", "heartbeat", "beat"])
def test_a_revived_group_is_told_what_it_has_lost(orders, revive, caplog):
    published("a", "b", "c", "d")
    groups.ack(claim("email", limit=1))
    die(ago=timedelta(days=8))
    age(upto=3)
    assert pruned() == 3
    with caplog.at_level(logging.WARNING, logger="ccc_django.topics"):
        {
            "resume": lambda: topics.resume(TOPIC, group="email"),
            "subscribe": lambda: topics.subscribe(TOPIC, group="email"),
            "heartbeat": lambda: topics.heartbeat(TOPIC, group="email"),
            "beat": lambda: topics.beat(["email"]),
        }[revive]()
    [line] = [each for each in caplog.messages if "pruned" in each]
    assert "between 2 and 3" in line
    [seen] = topics.health(TOPIC)
    assert (seen.status, seen.lost_from, seen.lost_to) == ("ACTIVE", 2, 3)
    assert handled("email") == ["d"]
    assert not Delivery.objects.exists()


def test_a_group_that_has_done_everything_loses_nothing(orders):
    published("a")
    handled("email")
    topics.cancel(TOPIC, group="email")
    age()
    assert pruned() == 1
    assert GroupTopic.objects.get().lost_from is None


def test_losses_of_one_absence_are_one_gap_and_later_ones_another(orders):
    published("a", "b")
    topics.cancel(TOPIC, group="email")
    age(upto=1)
    pruned()
    age(after=1)
    pruned()
    place = GroupTopic.objects.get()
    assert (place.lost_from, place.lost_to) == (1, 2)
    topics.resume(TOPIC, group="email")
    published("c", "d")
    handled("email")
    published("e")
    topics.cancel(TOPIC, group="email")
    age()
    pruned()
    place.refresh_from_db()
    assert (place.lost_from, place.lost_to) == (5, 5)


def test_deliveries_of_a_cancelled_group_go_with_their_messages_but_for_those_in_hand(orders):
    published("a", "b", "c")
    held = claim("email", limit=1)
    topics.cancel(TOPIC, group="email")
    age()
    assert pruned() == 3
    assert [*Delivery.objects.values_list("position", flat=True)] == [1]
    groups.ack(held)
    assert not Delivery.objects.exists()


def test_an_ordered_group_has_lost_only_what_it_handles(orders):
    handles = {"partition_by": "order_id", "handles": [OrderPaid]}
    topics.subscribe(TOPIC, group="stock", **handles)
    topics.subscribe(TOPIC, group="other", partition_by="order_id", handles=[OrderCreated])
    published("a")
    topics.publish(TOPIC, [OrderPaid(order_id="a"), OrderPaid(order_id="b")])
    published("c")
    handled("email")
    topics.cancel(TOPIC, group="stock")
    topics.cancel(TOPIC, group="other")
    age()
    assert pruned() == 4
    lost = {each.group: (each.lost_from, each.lost_to) for each in topics.health(TOPIC) if each.lost_to}
    assert lost == {"stock": (2, 3), "other": (1, 4)}
    topics.resume(TOPIC, group="stock")
    topics.publish(TOPIC, OrderPaid(order_id="a"))
    assert handled("stock") == ["a"]


def test_what_a_group_has_done_is_not_lost(orders):
    published(*"abcdefgh")
    held = claim("email")
    groups.ack(held, messages=[message for message in held.messages if message.order_id not in "ac"])
    topics.cancel(TOPIC, group="email")
    age()
    assert pruned() == 8
    place = GroupTopic.objects.get()
    assert (place.lost_from, place.lost_to) == (1, 3)


def test_what_partitions_to_come_would_need_is_lost_as_well():
    seats()
    topics.publish(TOPIC, [CourseMoved(course="Algebra"), SeatTaken(course="Algebra", user="joe")])
    _drained("seating")
    topics.cancel(TOPIC, group="seating")
    age()
    assert pruned() == 2
    place = GroupTopic.objects.get()
    assert (place.lost_from, place.lost_to) == (1, 1), "the other one was done, and nobody else will need it"


# dead letters and scheduled messages


def given_up(group: str = "email") -> DeadLetter:
    topics.subscribe(TOPIC, group=group, retry=ONCE)
    published("a", "b")
    groups.release(claim(group, limit=1), error=ValueError("no"))
    handled(group)
    age()
    return DeadLetter.objects.get()


def test_a_dead_letter_keeps_its_message():
    channel(retention=DAY)
    letter = given_up()
    assert pruned() == 1
    assert kept() == [letter.position]
    dead_letters.replay(letter)
    assert pruned() == 0
    again = claim("email")
    assert ids(again) == ["a"]
    assert pruned() == 0
    groups.ack(again)
    assert pruned() == 1


def test_a_letter_that_was_discarded_lets_its_message_go():
    channel(retention=DAY)
    letter = given_up()
    dead_letters.discard(letter)
    assert pruned() == 2
    assert dead_letters.replay(letter) == 0, "there is nothing to deliver any more"
    assert dead_letters.preview("replay", DeadLetter.objects.all()).count == 0
    letter.refresh_from_db()
    assert letter.status == "discarded"


def test_a_letter_of_an_ordered_group_keeps_its_message_too():
    channel(retention=DAY)
    topics.subscribe(TOPIC, group="stock", partition_by="order_id", handles=[OrderCreated], retry=ONCE)
    published("a", "a")
    groups.release(claim("stock"), error=ValueError("no"))
    handled("stock")
    age()
    assert pruned() == 1
    assert kept() == [1]


def test_what_waits_for_its_time_is_not_touched(orders):
    store.schedule(OrderCreated(order_id="later", topic=TOPIC), at=timezone.now() + DAY)
    published("a")
    handled("email")
    age()
    assert pruned() == 1
    ScheduledMessage.objects.update(due_at=timezone.now() - DAY)
    store.promote()
    assert handled("email") == ["later"]


# what partitions to come need, and histories


def seats(**options) -> None:
    channel(retention=DAY, **options)
    topics.subscribe(TOPIC, group="seating", partition_by=["course", "user"], handles=[SeatTaken, CourseMoved])


def test_messages_that_name_partitions_in_part_stay_for_those_to_come():
    seats()
    topics.publish(TOPIC, [CourseMoved(course="Algebra"), SeatTaken(course="Algebra", user="joe")])
    assert [message.position for message in _drained("seating")] == [1, 2]
    age()
    assert pruned() == 1
    assert kept() == [1]
    topics.publish(TOPIC, SeatTaken(course="Algebra", user="jane"))
    assert [message.position for message in _drained("seating")] == [1, 3], "a new partition gets what came before it"


def _drained(group: str) -> list:
    done = []
    while claimed := claim(group):
        done += claimed.messages
        groups.ack(claimed)
    return done


def test_that_is_bounded_on_demand():
    seats(keep_partial=timedelta(days=30))
    topics.publish(TOPIC, CourseMoved(course="Algebra"))
    _drained("seating")
    age()
    assert pruned() == 0
    age(days=25)
    assert pruned() == 1


@pytest.mark.parametrize("end", ["cancel", "remove"])
def test_they_go_when_the_group_has_gone(end):
    seats()
    topics.subscribe(TOPIC, group="email")
    topics.publish(TOPIC, CourseMoved(course="Algebra"))
    _drained("seating")
    _drained("email")
    age()
    assert pruned() == 0
    topics.cancel(TOPIC, group="seating") if end == "cancel" else topics.remove_group(TOPIC, "seating")
    assert pruned() == 1


def test_a_group_of_the_whole_log_needs_them_as_well(orders):
    groups.register("seating", partition_by=["course", "user"], handled_types=[SeatTaken, CourseMoved])
    topics.publish(TOPIC, [CourseMoved(course="Algebra"), SeatTaken(course="Algebra", user="joe")])
    _drained("email")
    _drained("seating")
    age()
    assert pruned() == 1
    assert kept() == [1]


@pytest.fixture
def seat_decider(monkeypatch):
    monkeypatch.setattr(consumers.registry, "_consumers", {})

    class Seats(Decider, group="seats", partition_by="course"):
        @evolves(SeatTaken)
        def taken(self, state, event):
            return state

        @reacts(CourseMoved)
        def moved(self, state, event):
            return None

    return Seats


def test_types_that_a_decider_evolves_are_never_pruned(orders, seat_decider):
    declare(seat_decider)
    topics.publish(TOPIC, [SeatTaken(course="Algebra", user="joe"), OrderCreated(order_id="a")])
    _drained("email")
    _drained("seats")
    age(days=10_000)
    assert pruned() == 1
    assert kept() == [1]
    assert ConsumerGroup.objects.get(name="seats").evolved_types == [SeatTaken.type]


def test_whatever_topics_its_group_gets(orders):
    """A history is read from the whole log."""
    channel("commands")
    topics.subscribe("commands", group="seats", partition_by="course", handles=[CourseMoved])
    groups.register("seats", partition_by="course", handled_types=[CourseMoved], evolved_types=[SeatTaken])
    topics.publish(TOPIC, SeatTaken(course="Algebra", user="joe"))
    _drained("email")
    age()
    assert pruned() == 0
    topics.remove_group("commands", "seats")
    assert pruned() == 0
    groups.delete("seats")
    assert pruned() == 1


@pytest.mark.parametrize("event_sourced", [False, True])
def test_types_of_a_projection_are_kept_if_it_is_event_sourced(orders, event_sourced, monkeypatch):
    monkeypatch.setattr(consumers.registry, "_consumers", {})

    class Roster(Projector, group="roster", partition_by="course", event_sourced=event_sourced):
        @evolves(SeatTaken)
        def taken(self, state, event):
            return state

    declare(Roster)
    topics.publish(TOPIC, SeatTaken(course="Algebra", user="joe"))
    _drained("email")
    _drained("roster")
    age()
    assert pruned() == (0 if event_sourced else 1)


def test_registering_adds_evolved_types_and_replacing_takes_them_away():
    groups.register("g", handled_types=[OrderCreated], evolved_types=[SeatTaken])
    assert groups.register("g", handled_types=[OrderCreated]).evolved_types == [SeatTaken.type]
    known = groups.register("g", handled_types=[OrderCreated], evolved_types=[OrderPaid], replace=True)
    assert known.evolved_types == [OrderPaid.type]


def test_whoever_would_miss_something_is_named_before(orders, seat_decider, monkeypatch):
    declare(seat_decider)
    filters = {
        "paid orders": where(type=OrderPaid),
        "orders": where(type=OrderCreated, order_id="1") | where.conditions([Condition(OrderCreated.type)]),
        "x": where(order_id="1"),
    }
    monkeypatch.setattr(in_code, "filters", lambda: filters)
    topics.publish(TOPIC, [SeatTaken(course="Algebra", user="joe"), OrderCreated(order_id="a")])
    told = topics.preview("configure", TOPIC, retention=DAY).sentences
    assert any("retention.seat_taken: never pruned, because seats" in each for each in told)
    assert any("“orders” looks for topics.order_created" in each for each in told)
    assert any("“x” looks for every type" in each for each in told)
    assert not any("paid orders" in each for each in told)
    assert not any("never pruned" in each for each in topics.preview("configure", TOPIC, retention=None).sentences)
    problems = [each for each in run_checks(databases=["default"]) if each.id == "ccc_django.W004"]
    assert len(problems) == 3
    assert "seats" in problems[0].msg
    assert not [each for each in run_checks() if each.id == "ccc_django.W004"], "only where a database is checked"
    topics.configure(TOPIC, retention=None)
    assert not [each for each in run_checks(databases=["default"]) if each.id == "ccc_django.W004"]


# a dry run, and the sweep


def everything() -> list:
    models = (StoredMessage, MessageKeyPair, Topic, GroupTopic, Delivery, DeadLetter)
    return [[*model.objects.order_by("pk").values()] for model in models]


@pytest.mark.parametrize("done", range(5))
def test_a_dry_run_says_what_would_be_done_and_changes_nothing(orders, done, monkeypatch):
    monkeypatch.setattr(batches, "BATCH", 2)
    published("a", "b", "c", "d")
    if done:
        groups.ack(claim("email", limit=done))
    age(upto=3)
    before = everything()
    foreseen = topics.prune(dry_run=True)
    assert everything() == before
    assert topics.prune() == foreseen
    assert foreseen[0].count == min(done, 3)
    assert foreseen[0].oldest_kept == kept()[0]


def test_a_dry_run_of_a_log_that_goes_entirely_keeps_nothing(orders):
    published("a")
    handled("email")
    age()
    [said] = topics.prune(dry_run=True)
    assert (said.count, said.oldest_kept, said.oldest_kept_at) == (1, None, None)


def test_a_time_can_be_set_and_whoever_calls_again_goes_on(orders, monkeypatch):
    monkeypatch.setattr(batches, "BATCH", 1)
    published("a", "b", "c")
    handled("email")
    age()
    [said] = topics.prune(within=timedelta(0))
    assert (said.count, said.is_complete, said.oldest_kept) == (1, False, 2)
    assert pruned() == 2


def test_the_sweep_prunes(orders):
    published("a", "b")
    handled("email")
    age(upto=1)
    maintenance.sweep()
    assert kept() == [2]
    age()
    maintenance.sweep()
    assert kept() == []


def test_a_sweep_takes_its_time_and_the_next_one_goes_on(orders, monkeypatch):
    monkeypatch.setattr(batches, "BATCH", 1)
    monkeypatch.setattr(maintenance, "PRUNING", timedelta(0))
    channel("another", retention=DAY)
    topics.subscribe("another", group="email")
    published("a", "b")
    published("c", topic="another")
    handled("email")
    age()
    assert [maintenance.sweep() for _ in range(2)] == [maintenance.SOON] * 2
    assert kept(None) == [2], "each topic had its turn"
    monkeypatch.undo()
    assert maintenance.sweep() > 1
    assert kept(None) == []


def test_a_topic_that_cannot_be_pruned_does_not_keep_the_others_from_it(orders, monkeypatch):
    channel("another", retention=DAY)
    topics.subscribe("another", group="email")
    published("a", topic="another")
    published("b")
    handled("email")
    age()
    delete = batches.Part.delete

    def failing(part):
        if part.topic.name == "another":
            raise ZeroDivisionError
        return delete(part)

    monkeypatch.setattr(batches.Part, "delete", failing)
    with pytest.raises(ZeroDivisionError):
        topics.prune_some(within=DAY)
    with pytest.raises(ZeroDivisionError):
        topics.prune_some(within=DAY)
    assert kept(None) == [1], "the one that failed comes last the next time"


def test_the_sweep_looks_again_at_what_was_kept_for_a_reason(monkeypatch):
    channel(retention=DAY)
    letter = given_up()
    maintenance.sweep()
    assert kept() == [1]
    dead_letters.discard(letter)
    maintenance.sweep()
    assert kept() == [1], "not each time"
    monkeypatch.setattr(pruning.time, "monotonic", lambda now=pruning.time.monotonic: now() + pruning.WHOLE)
    maintenance.sweep()
    assert kept() == []


def test_inside_of_a_transaction_of_a_test_it_works_as_well(orders):
    published("a")
    handled("email")
    age()
    with transaction.atomic():
        assert pruned() == 1
        transaction.set_rollback(True)
    assert kept() == [1]
    testing.clear()
