"""Groups against a model: whatever several workers do, each partition gets its messages in order, and none is lost.

Hypothesis makes up the life of a group, step by step. A small model in plain Python says what every claim must contain.
"""

import sys
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import product
from math import inf
from typing import Annotated, NamedTuple

import pytest
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from ccc_django import Event, Indexed, Retry, groups, registry, store, testing
from ccc_django.claims import Claim
from ccc_django.conf import conf
from ccc_django.errors import ClaimLost
from ccc_django.groups import advancing, looking, marking
from ccc_django.models import Offset
from tests.domain import CourseClosed, CourseCreated, JoinCourse, TermStarted, UserJoinedCourse, UserRegistered

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = ["course_name", "user_id"]
COURSES, USERS, WORKERS = ["Algebra", "History"], ["ann", "jake", "joe"], ["w-1", "w-2", "w-3"]
HANDLED = [CourseCreated, CourseClosed, UserRegistered, UserJoinedCourse]
AT_ONCE = Retry(max_attempts=None, first_pause=timedelta(0), longest_pause=timedelta(0))
SIZES = [(3, 2), (2_000, 10_000)]  # messages that an advance reads, and offsets that it marks, in one transaction
ENDINGS = ["ack", "ack a part", "go on", "release", "fail", "expire", "renew", "ack and claim"]

Key = tuple[str, str]

keys = st.tuples(st.sampled_from(COURSES), st.sampled_from(USERS))
lists = st.tuples(st.lists(st.sampled_from(COURSES), max_size=2), st.lists(st.sampled_from(USERS), max_size=2))
drafts = st.tuples(st.sampled_from([*HANDLED, JoinCourse, TermStarted]), keys) | st.tuples(st.none(), lists)
picks = st.integers(0, 30)
turns = st.tuples(st.sampled_from(WORKERS), st.none() | st.sampled_from(ENDINGS), picks, st.booleans())


def few(things, least=1, most=3):
    return st.lists(things, min_size=least, max_size=most)


class Entry(NamedTuple):
    """A message of the log, with the courses and the users that it carries."""

    message: Event
    carried: tuple[set[str], ...]

    def belongs(self, key: Key) -> bool:
        """Conditional AND in plain Python: it carries something, and everything that it carries agrees."""
        agreeing = [value in values for value, values in zip(key, self.carried, strict=True) if values]
        return bool(agreeing) and all(agreeing)


@dataclass
class Partition:
    """How far a partition is, up to where it was ever acked, and who holds it."""

    place: int
    acked: int = 0
    claim: Claim | None = None
    attempts: int = 0
    is_expired: bool = False
    is_paused: bool = False

    def free(self, *, place: int | None = None, attempts: int = 0, is_paused: bool = False) -> None:
        self.place = self.place if place is None else place
        self.claim, self.is_expired, self.attempts, self.is_paused = None, False, attempts, is_paused

    def ack(self, position: int) -> None:
        self.free(place=position)
        self.acked = max(self.acked, position)


@dataclass
class Model:
    """What has been appended, and where every partition stands."""

    handled: set[str]
    log: list[Entry] = field(default_factory=list)
    begin: int = 0
    is_active: bool = True
    made: set[Key] = field(default_factory=set)
    partitions: dict[Key, Partition] = field(default_factory=dict)

    def known(self) -> set[Key]:
        """Partitions that some message of any type names in full, and those that a seek has made."""
        return self.made.union(*(product(*entry.carried) for entry in self.log))

    def at(self, key: Key) -> Partition:
        return self.partitions.setdefault(key, Partition(self.begin))

    def open(self, key: Key) -> list[Event]:
        """What a partition has still to get."""
        concerned = [entry.message for entry in self.log if entry.message.type in self.handled and entry.belongs(key)]
        return [message for message in concerned if message.position > self.at(key).place]

    def batch(self, key: Key, limit: int) -> list[Event]:
        """What a claim contains; what is replayed is not mixed with the rest, and what has failed comes alone."""
        replayed = [message for message in self.open(key) if message.position <= self.at(key).acked]
        return (replayed or self.open(key))[: 1 if self.at(key).attempts else limit]

    def ready(self) -> set[Key]:
        """What can be claimed now."""
        free = [key for key in self.known() if self.at(key).claim is None or self.at(key).is_expired]
        return {key for key in free if self.is_active and self.open(key)}

    def held(self, worker: str | None = None) -> list[Partition]:
        held = [partition for partition in self.partitions.values() if partition.claim]
        return [partition for partition in held if worker in (None, partition.claim.worker)]

    def fence(self) -> None:
        for partition in self.held():
            partition.free()

    def put_all(self, place: int) -> None:
        self.begin = place
        for partition in self.partitions.values():
            partition.free(place=place)


class Life(RuleBasedStateMachine):
    """Several workers and an administrator; the model watches every step."""

    steps = 0

    def __init__(self, several: type[Event]):
        super().__init__()
        testing.clear()
        self.several = several
        self.model = Model({kind.type for kind in HANDLED})
        self.looks = {worker: looking.Look() for worker in WORKERS}  # as if each were a process
        self.claims: list[Claim] = []

    @initialize(sizes=st.sampled_from(SIZES), drafts=few(drafts, 3, 8))
    def register(self, sizes, drafts):
        advancing.BATCH, marking.MOST_MARKED = sizes
        groups.register("g", partition_by=NAMES, handled_types=HANDLED, retry=AT_ONCE)
        self.append(drafts)

    @rule(drafts=few(drafts))
    def append(self, drafts):
        Life.steps += 1
        for message in store.append([self.written(kind or self.several, *values) for kind, values in drafts]):
            carried = [getattr(message, name, []) for name in NAMES]
            self.model.log.append(Entry(message, tuple({*([v] if isinstance(v, str) else v)} for v in carried)))

    def written(self, kind, course, user) -> Event:
        values = {"course_name": course, "user_id": user, "name": "somebody"}
        return kind(**{name: value for name, value in values.items() if name in kind.model_fields})

    @rule(turns=few(turns))
    def work(self, turns):
        """Workers end what they have in hand, each in its way, and claim the next."""
        Life.steps += 1
        for worker, how, pick, is_fresh in turns:
            held = self.model.held(worker)[:1] if how else []
            acked = held[0] if held and how == "ack and claim" else None
            if held and not acked:
                self.end(held[0], how, pick)
            self.taken(worker, 1 + pick % 3, is_fresh, acked)

    @rule(drafts=few(drafts), turns=few(turns))
    def append_and_work(self, drafts, turns):
        self.append(drafts)
        self.work(turns)

    def taken(self, worker: str, limit: int, is_fresh, acked: Partition | None = None) -> Claim | None:
        """After a fresh look at the log nothing is missing at the end of a batch."""
        if is_fresh:
            self.look_at_the_log()
        self.be(worker, whole_at=0.0 if is_fresh else inf)
        claim = groups.claim_next("g", worker=worker, limit=limit, ack=acked and acked.claim)
        if acked:
            acked.ack(acked.claim.position)
        if claim is None:
            assert self.model.ready() == set(), "nothing is lost"
        else:
            self.check(claim, limit, is_fresh)
        return claim

    def look_at_the_log(self) -> None:
        while groups.advance("g"):
            pass
        is_done = groups.status("g").low_watermark
        assert all(message.position > is_done for key in self.model.known() for message in self.model.open(key))

    def be(self, worker: str, whole_at: float = inf) -> None:
        """Remember what this worker's process does; it advances the group only when it finds nothing."""
        looking._looks[conf.database, "g"] = look = self.looks[worker]
        look.advance_at, look.whole_at = inf, whole_at

    def check(self, claim: Claim, limit: int, is_fresh) -> None:
        key = key_of(claim)
        partition, batch = self.model.at(key), self.model.batch(key, limit)
        assert key in self.model.ready(), "nobody else is at it"
        assert claim.messages == (batch if is_fresh else batch[: len(claim.messages)])
        assert claim.messages != []
        assert claim.replaying == (batch[0].position <= partition.acked)
        assert claim.attempt == partition.attempts + 1
        partition.free(attempts=claim.attempt)
        partition.claim = claim
        self.claims.append(claim)

    def end(self, held: Partition, how: str, pick: int) -> None:
        position = held.claim.position
        if how == "ack a part":
            position -= pick % (position - held.claim.messages[0].position + 2)
        if how == "go on":
            self.go_on(held, held.claim.messages[: pick % len(held.claim.messages)])
            return
        self.done(held.claim, how, position)
        if how in ("ack", "ack a part"):
            held.ack(position)
        elif how in ("release", "fail"):
            held.free(attempts=held.attempts - (how == "release"), is_paused=how == "fail")
        else:
            held.is_expired = how == "expire"

    def go_on(self, held: Partition, done: list[Event]) -> None:
        """The first messages of a batch are done, and the others stay in hand, as a batch of their own."""
        if not done:
            return
        place, was_expired, claim = done[-1].position, held.is_expired, held.claim
        rest = groups.go_on(claim, position=place)
        assert rest.messages == claim.messages[len(done) :]
        held.ack(place)
        held.claim, held.attempts, held.is_expired = rest, 1, was_expired

    def done(self, claim: Claim, how: str, position: int | None = None) -> None:
        self.be(claim.worker)
        if how in ("ack", "ack a part"):
            groups.ack(claim, position=position)
        elif how in ("release", "fail"):
            groups.release(claim, error=ValueError("no") if how == "fail" else None)
        elif how == "renew":
            groups.renew(claim)
        elif how == "go on":
            groups.go_on(claim, position=claim.messages[0].position - 1)
        elif how == "ack and claim":
            groups.claim_next("g", worker=claim.worker, ack=claim)
        else:
            an_hour_ago = timezone.now() - timedelta(hours=1)
            Offset.objects.filter(pk=claim.offset_id).update(blocked_until=an_hour_ago)

    @rule(pick=picks, how=st.sampled_from([how for how in ENDINGS if how != "expire"]))
    @precondition(lambda self: self.lost())
    def whoever_lost_a_claim_changes_nothing(self, pick, how):
        Life.steps += 1
        claim = self.lost()[-1 - pick % len(self.lost())]
        if any(partition.is_expired or partition.is_paused for partition in self.model.partitions.values()):
            how = how.replace("ack and claim", "ack")  # what waits for anybody may be taken for a moment
        self.look_at_the_log()
        before = list(Offset.objects.order_by("id").values())
        with pytest.raises(ClaimLost):
            self.done(claim, how)
        assert list(Offset.objects.order_by("id").values()) == before

    def lost(self) -> list[Claim]:
        held = [partition.claim.token for partition in self.model.held()]
        return [claim for claim in self.claims if claim.token not in held]

    @rule()
    def advance(self):
        Life.steps += 1
        groups.advance("g")

    @rule(starts_again=st.booleans())
    def stop(self, starts_again):
        Life.steps += 1
        groups.stop("g")
        self.model.fence()
        self.model.is_active = False
        if starts_again:
            self.start()

    def start(self) -> None:
        groups.start("g")
        self.model.is_active = True

    @rule()
    def retry(self):
        Life.steps += 1
        paused = [partition for partition in self.model.partitions.values() if partition.is_paused]
        assert groups.retry("g") == len(paused)
        for partition in paused:
            partition.free()

    @rule(kind=st.sampled_from([JoinCourse, None]))
    def handle_another_type(self, kind):
        Life.steps += 1
        kind = kind or self.several
        groups.register("g", partition_by=NAMES, handled_types=[kind])
        if kind.type not in self.model.handled:
            self.model.fence()
            self.model.handled.add(kind.type)

    @rule(forget=st.booleans())
    def reset(self, forget):
        Life.steps += 1
        groups.reset("g", forget=forget)
        self.model.put_all(0)
        if forget:
            self.model.partitions, self.model.made = {}, set()

    @rule(place=st.sampled_from(["beginning", "end"]) | picks, key=st.none() | keys)
    def seek(self, place, key):
        Life.steps += 1
        head = self.model.log[-1].message.position
        first = {"beginning": 1, "end": head + 1}.get(place) or 1 + place % (head + 3)
        to, partition = place if isinstance(place, str) else first, dict(zip(NAMES, key, strict=True)) if key else None
        assert groups.seek("g", to=to, partition=partition) == first
        if key is None:
            self.model.put_all(first - 1)
        else:
            self.model.made.add(key)
            self.model.at(key).free(place=first - 1)

    @rule(limit=st.integers(1, 3), is_fresh=st.booleans())
    def drain(self, limit, is_fresh):
        """What is open is delivered once, in order, to every partition that it belongs to."""
        Life.steps += 1
        self.start()
        for held in self.model.held():
            self.end(held, "expire", 0)
        expected = {key: self.model.open(key) for key in self.model.ready()}
        delivered = defaultdict(list)
        while claim := self.taken("w-1", limit, is_fresh):
            delivered[key_of(claim)] += claim.messages
            self.end(self.model.at(key_of(claim)), "ack", 0)
        assert delivered == expected

    def teardown(self):
        if sys.exc_info()[0] is None:
            self.drain(3, is_fresh=False)


def key_of(claim: Claim) -> Key:
    return claim.partition_value["course_name"], claim.partition_value["user_id"]


def test_every_partition_gets_all_its_messages_in_order_whatever_happens(monkeypatch, proof):
    monkeypatch.setattr(registry, "_classes", {**registry._classes})
    for module, name in ((advancing, "BATCH"), (marking, "MOST_MARKED"), (Life, "steps")):
        monkeypatch.setattr(module, name, getattr(module, name))  # as before when it ends

    class Several(Event, type="model.several"):
        course_name: Annotated[list[str], Indexed]
        user_id: Annotated[list[str], Indexed]

    chosen = settings(
        max_examples=60 if proof else 10,
        stateful_step_count=50 if proof else 30,
        deadline=None,
        report_multiple_bugs=False,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
    )
    run_state_machine_as_test(lambda: Life(Several), settings=chosen)
    assert Life.steps >= (2_000 if proof else 200)
