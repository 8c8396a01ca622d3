"""Topics with real connections and processes: subscribing against publishing, sweeps, removals, kills, who waits."""

import json
import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from itertools import combinations
from pathlib import Path

import pytest
from django.db import connection, connections, transaction
from django.db.models import F

from ccc_django import Retry, groups, maintenance, testing, topics
from ccc_django.errors import CCCError, ClaimLost
from ccc_django.models import Delivery, GroupTopic, StoredMessage, TopicSubscription
from tests.concurrency.acting import actor
from tests.concurrency.processes import assert_overlapped, fork, in_background, together
from tests.topics.orders import TOPIC, OrderCreated, channel, claim, handled, ids, published

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def first_day(transactional_db) -> None:
    """A log as it was on its first day."""
    testing.clear()


ORDERS = [*combinations(range(4), 2)]  # which of four moments are the publisher's


@pytest.mark.postgres  # SQLite has one writer at a time: nothing lies between
@pytest.mark.parametrize("moments", ORDERS, ids=str)
def test_whoever_subscribes_while_somebody_publishes_misses_nothing(moments):
    """Publishing and committing, subscribing and committing: in every order."""
    channel()
    with actor() as publisher, actor() as subscriber:
        publisher.begin()
        subscriber.begin()
        steps = {
            "publish": [lambda: publisher.do(published, "a"), publisher.commit],
            "subscribe": [lambda: subscriber.do(topics.subscribe, TOPIC, group="g", mode="new"), subscriber.commit],
        }
        for moment in range(4):
            steps["publish" if moment in moments else "subscribe"].pop(0)()
    was_final = moments == (0, 1)
    assert handled("g") == ([] if was_final else ["a"])
    published("b")
    assert handled("g") == ["b"]


@pytest.mark.postgres
def test_behind_a_slower_append_a_message_that_was_committed_may_be_delivered_and_none_is_lost():
    channel()
    with actor() as slow:
        slow.begin()
        slow.do(published, "slow")
        published("fast")
        topics.subscribe(TOPIC, group="g", mode="new")
        slow.commit()
    assert handled("g") == ["slow", "fast"]


def test_two_first_subscribers_at_once_agree():
    channel()
    published("a")
    reports = together(*(lambda n=n: _subscribe(n) for n in range(6)))
    assert_overlapped(reports)
    assert len({report.result for report in reports}) == 1, "the first mode has won"
    assert TopicSubscription.objects.count() == 1
    assert GroupTopic.objects.count() == 1


def _subscribe(number: int) -> tuple:
    record = topics.subscribe(TOPIC, group="g", mode=["all", "new"][number % 2])
    time.sleep(0.2)  # so that all of them are there
    return record.pk, record.mode, record.start_position


@pytest.mark.postgres
@pytest.mark.parametrize("first", ["configure", "subscribe"])
def test_a_topic_that_comes_into_a_namespace_while_somebody_subscribes_to_it_is_covered(first):
    """Neither sees what the other has not committed: so the second waits."""
    tasks = {
        "configure": lambda: channel("q", namespace="ns"),
        "subscribe": lambda: topics.subscribe(namespace="ns", group="g"),
    }
    with actor() as one, actor() as other:
        one.begin()
        one.do(tasks.pop(first))
        [second] = tasks.values()
        waiting = other.start(second)
        time.sleep(0.2)
        assert not waiting.done()
        one.commit()
        waiting.result(30)
    assert [place.topic for place in GroupTopic.objects.all()] == ["q"]


def test_two_sweeps_at_once_bury_each_subscription_once():
    channel()
    for number in range(20):
        topics.subscribe(TOPIC, group=f"g{number}")
    topics.beat([f"g{number}" for number in range(20)])
    past = F("last_heartbeat_at") - timedelta(seconds=301)
    TopicSubscription.objects.filter(group_name__lt="g5").update(last_heartbeat_at=past)
    silent = TopicSubscription.objects.filter(group_name__lt="g5").count()
    reports = together(*(lambda: [topics.bury(), time.sleep(0.1)][0] for _ in range(4)))
    assert_overlapped(reports)
    buried = [name for report in reports for name in report.result]
    assert len(buried) == len({*buried}) == silent
    assert TopicSubscription.objects.filter(status="ACTIVE").count() == 20 - silent


@pytest.mark.postgres
def test_a_heartbeat_that_is_just_committed_is_not_buried():
    channel()
    topics.subscribe(TOPIC, group="g")
    topics.beat(["g"])
    TopicSubscription.objects.update(last_heartbeat_at=F("last_heartbeat_at") - timedelta(seconds=301))
    with actor() as beating, actor() as sweeping:
        beating.begin()
        beating.do(topics.heartbeat, TOPIC, group="g")
        assert sweeping.do(topics.bury) == [], "who is at the record is not waited for"
        beating.commit()
        assert sweeping.do(topics.bury) == []
    assert TopicSubscription.objects.get().status == "ACTIVE"


@pytest.mark.postgres
@pytest.mark.parametrize("end", ["remove", "seek", "stop", "delete"])
def test_a_claim_that_nobody_can_see_yet_is_lost_when_its_group_is_removed(end):
    channel()
    topics.subscribe(TOPIC, group="g")
    published("a", "b")
    groups.release(claim("g"))
    verbs = {
        "remove": lambda: topics.remove_group(TOPIC, "g"),
        "seek": lambda: groups.seek("g", to=1),
        "stop": lambda: groups.stop("g"),
        "delete": lambda: groups.delete("g"),
    }
    with actor() as worker, actor() as operator:
        worker.begin()
        claimed = worker.do(claim, "g", limit=1)
        ending = operator.start(verbs[end])
        time.sleep(0.1)
        worker.commit()
        ending.result(30)
        with pytest.raises(ClaimLost):
            worker.do(groups.ack, claimed)
    if end == "stop":
        groups.start("g")
    if end in {"seek", "stop"}:
        assert handled("g") == ["a", "b"]
    else:
        assert not Delivery.objects.exists()


@pytest.mark.postgres
def test_an_ack_that_is_under_way_when_its_group_is_removed_comes_first_or_is_lost():
    channel()
    topics.subscribe(TOPIC, group="g")
    published("a")
    claimed = claim("g")
    with actor() as worker, actor() as operator:
        worker.begin()
        worker.do(groups.ack, claimed)
        removal = operator.start(topics.remove_group, TOPIC, "g")
        time.sleep(0.1)
        worker.commit()
        removal.result(30)
    assert not Delivery.objects.exists()
    assert not GroupTopic.objects.exists()


@pytest.mark.postgres
def test_who_makes_deliveries_while_a_seek_runs_makes_none_twice_and_loses_none():
    channel()
    topics.subscribe(TOPIC, group="g")
    published("a", "b")
    handled("g")
    published("c")
    with actor() as operator, actor() as worker:
        operator.begin()
        operator.do(groups.seek, "g", to=1)
        assert worker.do(claim, "g") is None, "somebody else is at the group, and nobody is waited for"
        operator.commit()
        assert ids(worker.do(claim, "g")) == ["a", "b", "c"]


@pytest.mark.postgres
@pytest.mark.parametrize("verb", ["seek", "stop", "remove"])
def test_an_ack_and_whoever_moves_its_group_lock_in_one_order(verb):
    """A renewal changes the order of rows in the table; a third one holds both up, so that they meet."""
    channel()
    topics.subscribe(TOPIC, group="g")
    published("a", "b")
    claimed = claim("g")
    groups.renew(claimed.of(claimed.messages[:1]))
    verbs = {
        "seek": lambda: groups.seek("g", to="end"),
        "stop": lambda: groups.stop("g"),
        "remove": lambda: topics.remove_group(TOPIC, "g"),
    }
    with actor() as third, actor() as worker, actor() as operator:
        third.begin()
        third.do(lambda: list(Delivery.objects.select_for_update().filter(position=1)))
        acking = worker.start(groups.ack, claimed)
        time.sleep(0.2)
        moving = operator.start(verbs[verb])
        time.sleep(0.2)
        third.commit()
        with suppress(ClaimLost):
            acking.result(30)
        moving.result(30)


@pytest.mark.postgres
def test_heartbeats_and_burials_lock_in_one_order():
    channel()
    for group in ("a", "b"):
        topics.subscribe(TOPIC, group=group)
    topics.beat(["a", "b"])
    for group in ("b", "a"):
        past = F("last_heartbeat_at") - timedelta(seconds=301)
        TopicSubscription.objects.filter(group_name=group).update(last_heartbeat_at=past)
    with actor() as third, actor() as worker, actor() as sweeping:
        third.begin()
        third.do(lambda: list(TopicSubscription.objects.select_for_update().filter(group_name="a")))
        beating = worker.start(topics.beat, ["a", "b"])
        time.sleep(0.2)
        burying = sweeping.start(topics.bury)
        time.sleep(0.2)
        third.commit()
        beating.result(30)
        burying.result(30)


def work(folder: Path, group: str, worker: str, stop: float) -> None:
    """Claim some, write down what is to be acked, and whether it was."""
    dice = random.Random(worker)
    with (folder / f"{group} {worker}").open("a") as lines:
        while time.time() < stop:
            with suppress(CCCError):
                claimed = groups.claim_next(group, worker=worker, limit=5, lease=timedelta(seconds=0.5))
                if claimed is None:
                    time.sleep(0.01)
                    continue
                some = dice.sample(claimed.messages, dice.randint(1, len(claimed.messages)))
                print(json.dumps([message.position for message in some]), file=lines, flush=True)
                try:
                    groups.ack(claimed, messages=some)
                    print("acked", file=lines, flush=True)
                except ClaimLost:
                    print("lost", file=lines, flush=True)


def killed_workers(folder: Path, group: str, number: int, seconds: float) -> int:
    connections.close_all()
    dice, stop, count = random.Random(number), time.time() + seconds, 0
    while time.time() < stop:
        worker = f"w-{number}-{count}"
        process = fork.Process(target=work, args=(folder, group, worker, stop))
        process.start()
        process.join(dice.uniform(0.3, 1.0))
        if process.is_alive():
            os.kill(process.pid, signal.SIGKILL)
        process.join()
        count += 1
    return count


def publish_for(seconds: float, number: int) -> int:
    dice, stop, count = random.Random(number), time.time() + seconds, 0
    while time.time() < stop:
        with transaction.atomic():
            count += len(published(*dice.choices("abc", k=dice.randint(1, 3))))
            time.sleep(dice.choice([0, 0, 0.01]))
        time.sleep(0.005)
    return count


def sweep_for(seconds: float) -> int:
    stop, count = time.time() + seconds, 0
    while time.time() < stop:
        maintenance.sweep()
        topics.bury()
        count += 1
        time.sleep(0.02)
    return count


def trouble_for(seconds: float, number: int) -> int:
    """Pause, cancel, let die, revive and remove groups, in any order."""
    dice, stop, count = random.Random(number), time.time() + seconds, 0
    while time.time() < stop:
        group = dice.choice(GROUPS)
        with suppress(CCCError):
            TROUBLES[dice.randrange(len(TROUBLES))](group)
        count += 1
        time.sleep(0.05)
    return count


GROUPS = ("one", "two", "three")


def subscribe(group: str) -> None:
    topics.subscribe(TOPIC, group=group, mode="new", retry=Retry(max_attempts=None, first_pause=timedelta(0)))


def let_die(group: str) -> None:
    topics.heartbeat(TOPIC, group=group)
    past = F("last_heartbeat_at") - timedelta(seconds=301)
    TopicSubscription.objects.filter(group_name=group).update(last_heartbeat_at=past)
    topics.bury()


def remove(group: str) -> None:
    topics.remove_group(TOPIC, group)
    subscribe(group)


TROUBLES = [
    lambda group: topics.pause(TOPIC, group=group),
    lambda group: topics.cancel(TOPIC, group=group),
    lambda group: topics.resume(TOPIC, group=group),
    lambda group: topics.resume(TOPIC, group=group),
    let_die,
    lambda group: topics.heartbeat(TOPIC, group=group),
    subscribe,
    remove,
]


def test_no_live_group_misses_a_message_while_groups_die_and_come_back_and_workers_are_killed(tmp_path, proof):
    channel()
    for group in GROUPS:
        subscribe(group)
    seconds = 30 if proof else 4
    workers = [lambda n=n: killed_workers(tmp_path, GROUPS[n], n, seconds) for n in range(len(GROUPS))]
    publishers = [lambda n=n: publish_for(seconds, n) for n in range(2)]
    sweeps = [lambda: sweep_for(seconds)] * 2
    reports = together(*workers, *publishers, *sweeps, lambda: trouble_for(seconds, 7))
    assert_overlapped(reports)
    assert all(report.result for report in reports), "everybody did something"
    everything = {*StoredMessage.objects.values_list("position", flat=True)}
    for group in GROUPS:
        topics.subscribe(TOPIC, group=group)
        topics.resume(TOPIC, group=group)
        groups.stop(group)  # what the killed have in hand is given back
        groups.start(group)
        groups.retry(group)
        done = {position for file in tmp_path.glob(f"{group} *") for position in _acked(file)}
        while claimed := claim(group):
            done |= {message.position for message in claimed.messages}
            groups.ack(claimed)
        start = TopicSubscription.objects.get(group_name=group).start_position
        assert {position for position in everything if position >= start} <= done, group
        assert groups.is_empty(group)
    assert not Delivery.objects.exists()


def _acked(file: Path) -> Iterator[int]:
    """Positions that were acked, and those of whoever was killed before it could say so."""
    lines = file.read_text().splitlines()
    for number, line in enumerate(lines):
        is_answered = number + 1 < len(lines) and lines[number + 1] in {"acked", "lost"}
        if line.startswith("[") and line.endswith("]") and not (is_answered and lines[number + 1] == "lost"):
            yield from json.loads(line)


@pytest.mark.postgres
def test_ten_groups_with_two_workers_each_wait_for_nobody(proof):
    channel()
    names = [f"g{number}" for number in range(10)]
    for name in names:
        topics.subscribe(TOPIC, group=name)
    published(*map(str, range(300)))
    seconds = 10.0 if proof else 3.0
    with in_background(publish_for, seconds, 1):
        tasks = [lambda n=name, w=w: _consume_for(seconds, n, f"w{w}") for name in names for w in range(2)]
        *reports, waits = together(*tasks, lambda: _lock_waits(seconds))
    assert_overlapped(reports)
    assert all(sum(r.result for r in reports[2 * n : 2 * n + 2]) >= 300 for n in range(10)), "each got everything"
    assert waits.result == [], "no group waited for another"


def _consume_for(seconds: float, group: str, worker: str) -> int:
    stop, count, held = time.time() + seconds, 0, None
    with connection.cursor() as cursor:
        cursor.execute(f"SET application_name = '{group}'")
    while time.time() < stop or held is not None:
        claimed = claim(group, worker=worker, limit=10, ack=held)
        count += 0 if held is None else len(held.messages)
        held = claimed
        if claimed is None:
            time.sleep(0.005)
    return count


def _lock_waits(seconds: float) -> list[tuple]:
    """Whoever was seen to wait for somebody of another group; growing a file is nobody's."""
    stop, seen = time.time() + seconds, []
    with connection.cursor() as cursor:
        while time.time() < stop:
            cursor.execute(
                """SELECT waiting.application_name, blocking.application_name, waiting.wait_event, waiting.query
                FROM pg_stat_activity AS waiting
                CROSS JOIN LATERAL unnest(pg_blocking_pids(waiting.pid)) AS blocked(by)
                JOIN pg_stat_activity AS blocking ON blocking.pid = blocked.by
                WHERE waiting.wait_event_type = 'Lock' AND waiting.wait_event <> 'extend'
                  AND waiting.datname = current_database() AND waiting.application_name <> blocking.application_name"""
            )
            seen += cursor.fetchall()
            time.sleep(0.005)
    return seen


def test_messages_of_a_shared_group_are_in_one_hand_at_a_time():
    channel()
    topics.subscribe(TOPIC, group="g", handles=[OrderCreated])
    published(*map(str, range(200)))
    reports = together(*(lambda n=n: _take_all(f"w{n}") for n in range(4)))
    assert_overlapped(reports)
    taken = [position for report in reports for position in report.result]
    assert sorted(taken) == list(range(1, 201))


def _take_all(worker: str) -> list[int]:
    taken, tries = [], 0
    while tries < 20:
        claimed = claim("g", worker=worker, limit=7)
        if claimed is None:
            tries += 1
            time.sleep(0.02)
            continue
        taken += [message.position for message in claimed.messages]
        groups.ack(claimed)
        time.sleep(0.002)
    return taken
