"""Handle at once: a command is appended, decided in its turn and answered, or it is in the log for workers."""

import threading
import time
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.utils import timezone

from ccc_django import (
    Retry,
    consumer,
    consumers,
    dead_letters,
    decides,
    groups,
    store,
)
from ccc_django.consumers.declaring import declare
from ccc_django.errors import (
    CommandFailed,
    DomainError,
    PartitionBusy,
)
from ccc_django.models import DeadLetter, Offset
from tests.consuming import (
    AlreadyIn,
    CourseFull,
    Greet,
    Seating,
    SeatsOffered,
    TakeSeat,
    drain,
    take,
    users,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_consumers")]

AT_ONCE = timedelta(0)


def offset() -> Offset:
    return Offset.objects.get(group__name="seating")


def failing(monkeypatch, kind, *bad: str) -> None:
    decide = kind.handlers["decides"]["seat.take"]

    def chosen(self, state, command):
        if command.user_id in bad:
            raise ValueError(f"no such user: {command.user_id}")
        return decide(self, state, command)

    monkeypatch.setitem(kind.handlers["decides"], "seat.take", chosen)


def elsewhere(task) -> None:
    """Do something on a connection of its own."""
    failures = []

    def run() -> None:
        try:
            task()
        except BaseException as error:  # noqa: BLE001 - the test shows it
            failures.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    assert failures == []


def test_a_command_is_answered_with_its_events(offered):
    [taken] = consumers.handle(take("joe"))
    *_, command, logged = store.stream()
    assert taken == logged
    assert (taken.user_id, taken.causation_id, taken.position) == ("joe", command.id, command.position + 1)
    assert offset().last_position == command.position


def test_a_rejection_is_the_error_of_the_decider(offered):
    consumers.handle(take("joe"))
    with pytest.raises(AlreadyIn, match=r"^joe has a seat$"):
        consumers.handle(take("joe"))
    *_, command = store.stream(type=TakeSeat)
    assert offset().last_position == command.position, "it is done, and blocks nobody"


def test_a_rejection_by_a_worker_that_was_faster_is_the_same_error(offered):
    declare(offered)
    command = store.append([take("joe"), take("ann"), take("sue")])[-1]
    elsewhere(lambda: drain(offered, worker="faster"))
    with pytest.raises(CourseFull, match=r"^2 seats are taken$") as refusal:
        consumers.handle(command)
    assert type(refusal.value) is CourseFull


def test_a_rejection_whose_class_is_gone_is_a_domain_error(offered, monkeypatch):
    with pytest.raises(AlreadyIn):
        [consumers.handle(take("joe")) for _ in range(2)]
    monkeypatch.setattr("ccc_django.consumers.refusals._kinds", lambda kind: iter([kind]))
    *_, command = store.stream(type=TakeSeat)
    with pytest.raises(DomainError, match=r"^joe has a seat$"):
        consumers.handle(command)


def test_the_same_command_is_handled_once(offered):
    command = take("joe")
    first = consumers.handle(command)
    assert consumers.handle(command) == first
    drain(offered)
    assert consumers.handle(command) == first, "also when its events have been reacted to"
    assert users() == ["joe"]


def test_asking_again_leaves_the_partition_as_it_is(offered, monkeypatch):
    """An earlier command says nothing about a later one that fails."""
    command = take("joe")
    consumers.handle(command)
    drain(offered)
    failing(monkeypatch, offered, "bad")
    with pytest.raises(ValueError, match="bad"):
        consumers.handle(take("bad"))
    Offset.objects.update(blocked_until=None)
    before = Offset.objects.values().get()
    assert before["attempts"] == 1
    consumers.handle(command)
    assert Offset.objects.values().get() == before


def test_what_waits_before_a_command_is_handled_before_it_and_in_order(offered):
    store.append([take("ann"), take("joe"), take("late")])
    with pytest.raises(CourseFull):
        consumers.handle(take("sue"))
    assert users() == ["ann", "joe"]


def test_many_batches_may_wait_before_a_command(offered):
    store.append([SeatsOffered(course_name="Algebra", seats=300), *(take(f"u{n}") for n in range(250))])
    consumers.handle(take("joe"))
    assert users() == [*(f"u{n}" for n in range(250)), "joe"]


def test_what_comes_after_a_command_is_left_to_workers(offered):
    command, _ = store.append([take("joe"), take("ann")])
    consumers.handle(command)
    assert users() == ["joe"]
    drain(offered)
    assert users() == ["joe", "ann"]
    assert groups.status("seating").lag == 0


def test_reactions_run_once_afterwards(offered):
    consumers.handle(take("joe"))
    assert users(Greet) == []
    drain(offered)
    drain(offered)
    assert users(Greet) == ["joe"]


def test_a_partition_that_somebody_holds_is_busy_and_the_command_is_handled_later(offered):
    declare(offered)
    store.append(take("ann"))
    claim = groups.claim_next("seating", worker="w-1")
    with pytest.raises(PartitionBusy, match="w-1 is at its partition"):
        consumers.handle(take("joe"), timeout=AT_ONCE)
    groups.release(claim)
    drain(offered)
    assert users() == ["ann", "joe"]


def test_a_partition_that_becomes_free_in_time_is_waited_for(offered):
    declare(offered)
    store.append(take("ann"))
    claim = groups.claim_next("seating", worker="w-1")
    timer = threading.Timer(0.2, lambda: elsewhere(lambda: groups.release(claim)))
    timer.start()
    assert [each.user_id for each in consumers.handle(take("joe"))] == ["joe"]
    timer.join()
    assert users() == ["ann", "joe"]


def test_a_worker_that_dies_with_the_partition_is_followed_when_its_lease_is_over(offered):
    declare(offered)
    store.append(take("ann"))
    groups.claim_next("seating", worker="dead")
    Offset.objects.update(blocked_until=timezone.now() - timedelta(seconds=1))
    consumers.handle(take("joe"))
    assert users() == ["ann", "joe"]


def test_a_process_that_dies_while_it_handles_leaves_the_command_to_workers(offered, monkeypatch):
    class Killed(BaseException):
        pass

    def die(*_, **__):
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr("ccc_django.consumers.runner.run", die)
        with pytest.raises(Killed):
            consumers.handle(take("joe"))
    assert offset().claimed_by.startswith("handle-")
    assert drain(offered) == [], "its lease is not over"
    Offset.objects.update(blocked_until=timezone.now() - timedelta(seconds=1))
    drain(offered)
    assert users() == ["joe"]


def test_a_stopped_group_is_busy(offered):
    declare(offered)
    groups.stop("seating")
    with pytest.raises(PartitionBusy, match="the group seating is stopped"):
        consumers.handle(take("joe"), timeout=AT_ONCE)
    groups.start("seating")
    drain(offered)
    assert users() == ["joe"]


def test_an_earlier_message_that_fails_makes_the_partition_busy_and_is_the_cause(offered, monkeypatch):
    failing(monkeypatch, offered, "bad")
    store.append(take("bad"))
    with pytest.raises(PartitionBusy, match="a message before it has failed") as busy:
        consumers.handle(take("joe"))
    assert str(busy.value.__cause__) == "no such user: bad"
    with pytest.raises(PartitionBusy, match="has failed with ValueError: no such user: bad"):
        consumers.handle(take("ann"), timeout=AT_ONCE)
    assert users() == []


def test_a_command_that_fails_raises_its_error_and_is_tried_again(offered, monkeypatch):
    with monkeypatch.context() as patch:
        failing(patch, offered, "joe")
        with pytest.raises(ValueError, match="joe"):
            consumers.handle(take("joe"))
    groups.retry("seating")
    drain(offered)
    assert users() == ["joe"]


def test_facts_that_never_stop_changing_leave_the_command_to_workers(offered, monkeypatch):
    decide, calls = offered.handlers["decides"]["seat.take"], []

    def slow(self, state, command):
        calls.append(command)
        store.append(SeatsOffered(course_name="Algebra", seats=1))
        return decide(self, state, command)

    with monkeypatch.context() as patch:
        patch.setitem(offered.handlers["decides"], "seat.take", slow)
        patch.setattr("ccc_django.consumers.retries.FIRST_PAUSE", 0.0001)
        with pytest.raises(PartitionBusy, match="AppendConflict"):
            consumers.handle(take("joe"), timeout=timedelta(seconds=3))
    assert len(calls) >= 8
    groups.retry("seating")
    drain(offered)
    assert users() == ["joe"]


def test_a_command_that_a_worker_gave_up_is_a_failure():
    class Strict(Seating, group="seating", partition_by=["course_name"], retry=Retry(max_attempts=1)):
        @decides(TakeSeat)
        def take(self, state, command):
            raise ValueError("no such user")

    declare(Strict)
    [command] = store.append([take("joe")])
    drain(Strict)
    with pytest.raises(CommandFailed, match="is a dead letter: ValueError: no such user"):
        consumers.handle(command)


def test_a_dead_letter_that_fails_again_stands_in_nobodys_way(monkeypatch):
    class Strict(Seating, group="seating", partition_by=["course_name"], retry=Retry(max_attempts=1)):
        pass

    declare(Strict)
    failing(monkeypatch, Strict, "bad")
    store.append([SeatsOffered(course_name="Algebra", seats=2), take("bad")])
    drain(Strict)
    dead_letters.replay(DeadLetter.objects.get())
    assert len(consumers.handle(take("joe"))) == 1
    assert DeadLetter.objects.get().status == "open"


@pytest.mark.postgres
def test_an_append_elsewhere_that_is_not_committed_makes_the_partition_busy(offered):
    held, done = threading.Event(), threading.Event()

    def append_slowly() -> None:
        with transaction.atomic():
            store.append(take("slow"))
            done.set()
            held.wait(10)
        connection.close()

    slow = threading.Thread(target=append_slowly)
    slow.start()
    assert done.wait(10)
    with pytest.raises(PartitionBusy, match="an append elsewhere is not committed yet"):
        consumers.handle(take("joe"), timeout=timedelta(seconds=0.2))
    assert users() == []
    held.set()
    slow.join(10)
    drain(offered)
    assert users() == ["slow", "joe"]


def test_a_rejection_by_somebody_else_is_of_the_class_that_the_decider_means(offered):
    """Whatever else is called the same."""
    same_name = type("AlreadyIn", (CourseFull,), {})
    declare(offered)
    [_, command] = store.append([take("joe"), take("joe")])
    drain(offered)
    with pytest.raises(AlreadyIn, match="joe has a seat") as caught:
        consumers.handle(command)
    assert caught.type is not same_name


def test_a_long_queue_before_a_command_does_not_make_its_caller_wait_longer_than_asked(offered, monkeypatch):
    decide = offered.handlers["decides"]["seat.take"]

    def slow(self, state, command):
        time.sleep(0.05)
        return decide(self, state, command)

    monkeypatch.setitem(offered.handlers["decides"], "seat.take", slow)
    store.append([take(f"u{number}") for number in range(200)])
    started = time.monotonic()
    with pytest.raises(PartitionBusy, match="Workers will"):
        consumers.handle(take("joe"), timeout=timedelta(seconds=0.5))
    assert time.monotonic() - started < 5, "of ten seconds that they would take"


class Refused(DomainError):
    """Needs more than a sentence to be made."""

    def __init__(self, who: str, why: str) -> None:
        super().__init__(who, why)
        self.who, self.why = who, why

    def __str__(self) -> str:
        return f"{self.who}: {self.why}"


def test_a_rejection_that_others_have_met_says_what_it_said(offered, monkeypatch):
    def refuse(self, state, command):
        raise Refused(command.user_id, "no")

    monkeypatch.setitem(offered.handlers["decides"], "seat.take", refuse)
    command = take("joe")
    for _ in range(2):  # the second time as the log tells it
        with pytest.raises(Refused) as refusal:
            consumers.handle(command)
        assert str(refusal.value) == "joe: no"


def test_what_others_append_because_of_a_command_is_not_its_answer(offered):
    @consumer(group="journal", partition_by=["course_name"], handles=[offered.types_of("decides")[0]])
    def note(message):
        yield SeatsOffered(course_name="Geometry", seats=1)

    command = take("joe")
    first = consumers.handle(command)
    declare(note)
    drain(note)
    assert [each.course_name for each in store.stream(type=SeatsOffered)] == ["Algebra", "Geometry"]
    assert consumers.handle(command) == first
