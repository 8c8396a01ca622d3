"""Consumers of topics under manage.py consume: started, killed, poisoned, silent; each group gets its messages."""

import os
import signal
import time
from datetime import timedelta

import pytest
from django.db.models import F

from ccc_django import groups, store, testing, topics
from ccc_django.models import DeadLetter, Delivery, TopicSubscription
from tests.topics.orders import TOPIC, OrderPaid, channel, published
from tests.worker.running import eventually, run, worker
from tests.worker_app.models import Effect

pytestmark = pytest.mark.django_db(transaction=True)

PROJECT = {"CCC_TEST_APP": "tests.topic_app"}
GROUPS = ("email", "stats", "payments", "by-order", "audit")
NAMED = [argument for group in GROUPS for argument in ("--group", group)]


@pytest.fixture(autouse=True)
def first_day(transactional_db) -> None:
    """A log as it was on its first day."""
    testing.clear()
    channel(namespace="shop")


def effects(group: str) -> list[int]:
    return [*Effect.objects.filter(group_name=group).order_by("position").values_list("position", flat=True)]


def consumed(*arguments: str, **more: str) -> dict:
    return run("--until-empty", *(arguments or NAMED), **PROJECT, **more)


def test_every_group_gets_what_it_has_subscribed_to_once():
    published(*map(str, range(50)))
    consumed()
    topics.publish(TOPIC, OrderPaid(order_id="1"))
    consumed("--processes", "2", *NAMED)
    assert effects("email") == effects("stats") == effects("by-order") == effects("audit") == [*range(1, 52)]
    assert effects("payments") == [51], "from the day on which it was first seen"
    assert {each.group: (each.processed, each.pending) for each in topics.health(TOPIC)}["email"] == (51, 0)


def test_an_idle_worker_is_woken_by_a_message_of_any_type_and_beats():
    with worker("--group", "email", **PROJECT):
        eventually(lambda: TopicSubscription.objects.filter(last_heartbeat_at__isnull=False).exists())
        published("a")
        eventually(lambda: effects("email") == [1])
    assert TopicSubscription.objects.get().status == "ACTIVE", "stopping a worker cancels nothing"


def test_a_dead_subscription_goes_on_when_its_worker_comes_back():
    consumed("--group", "email")
    topics.heartbeat(TOPIC, group="email")
    past = F("last_heartbeat_at") - timedelta(seconds=301)
    TopicSubscription.objects.update(last_heartbeat_at=past)
    topics.bury()
    published("a")
    with worker("--group", "email", **PROJECT):
        eventually(lambda: effects("email") == [1])


def test_a_dead_subscription_goes_on_also_with_a_worker_that_only_looks_now_and_then():
    consumed("--group", "email")
    topics.heartbeat(TOPIC, group="email")
    TopicSubscription.objects.update(last_heartbeat_at=F("last_heartbeat_at") - timedelta(seconds=301))
    topics.bury()
    published("a")
    consumed("--group", "email")
    assert effects("email") == [1]


def test_what_an_operator_has_cancelled_stays_so_when_workers_start():
    consumed("--group", "email")
    topics.cancel(TOPIC, group="email")
    published("a")
    consumed("--group", "email")
    assert (effects("email"), TopicSubscription.objects.get().status) == ([], "CANCELLED")
    topics.subscribe(TOPIC, group="email")
    consumed("--group", "email")
    assert effects("email") == [1]


@pytest.mark.parametrize("group", ["email", "by-order"])
def test_a_worker_does_not_wait_for_what_is_paused(group):
    published("a")
    consumed("--group", group, "--max-messages", "1")
    topics.pause(TOPIC, group=group)
    published("a", "b")
    assert consumed("--group", group)
    assert effects(group) == [1]
    topics.resume(TOPIC, group=group)
    consumed("--group", group)
    assert effects(group) == [1, 2, 3]


def test_a_poison_message_is_a_dead_letter_of_its_group_and_the_others_go_on():
    published("a", "poison", "b")
    consumed("--group", "email", "--group", "stats", "--group", "audit", CCC_TEST_POISON="poison")
    assert (effects("email"), effects("stats"), effects("audit")) == ([1, 3], [1, 3], [1, 2, 3])
    assert {letter.group.name: letter.attempts for letter in DeadLetter.objects.all()} == {"email": 2, "stats": 2}
    [_, poison, _] = store.stream()
    assert topics.progress(poison).is_complete


def test_killed_workers_lose_nothing_and_repeat_nothing_by_effect():
    published(*map(str, range(120)))
    slow = {"CCC_TEST_HANDLER_SECONDS": "0.01", "CCC_TEST_LEASE": "1"}
    for number in range(3):
        with worker("--group", "email", "--batch-size", "10", **PROJECT, **slow) as process:
            eventually(lambda least=10 * number: len(effects("email")) > least)
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)
    time.sleep(1.1)  # the last lease
    consumed("--group", "email", CCC_TEST_LEASE="60")
    assert len(effects("email")) == len({*effects("email")}), "what is committed is acked with it"
    assert {*effects("email")} | {*DeadLetter.objects.values_list("position", flat=True)} == {*range(1, 121)}
    assert not Delivery.objects.exists()


def test_a_long_handler_keeps_its_messages():
    published(*map(str, range(6)))
    slow = {"CCC_TEST_HANDLER_SECONDS": "0.5", "CCC_TEST_LEASE": "1"}
    consumed("--group", "email", "--processes", "2", "--batch-size", "3", **slow)
    assert effects("email") == [1, 2, 3, 4, 5, 6]
    assert not DeadLetter.objects.exists()


def test_a_signal_gives_back_what_was_not_begun():
    published(*map(str, range(20)))
    with worker("--group", "email", **PROJECT, CCC_TEST_HANDLER_SECONDS="0.2") as process:
        eventually(lambda: effects("email"))
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    assert 0 < len(effects("email")) < 20
    assert not Delivery.objects.exclude(claimed_by="").exists(), "nobody has to wait for a lease"
    assert groups.status("email").pending == 20 - len(effects("email"))
