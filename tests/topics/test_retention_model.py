"""Retention against a model: nothing that a live group needs is ever gone, and everything finished and old is."""

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

from ccc_django import Event, Retry, dead_letters, groups, maintenance, sessions, testing, topics
from ccc_django.errors import ClaimLost
from ccc_django.models import DeadLetter, GroupTopic, MessageKeyPair, StoredMessage, TopicSubscription
from ccc_django.topics import batches
from tests.retaining import age
from tests.topics.orders import TOPIC, channel

pytestmark = pytest.mark.django_db(transaction=True)

COURSES, USERS = ("x", "y"), ("joe", "ann")
RETRY = Retry(max_attempts=1, first_pause=timedelta(0))
COMPOSITE = ["course", "user"]


class Joined(Event, type="retention_model.joined"):
    course: str
    user: str


class Moved(Event, type="retention_model.moved"):
    course: str


class Known(Event, type="retention_model.known"):
    course: str


KINDS = {
    "shared": {},
    "ordered": {"partition_by": "course", "handles": [Joined, Moved, Known]},
    "composite": {"partition_by": COMPOSITE, "handles": [Joined, Moved]},
}
ALIVE = {"ACTIVE", "PAUSED"}
names = st.sampled_from([*KINDS])
messages = st.one_of(
    st.builds(Joined, course=st.sampled_from(COURSES), user=st.sampled_from(USERS)),
    st.builds(Moved, course=st.sampled_from(COURSES)),
    st.builds(Known, course=st.sampled_from(COURSES)),
)


class Retention(RuleBasedStateMachine):
    """What was published, who has subscribed from where, and which positions each group has done, by partition."""

    @initialize()
    def first_day(self) -> None:
        testing.clear()
        channel(retention=timedelta(days=1))
        groups.register("decider", partition_by="course", handled_types=["none"], evolved_types=[Known])
        self.log: dict[int, object] = {}
        self.old: set[int] = set()
        self.starts: dict[str, int] = {}
        self.status: dict[str, str] = {}
        self.done: dict[str, set] = {}
        self.lost: dict[str, set[int]] = {}
        self.claims: list = []
        self.session = None
        self.committed = 0
        self.let_go: set[int] = set()  # while the session did not hold
        for group in KINDS:
            self.subscribe(group, "all")

    # what happens

    @rule(batch=st.lists(messages, min_size=1, max_size=4))
    def publish(self, batch):
        for message in topics.publish(TOPIC, batch):
            self.log[message.position] = message

    @rule()
    def grow_old(self):
        age(days=2)
        self.old = {*self.log}

    @rule(group=names, mode=st.sampled_from(["all", "new"]))
    def subscribe(self, group, mode):
        last = max(self.log, default=0)
        topics.subscribe(TOPIC, group=group, mode=mode, retry=RETRY, **KINDS[group])
        if group not in self.starts:
            self.starts[group] = 1 if mode == "all" else last + 1
            self.done[group], self.status[group] = set(), "ACTIVE"
            self.lost[group] = {*self.log} - {*kept()}  # it was gone before it came
        elif self.status[group] != "PAUSED":
            self.status[group] = "ACTIVE"

    @rule(group=names, verb=st.sampled_from(["pause", "resume", "cancel", "die", "fade", "beat"]))
    def steer(self, group, verb):
        if group not in self.starts or (verb == "pause" and self.status[group] == "CANCELLED"):
            return
        if verb in {"pause", "resume", "cancel"}:
            getattr(topics, verb)(TOPIC, group=group)
            self.status[group] = {"pause": "PAUSED", "resume": "ACTIVE", "cancel": "CANCELLED"}[verb]
        elif verb == "beat":
            topics.beat([group])
            self.status[group] = "ACTIVE" if self.status[group] in {"DEAD", "GONE"} else self.status[group]
        else:
            self._silence(group, is_long=verb == "fade")

    def _silence(self, group, *, is_long):
        if self.status[group] == "ACTIVE":
            topics.beat([group])
            record = TopicSubscription.objects.filter(group_name=group)
            record.update(last_heartbeat_at=F("last_heartbeat_at") - timedelta(seconds=301))
            topics.bury()
            self.status[group] = "DEAD"
        if self.status[group] == "DEAD" and is_long:
            TopicSubscription.objects.filter(group_name=group).update(died_at=F("died_at") - timedelta(days=8))
            self.status[group] = "GONE"

    @rule(group=names)
    def remove(self, group):
        if group in self.starts:
            topics.remove_group(TOPIC, group)
            groups.delete(group)
            for known in (self.starts, self.done, self.status, self.lost):
                del known[group]

    @rule(group=names, limit=st.integers(1, 3), is_killed=st.booleans())
    def claim(self, group, limit, is_killed):
        if group in self.starts:
            lease = timedelta(seconds=-1 if is_killed else 60)
            if claimed := groups.claim_next(group, worker="w", limit=limit, lease=lease):
                self.claims.append((claimed, self.done[group]))

    @rule(group=names)
    def do_everything(self, group):
        while group in self.starts and (claimed := groups.claim_next(group, worker="w")):
            groups.ack(claimed)
            self.done[group] |= {(claimed.partition_key, message.position) for message in claimed.messages}

    @rule()
    def a_quiet_day(self):
        """Everybody is done, and everything is old: what is left is left for a reason."""
        for group in KINDS:
            self.do_everything(group)
        self.grow_old()

    @precondition(lambda self: self.claims)
    @rule(data=st.data(), how=st.sampled_from(["ack", "ack", "release", "fail"]))
    def settle(self, data, how):
        claimed, done = self.claims.pop(data.draw(st.integers(0, len(self.claims) - 1)))
        try:
            if how == "ack":
                groups.ack(claimed)
                done |= {(claimed.partition_key, message.position) for message in claimed.messages}
            else:
                groups.release(claimed, error=ValueError("x") if how == "fail" else None)
        except ClaimLost:
            pass

    @rule(group=names, back=st.integers(0, 3))
    def seek(self, group, back):
        if group in self.starts:
            first = max(max(self.log, default=0) + 1 - back, 1)
            groups.seek(group, to=first)
            self.starts[group], self.done[group] = first, set()
            self.lost[group] = {*self.log} - {*kept()}
            self.claims = [each for each in self.claims if each[0].group != group]

    @rule(verb=st.sampled_from([dead_letters.replay, dead_letters.discard]))
    def decide_on_letters(self, verb):
        verb(DeadLetter.objects.all() if verb is dead_letters.replay else DeadLetter.objects.open())

    @rule(hold=st.booleans(), limit=st.integers(1, 3))
    def read_by_session(self, hold, limit):
        with sessions.open(TOPIC, consumer_id="me", commit="manual", hold=hold) as session:
            found = [record.offset for record in session.poll_many(limit)]
            if self.session:
                passed = {*range(self.committed + 1, found[0])} if found else set()
                assert not passed & {*self.log} - self.let_go, "nothing that it holds is gone"
            if found:
                session.commit()
                self.committed = found[-1]
        self.session = hold

    @rule(how=st.sampled_from(["prune", "sweep"]))
    def prune(self, how):
        while groups.advance("decider"):
            pass
        before = {*kept()}
        foreseen = topics.prune(dry_run=True)
        needed = {position for position in before if self._is_needed(position)}
        if how == "prune":
            assert topics.prune() == foreseen
        else:
            maintenance.sweep()
        gone = before - {*kept()}
        assert not gone & needed, "what somebody needs is there"
        assert gone <= self.old
        if how == "prune":
            assert gone == {position for position in before if self._may_go(position)}, "what nobody needs is gone"
        self.let_go |= set() if self.session else gone
        for group, status in self.status.items():
            if status not in {*ALIVE, "DEAD"}:
                self.lost[group] |= gone

    # what must be

    def _holders(self):
        return [group for group, status in self.status.items() if status in {*ALIVE, "DEAD"}]

    def _is_needed(self, position) -> bool:
        """By its meaning: somebody will still get it, it is kept as a letter, or it is history."""
        message = self.log[position]
        if isinstance(message, Known) or self._is_letter(position):
            return True
        if self.session and position > self.committed:
            return True
        return any(self._will_get(group, message) for group in self._holders())

    def _will_get(self, group, message) -> bool:
        if message.position < self.starts[group] or (group == "composite" and isinstance(message, Known)):
            return False
        if group == "composite" and isinstance(message, Moved):
            return True
        key = "" if group == "shared" else _partition(group, message)
        is_letter = DeadLetter.objects.filter(group__name=group, position=message.position).exists()
        return (key, message.position) not in self.done[group] and not is_letter

    def _is_letter(self, position) -> bool:
        return DeadLetter.objects.filter(position=position, status__in=["open", "replaying", "coming"]).exists()

    def _may_go(self, position) -> bool:
        """By the rule: old, below every holder's low watermark, and not kept for a reason."""
        message = self.log[position]
        if position not in self.old or isinstance(message, Known) or self._is_letter(position) or not self.starts:
            return position in self.old and self._without_subscribers(message)
        if isinstance(message, Moved) and "composite" in self._holders():
            return False
        if self.session and position > self.committed:
            return False
        lows = [_low(group) for group in self._holders()]
        return all(position <= low for low in lows)

    def _without_subscribers(self, message) -> bool:
        """A session alone is a subscriber, too."""
        if self.starts or self.session is None or isinstance(message, Known) or self._is_letter(message.position):
            return False
        return not self.session or message.position <= self.committed

    @invariant()
    def entries_belong_to_messages(self):
        if hasattr(self, "log"):
            assert {*MessageKeyPair.objects.values_list("position", flat=True)} == {*kept()}

    @invariant()
    def whoever_has_lost_something_knows(self):
        for place in GroupTopic.objects.filter(lost_to__isnull=False).select_related("group"):
            assert self.lost.get(place.group.name) or place.group.is_session

    def teardown(self) -> None:
        if not hasattr(self, "starts"):
            return
        for group in self.starts:
            topics.resume(TOPIC, group=group)
            groups.stop(group)
            groups.start(group)
            groups.retry(group)
            while claimed := groups.claim_next(group, worker="end"):
                groups.ack(claimed)
                self.done[group] |= {(claimed.partition_key, message.position) for message in claimed.messages}
            done = {position for _, position in self.done[group]}
            given_up = {*DeadLetter.objects.of_group(group).values_list("position", flat=True)}
            there = {position: message for position, message in self.log.items() if position not in self.lost[group]}
            wanted = {
                position
                for position, message in there.items()
                if position >= self.starts[group] and _has_partition(group, message, there.values())
            }
            assert wanted <= done | given_up, group


def kept() -> list[int]:
    return [*StoredMessage.objects.order_by("position").values_list("position", flat=True)]


def _partition(group, message) -> str:
    names = ["course"] if group == "ordered" else COMPOSITE
    return "{" + ",".join(f'"{name}":"{getattr(message, name)}"' for name in names) + "}"


def _has_partition(group, message, log) -> bool:
    if group != "composite" or isinstance(message, Joined):
        return True
    courses = {each.course for each in log if isinstance(each, Joined)}
    return isinstance(message, Moved) and message.course in courses


def _low(group) -> int:
    """The low watermark as an operator sees it, and for a shared group its own place in the topic."""
    place = GroupTopic.objects.select_related("group").get(group__name=group, topic=TOPIC)
    if group == "shared":
        first = place.deliveries.order_by("position").values_list("position", flat=True).first()
        return place.watermark if first is None else min(place.watermark, first - 1)
    first = place.group.offsets.filter(next_position__isnull=False).order_by("next_position").first()
    return place.group.watermark if first is None else min(place.group.watermark, first.next_position - 1)


def test_nothing_that_a_live_group_needs_is_ever_gone_and_everything_finished_and_old_is(proof, monkeypatch):
    monkeypatch.setattr(batches, "BATCH", 3)
    run_state_machine_as_test(Retention, settings=settings(max_examples=400 if proof else 25, stateful_step_count=40))
