"""Drain: the consumers of the project run in a test's process, in its transaction, until nothing is left to do."""

import re
import time
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from ccc_django import (
    STOP_GROUP,
    STOP_PARTITION,
    Command,
    Event,
    Retry,
    RunAfterCommit,
    Schedule,
    consumer,
    envelope,
    groups,
    store,
)
from ccc_django.consumers import projections
from ccc_django.errors import NotDrained, UnknownConsumer
from ccc_django.models import DeadLetter, ScheduledMessage, StoredMessage
from ccc_django.testing import Drained, drain
from tests.consuming import Greet, Remind, Roster, SeatsOffered, SeatTaken, take, users
from tests.domain import CourseCreated, UserJoinedCourse
from tests.testing.places import everywhere
from tests.worker.running import eventually

pytestmark = [everywhere, pytest.mark.usefixtures("no_consumers")]

HOUR = timedelta(hours=1)
AN_HOUR = Retry(first_pause=HOUR, longest_pause=HOUR)
MOMENT = timedelta(milliseconds=200)
A_MOMENT = Retry(max_attempts=None, first_pause=MOMENT, longest_pause=MOMENT)  # however slow the machine is


class Tick(Command, type="draining.tick"):
    course_name: str
    number: int = 0


class Tock(Event, type="draining.tock"):
    course_name: str
    number: int


class Trouble(Exception):
    pass


class Ticking:
    """A consumer that fails as long as it is told to, and remembers what it has got."""

    def __init__(self, retry: Retry | None = None, **given) -> None:
        self.got: list[tuple[str, int]] = []
        self.fails = True
        self.consumer = consumer(group="ticking", partition_by="course_name", handles=[Tick], retry=retry, **given)(
            self.handle
        )

    def handle(self, message: Tick) -> None:
        if self.fails and message.course_name == "bad":
            raise Trouble("not yet")
        self.got.append((message.course_name, message.number))


@pytest.fixture
def mailer():
    """Greets, and tells whom."""
    greeted: list[str] = []

    @consumer(group="mailer", partition_by=["user_id"], handles=[Greet])
    def greet(message):
        greeted.append(message.user_id)

    return greeted


def roster():
    return type("CourseRoster", (Roster,), {}, group="roster", partition_by=["course_name"])


def test_everything_is_handled_and_what_follows_from_it_in_other_groups(place, offered, mailer):
    roster()
    store.append([take("joe"), take("ann")])
    assert drain() == Drained(handled={"seating": 4, "roster": 2, "mailer": 2}, failed={}, waiting={})
    assert users() == mailer == ["joe", "ann"]
    assert projections.state("roster", course_name="Algebra") == ["joe", "ann"]
    assert all(groups.is_empty(name) for name in ("seating", "roster", "mailer"))


def test_a_second_drain_finds_nothing(place, offered):
    store.append(take("joe"))
    assert drain().handled == {"seating": 2}
    assert drain() == Drained(handled={}, failed={}, waiting={})


@pytest.mark.parametrize("by", [str, type])
def test_some_groups_are_drained_and_others_wait(place, offered, mailer, by):
    store.append(take("joe"))
    drained = drain("seating" if by is str else offered)
    assert drained.handled == {"seating": 2}
    assert mailer == [], "it was not asked for"
    assert drain("mailer").handled == {"mailer": 1}


def test_what_nobody_declares_cannot_be_drained(place):
    """Nothing would be done, and nothing would be left to do."""
    with pytest.raises(UnknownConsumer, match="None is declared at all"):
        drain()
    Ticking()
    with pytest.raises(UnknownConsumer, match=r"There is no consumer 'tickling'. Declared are: ticking"):
        drain("tickling")


def test_a_failing_handler_raises_its_own_error_where_it_happened(place):
    ticking = Ticking()
    store.append([Tick(course_name="bad"), Tick(course_name="good")])
    with pytest.raises(Trouble, match=r"^not yet$") as caught:
        drain()
    assert caught.traceback[-1].name == "handle"
    assert ticking.got == []


def test_what_a_failure_has_left_is_not_passed_over_in_silence(place):
    """A drain that finds a partition pausing has nothing to do, and yet not everything is done."""
    ticking = Ticking(AN_HOUR)
    store.append([Tick(course_name="bad"), Tick(course_name="good")])
    with pytest.raises(Trouble):
        drain()
    with pytest.raises(NotDrained) as caught:
        drain()
    assert str(caught.value) == (
        "Something is left to do. Try again with groups.retry(name), or drain with raises=False:\n"
        '  ticking {"course_name":"bad"}: it pauses after Trouble: not yet'
    )
    assert isinstance(caught.value, AssertionError)
    ticking.fails = False
    groups.retry("ticking")
    assert drain().handled == {"ticking": 1}
    assert ticking.got == [("good", 0), ("bad", 0)]


def test_a_partition_that_somebody_holds_is_not_passed_over_in_silence(place):
    ticking = Ticking()
    ticking.fails = False
    store.append(Tick(course_name="good"))
    groups.register("ticking", partition_by="course_name", handled_types=[Tick])
    claim = groups.claim_next("ticking", worker="somebody")
    with pytest.raises(NotDrained, match=re.escape('ticking {"course_name":"good"}: somebody holds it')):
        drain()
    assert drain(raises=False).waiting == {"ticking": 1}
    groups.release(claim)
    assert drain().handled == {"ticking": 1}


def test_a_stopped_group_is_left_alone_as_by_a_worker(place):
    ticking = Ticking()
    store.append(Tick(course_name="good"))
    groups.register("ticking", partition_by="course_name", handled_types=[Tick])
    groups.stop("ticking")
    assert drain() == Drained(handled={}, failed={}, waiting={})
    groups.start("ticking")
    drain()
    assert ticking.got == [("good", 0)]


def test_without_raising_the_retry_policy_decides(place):
    ticking = Ticking(AN_HOUR)
    store.append([Tick(course_name=name) for name in ("bad", "good", "bad", "good")])
    drained = drain(raises=False)
    assert drained == Drained(handled={"ticking": 2}, failed={"ticking": 1}, waiting={"ticking": 1})
    assert drain(raises=False) == Drained(handled={}, failed={}, waiting={"ticking": 1}), "it pauses for an hour"
    assert ticking.got == [("good", 0), ("good", 0)]


def test_attempts_without_a_pause_are_made_at_once_until_they_are_used_up(place):
    Ticking(Retry(max_attempts=3, first_pause=timedelta(0)))
    store.append([Tick(course_name="bad")])
    assert drain(raises=False) == Drained(handled={}, failed={"ticking": 3}, waiting={})
    assert DeadLetter.objects.open().get().error == "Trouble: not yet"


def test_a_partition_that_was_stopped_waits(place):
    Ticking(Retry(max_attempts=1, then=STOP_PARTITION))
    store.append([Tick(course_name="bad")])
    assert drain(raises=False).waiting == {"ticking": 1}


def test_what_was_done_before_the_failure_stays_done(place):
    ticking = Ticking(AN_HOUR, batch_size=10)
    tried = []

    @consumer(group="all", partition_by=[], handles=[Tick], retry=AN_HOUR)
    def everything(message):
        tried.append(message.course_name)
        ticking.handle(message)

    store.append([Tick(course_name="good", number=1), Tick(course_name="bad")])
    with pytest.raises(Trouble):
        drain("all")
    groups.retry("all")
    ticking.fails = False
    assert drain("all").handled == {"all": 1}
    assert tried == ["good", "bad", "bad"]


def test_a_pause_ends_by_the_time_of_the_database_also_in_one_long_transaction(place):
    """now() stands still in a transaction: there the pause would never be over."""
    ticking = Ticking(A_MOMENT)
    store.append(Tick(course_name="bad"))
    assert drain(raises=False).failed["ticking"] >= 1
    ticking.fails = False
    eventually(lambda: drain(raises=False).handled)
    assert ticking.got == [("bad", 0)]


def test_a_lease_ends_by_the_time_of_the_database_also_in_one_long_transaction(place):
    ticking = Ticking()
    store.append(Tick(course_name="good"))
    groups.register("ticking", partition_by="course_name", handled_types=[Tick])
    assert groups.claim_next("ticking", worker="gone", lease=MOMENT)
    eventually(lambda: drain(raises=False).handled)
    assert ticking.got == [("good", 0)]


@pytest.fixture
def still(monkeypatch):
    """The clocks of this process stand still, as libraries for tests do it; those of the database do not."""
    now = datetime(2020, 2, 2, tzinfo=UTC)
    clock = type("Still", (datetime,), {"now": classmethod(lambda cls, tz=None: now)})
    monkeypatch.setattr(envelope, "datetime", clock)
    for name, value in (("time", now.timestamp()), ("monotonic", 1_000.0), ("time_ns", int(now.timestamp()) * 10**9)):
        monkeypatch.setattr(time, name, partial(lambda value: value, value))
    return now


def test_a_process_whose_clocks_stand_still_drains_all_the_same(place, offered, still):
    store.append([take("joe"), take("ann")])
    assert drain().handled == {"seating": 4}
    assert [message.created_at for message in store.stream(type=SeatTaken)] == [still, still]
    store.append(take("bob"))
    assert drain().handled == {"seating": 1}, "and again, though no time has passed"


def test_a_pause_and_a_lease_end_in_a_process_whose_clocks_stand_still(place, still, monkeypatch):
    ticking = Ticking(A_MOMENT)
    store.append([Tick(course_name="bad"), Tick(course_name="good")])
    groups.register("ticking", partition_by="course_name", handled_types=[Tick])
    assert groups.claim_next("ticking", worker="gone", lease=MOMENT)
    drain(raises=False)
    ticking.fails = False
    for _ in range(400):  # nobody here can tell the time
        if len(ticking.got) == 2:
            break
        time.sleep(0.05)
        drain(raises=False)
    assert sorted(ticking.got) == [("bad", 0), ("good", 0)]


def test_consumers_that_answer_each_other_without_end_are_stopped(place):
    @consumer(group="ping", partition_by=["course_name"], handles=[Tick])
    def ping(message):
        return Tock(course_name="x", number=message.number)

    @consumer(group="pong", partition_by=["course_name"], handles=[Tock])
    def pong(message):
        return Tick(course_name="x", number=message.number + 1)

    store.append(Tick(course_name="x"))
    with pytest.raises(NotDrained, match=r"^21 messages are handled, and there is no end: \{'ping': 11, 'pong': 10\}"):
        drain(most=20)


def test_as_many_as_allowed_are_no_error(place):
    ticking = Ticking()
    store.append([Tick(course_name="good", number=number) for number in range(20)])
    assert drain(most=20).handled == {"ticking": 20}
    store.append([Tick(course_name="good", number=number) for number in range(21)])
    with pytest.raises(NotDrained, match="most=200"):
        drain(most=20)
    assert len(ticking.got) == 41


def test_partitions_with_nothing_to_deliver_do_not_end_it(place):
    """One call passes over a hundred of them and then finds nothing, with work behind them."""
    ticking = Ticking()
    store.append([Tick(course_name=str(number)) for number in range(250)])
    groups.register("ticking", partition_by="course_name", handled_types=[Tick])
    while groups.advance("ticking"):
        pass
    gone = StoredMessage.objects.order_by("position")[:240].values_list("position", flat=True)
    StoredMessage.objects.filter(position__in=list(gone)).delete()
    assert groups.claim_next("ticking", worker="w") is None
    assert drain().handled == {"ticking": 10}
    assert [name for name, _ in ticking.got] == [str(number) for number in range(240, 250)]


def test_what_is_due_is_promoted_and_what_is_not_waits(place):
    ticking = Ticking()
    now = datetime.now(UTC)
    store.schedule(Tick(course_name="past"), at=now - HOUR)
    store.schedule(Tick(course_name="future"), at=now + HOUR)
    assert drain().handled == {"ticking": 1}
    assert ticking.got == [("past", 0)]
    assert ScheduledMessage.objects.get().payload["course_name"] == "future"


def test_time_passes_step_by_step_for_what_is_scheduled(place):
    """Each message is handled before the time of the next has come, also of what is scheduled meanwhile."""
    ticking = Ticking()
    start = datetime.now(UTC) + HOUR

    @consumer(group="again", partition_by=["course_name"], handles=[Tick])
    def again(message):
        if message.course_name == "first":
            yield Schedule(Tick(course_name="between"), at=start + HOUR)

    store.schedule(Tick(course_name="last"), at=start + 2 * HOUR)
    store.schedule([Tick(course_name="first"), Tick(course_name="second")], at=start)
    assert drain(scheduled=True).handled == {"ticking": 4, "again": 4}
    assert [name for name, _ in ticking.got] == ["first", "second", "between", "last"]
    assert not ScheduledMessage.objects.exists()


def test_time_passes_up_to_a_moment(place):
    ticking = Ticking()
    start = datetime.now(UTC) + HOUR
    for number in range(3):
        store.schedule(Tick(course_name="good", number=number), at=start + number * HOUR)
    drain(scheduled=start + HOUR)
    assert [number for _, number in ticking.got] == [0, 1]
    with pytest.raises(ValueError, match="time zone"):
        drain(scheduled=datetime(2030, 1, 1))  # noqa: DTZ001


def test_a_message_that_schedules_itself_for_ever_is_stopped(place):
    @consumer(group="daily", partition_by=["course_name"], handles=[Tick])
    def daily(message):
        yield Schedule(Tick(course_name="x"), at=datetime.now(UTC) + HOUR)

    store.append(Tick(course_name="x"))
    assert drain().handled == {"daily": 1}
    with pytest.raises(NotDrained, match="there is no end"):
        drain(scheduled=True, most=5)


def test_what_runs_after_the_commit_runs_when_the_test_lets_it(place, django_capture_on_commit_callbacks):
    ran: list[str] = []

    @consumer(group="after", partition_by=["course_name"], handles=[Tick])
    def after(message):
        yield RunAfterCommit(lambda: ran.append(message.course_name))

    store.append(Tick(course_name="x"))
    with django_capture_on_commit_callbacks(execute=place == "in a transaction"):
        drain()
        assert ran == ([] if place == "in a transaction" else ["x"])
    assert ran == ["x"]


def test_a_groups_row_exists_as_code_says_it(place, offered):
    drain()
    assert groups.status("seating").name == "seating"
    store.append([SeatsOffered(course_name="Algebra", seats=1), UserJoinedCourse(course_name="Algebra", user_id="x")])
    assert drain().handled == {}, "it handles neither of them"


def test_reminders_are_scheduled_and_come_when_time_passes(place, offered, mailer):
    store.append(take("joe"))
    drain()
    assert not users(Remind)
    drain(scheduled=True)
    assert users(Remind) == ["joe"]


def test_a_group_that_has_failed_before_is_not_drained(no_consumers, place):
    @consumer(group="fails", partition_by=[], handles=[CourseCreated], retry=Retry(max_attempts=1, then=STOP_GROUP))
    def fails(message):
        raise ValueError("no")

    store.append(CourseCreated(course_name="Algebra"))
    drain(raises=False)
    with pytest.raises(NotDrained, match="fails has failed before"):
        drain()
