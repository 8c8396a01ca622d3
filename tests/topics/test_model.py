"""Shared and ordered groups of one topic against a model: whatever happens, no live group misses a message."""

from datetime import timedelta

import pytest
from django.db.models import F
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from ccc_django import Retry, dead_letters, groups, maintenance, testing, topics
from ccc_django.errors import ClaimLost
from ccc_django.models import DeadLetter, Delivery, StoredMessage, TopicSubscription
from tests.topics.orders import TOPIC, OrderCreated, channel, published

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = ("email", "stats", "stock")
ORDERED = {"stock": {"partition_by": "order_id", "handles": [OrderCreated]}}
ORDERS = ("a", "b", "c")
RETRY = Retry(max_attempts=2, first_pause=timedelta(0))
groups_ = st.sampled_from(NAMES)


class Topics(RuleBasedStateMachine):
    """What was published, what each group has promised to get, and what it has done since it subscribed."""

    @initialize()
    def first_day(self) -> None:
        testing.clear()
        channel()
        self.starts: dict[str, int] = {}
        self.status: dict[str, str] = {}
        self.done: dict[str, list[int]] = {}
        self.claims: list = []

    @rule(orders=st.lists(st.sampled_from(ORDERS), min_size=1, max_size=4))
    def publish(self, orders):
        published(*orders)

    @rule(group=groups_, mode=st.sampled_from(["all", "new"]))
    def subscribe(self, group, mode):
        last = StoredMessage.objects.count()
        record = topics.subscribe(
            TOPIC,
            group=group,
            mode=mode,
            retry=Retry(max_attempts=2, first_pause=timedelta(0)),
            **ORDERED.get(group, {}),
        )
        if group not in self.starts:
            self.starts[group] = 1 if mode == "all" else last + 1
            self.done[group] = []
            self.status[group] = "ACTIVE"
        elif self.status[group] != "PAUSED":
            self.status[group] = "ACTIVE"
        assert record.start_position == self.starts[group]

    @rule(group=groups_, verb=st.sampled_from(["pause", "resume", "cancel"]))
    def steer(self, group, verb):
        if group not in self.starts or (verb == "pause" and self.status[group] == "CANCELLED"):
            return
        getattr(topics, verb)(TOPIC, group=group)
        self.status[group] = {"pause": "PAUSED", "resume": "ACTIVE", "cancel": "CANCELLED"}[verb]

    @rule(group=groups_)
    def beat(self, group):
        topics.beat([group])
        if self.status.get(group) == "DEAD":
            self.status[group] = "ACTIVE"

    @rule(group=groups_)
    def die(self, group):
        topics.beat([group])
        past = F("last_heartbeat_at") - timedelta(seconds=301)
        TopicSubscription.objects.filter(group_name=group).update(last_heartbeat_at=past)
        maintenance.sweep()
        topics.bury()
        if self.status.get(group) in {"ACTIVE", "DEAD"}:
            self.status[group] = "DEAD"

    @rule(group=groups_)
    def remove(self, group):
        if group in self.starts:
            topics.remove_group(TOPIC, group)
            groups.delete(group)
            del self.starts[group], self.done[group], self.status[group]

    @rule(group=groups_, limit=st.integers(1, 3), is_killed=st.booleans())
    def claim(self, group, limit, is_killed):
        if group not in self.starts:
            return
        lease = timedelta(seconds=-1 if is_killed else 60)
        claimed = groups.claim_next(group, worker="w", limit=limit, lease=lease)
        if claimed is None:
            return
        assert self.status[group] == "ACTIVE"
        for message in claimed.messages:
            assert message.position >= self.starts[group], "nothing from before its start"
            assert message.position not in self.done[group], "nothing that it has acked"
        self.claims.append((claimed, self.done[group]))

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), how=st.sampled_from(["ack", "release", "fail"]))
    def settle(self, data, how):
        claimed, done = self.claims.pop(data.draw(st.integers(0, len(self.claims) - 1)))
        messages = claimed.messages
        options = {}
        if claimed.group not in ORDERED and data.draw(st.booleans()):
            messages = data.draw(st.lists(st.sampled_from(messages), unique=True, min_size=1))
            options = {"messages": messages}
        try:
            if how == "ack":
                groups.ack(claimed, **options)
                done += [message.position for message in messages]
            else:
                groups.release(claimed, **options, error=ValueError("x") if how == "fail" else None)
        except ClaimLost:
            pass

    @rule()
    def replay(self):
        dead_letters.replay(DeadLetter.objects.open())

    @invariant()
    def progress_agrees(self):
        for message in StoredMessage.objects.order_by("-position")[:2].messages():
            seen = topics.progress(message)
            live = {name for name, status in self.status.items() if status in {"ACTIVE", "PAUSED"}}
            assert {*seen.required} == {name for name in live if self.starts[name] <= message.position}
            letters = {*DeadLetter.objects.filter(position=message.position).values_list("group__name", flat=True)}
            for name in {*seen.required} - {*seen.missing}:
                assert message.position in self.done[name] or name in letters

    def teardown(self) -> None:
        if not hasattr(self, "starts"):
            return
        last = StoredMessage.objects.count()
        for group in self.starts:
            topics.resume(TOPIC, group=group)
            groups.stop(group)  # whatever is in hand is lost
            groups.start(group)
            groups.retry(group)
            while claimed := groups.claim_next(group, worker="end"):
                groups.ack(claimed)
                self.done[group] += [message.position for message in claimed.messages]
            given_up = {*DeadLetter.objects.of_group(group).open().values_list("position", flat=True)}
            assert {*self.done[group]} | given_up == {*range(self.starts[group], last + 1)}, group
            assert len(self.done[group]) == len({*self.done[group]}), "each once"
        assert not Delivery.objects.exists()


def test_no_live_group_misses_a_message_whatever_happens(proof):
    run_state_machine_as_test(Topics, settings=settings(max_examples=400 if proof else 25, stateful_step_count=40))
