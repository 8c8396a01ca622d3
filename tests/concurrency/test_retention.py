"""Pruning against everything that may need what it prunes, with real connections: step by step, and all at once."""

import random
import threading
import time
from datetime import timedelta

import pytest
from django.db.models import F

from ccc_django import Retry, dead_letters, groups, indexes, maintenance, sessions, store, testing, topics
from ccc_django.groups import keeping
from ccc_django.models import DeadLetter, MessageKeyPair, StoredMessage, Topic, TopicSubscription
from ccc_django.models.payload_index import PayloadIndex
from ccc_django.topics import batches
from tests.concurrency.acting import actor
from tests.concurrency.processes import assert_overlapped, together
from tests.retaining import age
from tests.topics.orders import TOPIC, OrderCreated, channel, claim, handled, published

pytestmark = pytest.mark.django_db(transaction=True)

DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def first_day(transactional_db) -> None:
    """A log as it was on its first day."""
    testing.clear()


@pytest.fixture
def old():
    """Three old messages that the only group has done."""
    channel(retention=DAY)
    topics.subscribe(TOPIC, group="email")
    published("a", "b", "c")
    handled("email")
    age()


def kept() -> list[int]:
    return [*StoredMessage.objects.order_by("position").values_list("position", flat=True)]


def gone() -> list[topics.Pruned]:
    return topics.prune()


def ended(status: str) -> None:
    """The group has something open, and has ended for long."""
    groups.seek("email", to=2)
    past = {"died_at": F("subscribed_at") - timedelta(days=30)}
    TopicSubscription.objects.update(status=status, last_heartbeat_at=F("subscribed_at"), **past)


NEEDS = {  # who needs old messages from now on, and what is left to it if it comes first
    "subscribe": (lambda: topics.subscribe(TOPIC, group="late", mode="all"), "late", ["a", "b", "c"]),
    "subscribe-ordered": (
        lambda: topics.subscribe(TOPIC, group="late", mode="all", partition_by="order_id", handles=[OrderCreated]),
        "late",
        ["a", "b", "c"],
    ),
    "namespace": (lambda: topics.subscribe(namespace="shop", group="late", mode="all"), "late", ["a", "b", "c"]),
    "register": (
        lambda: groups.register("late", partition_by="order_id", handled_types=[OrderCreated]),
        "late",
        [*"abc"],
    ),
    "seek": (lambda: groups.seek("email", to=2), "email", ["b", "c"]),
    "reset": (lambda: groups.reset("email"), "email", ["a", "b", "c"]),
    "restart": (lambda: topics.restart(TOPIC, group="email", mode="all", apply_to="all"), "email", ["a", "b", "c"]),
    "resume": (lambda: topics.resume(TOPIC, group="email"), "email", ["b", "c"]),
    "revive": (lambda: topics.subscribe(TOPIC, group="email"), "email", ["b", "c"]),
    "heartbeat": (lambda: topics.heartbeat(TOPIC, group="email"), "email", ["b", "c"]),
    "beat": (lambda: topics.beat(["email"]), "email", ["b", "c"]),
}
REVIVALS = {"resume": "CANCELLED", "revive": "CANCELLED", "heartbeat": "DEAD", "beat": "DEAD"}


@pytest.mark.postgres  # SQLite has one writer at a time: nothing lies between
@pytest.mark.parametrize("verb", NEEDS)
def test_whoever_needs_old_messages_and_is_not_seen_yet_keeps_them(old, verb):
    """It has done everything but its commit: whoever prunes leaves the topic alone, and then leaves what is needed."""
    topics.configure(TOPIC, namespace="shop")
    need, group, left = NEEDS[verb]
    if verb in REVIVALS:
        ended(REVIVALS[verb])
    with actor() as needing, actor() as pruning:
        needing.begin()
        needing.do(need)
        assert not pruning.do(gone)[0].is_complete
        assert kept() == [1, 2, 3]
        needing.commit()
        assert pruning.do(gone)[0].is_complete
    assert handled(group) == left


@pytest.mark.postgres
@pytest.mark.parametrize("verb", NEEDS)
def test_whoever_comes_while_a_batch_is_pruned_waits_and_knows_then_what_is_left(old, verb):
    """It must not be seen with a place before messages that are just going, nor think that it has lost nothing."""
    topics.configure(TOPIC, namespace="shop")
    need, group, _ = NEEDS[verb]
    if verb in REVIVALS:
        ended(REVIVALS[verb])
    with actor() as needing, actor() as pruning:
        pruning.begin()
        assert pruning.do(gone)[0].count == 3
        waiting = needing.start(need)
        time.sleep(0.2)
        assert not waiting.done()
        pruning.commit()
        waiting.result(30)
    assert kept() == []
    published("d")
    assert handled(group) == ["d"]
    lost = {each.group: each.lost_to for each in topics.health(TOPIC)}
    assert lost["email"] == (3 if verb in REVIVALS else None)


@pytest.mark.postgres
def test_a_group_that_is_just_making_deliveries_holds_what_it_makes_them_of(old):
    """A backfill: until it is committed, its place is where it was."""
    topics.subscribe(TOPIC, group="late", mode="all")
    with actor() as backfilling, actor() as pruning:
        backfilling.begin()
        backfilling.do(lambda: topics.backfill(TOPIC, group="late"))
        assert pruning.do(gone)[0].held_by == ("late",)
        backfilling.commit()
        assert pruning.do(gone)[0].held_by == ("late",)
    assert kept() == [1, 2, 3]
    assert handled("late") == ["a", "b", "c"]
    assert topics.prune()[0].count == 3


@pytest.mark.postgres
def test_a_message_that_is_just_given_up_stays_with_its_letter(old):
    topics.subscribe(TOPIC, group="late", mode="all", retry=Retry(max_attempts=1))
    held = claim("late", limit=1)
    with actor() as failing, actor() as pruning:
        failing.begin()
        failing.do(lambda: groups.release(held, error=ValueError("no")))
        assert pruning.do(gone)[0].count == 0
        failing.commit()
        handled("late")
        assert pruning.do(gone)[0].count == 2
    assert kept() == [1]
    assert DeadLetter.objects.get().position == 1


def letter() -> DeadLetter:
    """A letter that was discarded."""
    topics.subscribe(TOPIC, group="late", mode="all", retry=Retry(max_attempts=1))
    groups.release(claim("late", limit=1), error=ValueError("no"))
    handled("late")
    dead_letters.discard(DeadLetter.objects.all())
    return DeadLetter.objects.get()


@pytest.mark.postgres
def test_a_letter_that_is_just_being_replayed_keeps_its_message(old):
    discarded = letter()
    with actor() as replaying, actor() as pruning:
        replaying.begin()
        assert replaying.do(dead_letters.replay, discarded) == 1
        waiting = pruning.start(gone)
        time.sleep(0.2)
        assert not waiting.done()
        replaying.commit()
        assert waiting.result(30)[0].count == 2
    assert kept() == [1]
    assert handled("late") == ["a"]
    assert topics.prune()[0].count == 1


@pytest.mark.postgres
def test_a_letter_whose_message_is_just_going_is_not_replayed(old):
    discarded = letter()
    with actor() as replaying, actor() as pruning:
        pruning.begin()
        assert pruning.do(gone)[0].count == 3
        waiting = replaying.start(dead_letters.replay, discarded)
        time.sleep(0.2)
        assert not waiting.done()
        pruning.commit()
        assert waiting.result(30) == 0
    assert DeadLetter.objects.get().status == "discarded"
    assert claim("late") is None


@pytest.mark.postgres
@pytest.mark.parametrize("first", ["prune", "index"])
def test_an_index_that_is_being_built_gets_no_entries_of_messages_that_go(old, first):
    store.append(OrderCreated(order_id="d", topic="", metadata={"note": "x"}))
    row = indexes.declare("payload_hash", ["order_id", "customer"], complete=False)
    indexes.build(row.name)
    PayloadIndex.objects.update(status="building", built_upto=0)
    tasks = {"prune": gone, "index": lambda: indexes.building.build_batch(row.pk)}
    with actor() as one, actor() as other:
        one.begin()
        one.do(tasks.pop(first))
        [second] = tasks.values()
        waiting = other.start(second)
        time.sleep(0.2)
        assert not waiting.done()
        one.commit()
        waiting.result(30)
    assert kept() == [4]
    assert {*MessageKeyPair.objects.values_list("position", flat=True)} == {4}


@pytest.mark.postgres
def test_of_two_who_prune_a_topic_one_yields_and_does_not_wait(old, monkeypatch):
    is_at_it, may_go_on = threading.Event(), threading.Event()
    delete = batches.Part.delete

    def slowly(part):
        is_at_it.set()
        may_go_on.wait(10)
        return delete(part)

    monkeypatch.setattr(batches.Part, "delete", slowly)
    with actor() as one, actor() as other:
        first = one.start(topics.prune, TOPIC)
        is_at_it.wait(10)
        second = other.start(topics.prune, TOPIC)
        assert not second.result(10)[0].is_complete
        may_go_on.set()
        assert first.result(30)[0].count == 3
    assert kept() == []


@pytest.mark.postgres
def test_an_open_transaction_that_has_subscribed_holds_up_its_own_topic_alone(old):
    """Neither another topic, nor a sweep."""
    channel("other", retention=DAY)
    topics.subscribe("other", group="email")
    published("x", topic="other")
    handled("email")
    age()
    with actor() as requesting, actor() as pruning:
        requesting.begin()
        requesting.do(lambda: topics.subscribe(TOPIC, group="late", mode="all"))
        said = {each.topic: (each.count, each.is_complete) for each in pruning.do(gone)}
        pruning.do(maintenance.sweep)
        requesting.commit()
    assert said == {"other": (1, True), TOPIC: (0, False)}


@pytest.mark.postgres
def test_a_session_that_is_known_is_opened_without_a_word_to_others(old):
    sessions.open(TOPIC, consumer_id="me").close()
    with actor() as requesting, actor() as other:
        requesting.begin()
        requesting.do(lambda: sessions.open(TOPIC, consumer_id="me"))
        other.do(lambda: topics.subscribe("other", group="g"))
        assert other.do(gone)[0].count == 3
        requesting.commit()


@pytest.mark.postgres
@pytest.mark.parametrize("who", ["session", "heartbeat"])
def test_whoever_keeps_a_topic_and_whoever_deletes_it_lock_in_one_order(old, who, monkeypatch):
    """What they lock besides is locked before: with a pause behind the topic they would wait in a circle otherwise."""
    paused = threading.Event()

    def slowly(names, keep=keeping.keep):
        keep(names)
        paused.set()
        time.sleep(0.5)

    with actor() as keeper, actor() as deleting:
        if who == "session":
            session = keeper.do(lambda: sessions.open(TOPIC, consumer_id="me", commit="manual"))
            monkeypatch.setattr("ccc_django.sessions.session.keep", slowly)
            waiting = keeper.start(session.seek, 1)
        else:
            ended("DEAD")
            monkeypatch.setattr("ccc_django.topics.losing.keep", slowly)
            waiting = keeper.start(topics.beat, ["email"])
        paused.wait(10)
        deleting.do(lambda: topics.delete(TOPIC, force=True))
        waiting.result(30)
    assert not Topic.objects.filter(name=TOPIC).exists()


@pytest.mark.postgres
def test_an_ack_of_a_group_that_nothing_is_kept_for_and_a_prune_wait_for_nobody_in_a_circle(old):
    topics.subscribe(TOPIC, group="late", mode="all")
    held = claim("late", limit=2)
    topics.cancel(TOPIC, group="late")
    with actor() as acking, actor() as pruning:
        acking.begin()
        acking.do(groups.ack, held)
        assert pruning.do(gone)[0].count == 3
        acking.commit()
    assert kept() == []


@pytest.mark.postgres
@pytest.mark.parametrize("verb", ["delete", "configure"])
def test_a_seek_and_whoever_changes_the_topic_lock_in_one_order(old, verb):
    """Whoever has the group's row waits for the topic's; so nobody has the topic's and waits for the group's."""
    change = {"delete": lambda: topics.delete(TOPIC, force=True), "configure": lambda: channel(task="x")}[verb]
    with actor() as seeking, actor() as changing:
        seeking.begin()
        seeking.do(groups.stop, "email")  # it holds the group's row
        waiting = changing.start(change)
        time.sleep(0.2)
        seeking.do(groups.seek, "email", to=1)
        seeking.commit()
        waiting.result(30)


def _prune_for(seconds: float) -> int:
    stop, count = time.monotonic() + seconds, 0
    while time.monotonic() < stop:
        count += sum(each.count for each in topics.prune())
        time.sleep(0.001)
    return count


def _publish_for(seconds: float) -> int:
    stop, count = time.monotonic() + seconds, 0
    while time.monotonic() < stop:
        count += len(published(*map(str, range(random.randint(1, 5)))))
    return count


def _follow_for(seconds: float, group: str) -> list[int]:
    """Join, handle, seek back now and then, leave, join again; everything that was seen since the last start."""
    stop, seen = time.monotonic() + seconds, []
    topics.subscribe(TOPIC, group=group, mode="all")
    first = None
    while time.monotonic() < stop:
        found = groups.claim_next(group, worker=group, limit=20)
        if found is None:
            continue
        seen += [message.position for message in found.messages]
        first = seen[0] if first is None else first
        groups.ack(found)
    while found := groups.claim_next(group, worker=group):
        seen += [message.position for message in found.messages]
        groups.ack(found)
    return seen


def test_no_follower_misses_anything_from_its_first_message_on_while_everything_that_is_done_goes(proof, monkeypatch):
    """Messages are old at once. Whoever has begun gets everything behind its beginning."""
    channel(retention=timedelta(microseconds=1))
    topics.subscribe(TOPIC, group="first")
    published("a")
    seconds = 20 if proof else 3
    monkeypatch.setattr(batches, "BATCH", 7)
    tasks = [lambda: _publish_for(seconds), lambda: _prune_for(seconds), lambda: _prune_for(seconds)]
    tasks += [lambda n=n: [time.sleep(n * seconds / 8), _follow_for(seconds, f"g{n}")][1] for n in range(4)]
    tasks += [lambda: _follow_for(seconds, "first")]
    reports = together(*tasks)
    assert_overlapped(reports)
    total = reports[0].result + 1
    for report in reports[3:]:
        seen = report.result
        assert seen == sorted({*seen}), "in order of claims, each once"
        assert {*range(seen[0], seen[-1] + 1)} == {*seen}
    assert reports[-1].result[0] == 1
    assert reports[1].result + reports[2].result > total / 4, "there was something to prune"
    for group in ("first", *(f"g{number}" for number in range(4))):
        handled(group)  # what was published when it had ended
    time.sleep(0.01)
    topics.prune()
    assert kept() == []
    assert not MessageKeyPair.objects.exists()
    assert Topic.objects.get().pruned == total


@pytest.mark.postgres
def test_no_statement_of_a_prune_waits_for_whoever_publishes(old):
    with actor() as publishing, actor() as pruning:
        publishing.begin()
        publishing.do(published, "d")
        assert pruning.do(gone)[0].count == 3
        publishing.commit()
    assert kept() == [4]
