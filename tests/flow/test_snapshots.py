"""Snapshots: a decision from a stored state is the decision from the whole history, under the same guard."""

import threading
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from ccc_django import CommandRejected, Decider, consumers, decides, evolves, groups, reacts, store, testing
from ccc_django.consumers import histories, registry
from ccc_django.consumers.declaring import declare
from ccc_django.errors import Unstorable
from ccc_django.models import ProjectionState
from tests.consuming import (
    AlreadyIn,
    CourseFull,
    Greet,
    Remind,
    Seating,
    SeatsOffered,
    SeatTaken,
    TakeSeat,
    drain,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_consumers")]


@pytest.fixture
def read(monkeypatch) -> list[int]:
    """How many messages each decision has read."""
    counts, original = [], histories.read

    def counted(*args):
        found = original(*args)
        counts.append(len(found.history.messages))
        return found

    monkeypatch.setattr(histories, "read", counted)
    return counts


def seating(every: int | None = 3, base: type[Decider] = Seating, **given: Any) -> Any:
    options = {"group": "seating", "partition_by": ["course_name"], "snapshot_every": every, **given}
    return type("CourseSeating", (base,), {"__module__": __name__}, **options)


def take(user: str) -> list[SeatTaken]:
    return consumers.handle(TakeSeat(course_name="Algebra", user_id=user))


def offer(seats: int) -> SeatsOffered:
    return store.append(SeatsOffered(course_name="Algebra", seats=seats))[0]


def kept() -> ProjectionState:
    return ProjectionState.objects.get()


def test_a_decision_reads_what_came_after_the_snapshot(read):
    seating(every=3)
    offer(9)
    for number in range(8):
        take(f"u{number}")
    assert read == [1, 2, 3, 1, 2, 3, 1, 2]
    assert kept().state["state"] == {"seats": 9, "taken": [f"u{n}" for n in range(5)]}
    with pytest.raises(AlreadyIn):
        take("u0")


def test_without_snapshots_nothing_is_stored(read):
    seating(every=None)
    offer(9)
    for number in range(4):
        take(f"u{number}")
    assert read == [1, 2, 3, 4]
    assert not ProjectionState.objects.exists()


def test_a_conflict_after_the_snapshot_is_found(read, monkeypatch):
    kind = seating(every=1)
    offer(2)
    take("joe")
    decide, calls = kind.handlers["decides"]["seat.take"], []

    def slow(self, state, command):
        calls.append(list(state.taken))
        if len(calls) == 1:
            store.append(SeatTaken(course_name="Algebra", user_id="ann"))
        return decide(self, state, command)

    monkeypatch.setitem(kind.handlers["decides"], "seat.take", slow)
    assert kept().position
    with pytest.raises(CourseFull):
        take("sue")
    assert calls == [["joe"], ["joe", "ann"]]


def test_a_new_version_starts_afresh(read):
    seating(every=1)
    offer(2)
    take("joe")
    seating(every=1, version=2)
    take("ann")
    assert read == [1, 2]
    assert sorted(ProjectionState.objects.values_list("version", flat=True)) == [1, 2]


def test_other_types_that_are_evolved_start_afresh(read):
    seating(every=1)
    offer(2)
    take("joe")

    class More(Seating):
        @evolves(Remind, Greet)
        def nothing(self, state, event):
            pass

    seating(every=1, base=More)
    take("ann")
    assert read == [1, 2]
    with pytest.raises(CourseFull):
        take("sue")
    assert read == [1, 2, 1], "and from their own snapshot then"


def test_a_snapshot_of_other_types_is_replaced_even_by_one_from_before_it(monkeypatch):
    """The head may step back a little: what is stored belongs to the position that is stored with it."""
    offered = offer(2)
    seating(every=1)
    take("joe")
    ProjectionState.objects.update(state={"evolves": ["others"], "state": None})
    original = histories.read

    def stepped_back(*args):
        found = original(*args)
        return histories.Found(found.history, found.guard, offered.position)

    with monkeypatch.context() as patch:
        patch.setattr(histories, "read", stepped_back)
        take("ann")
    assert (kept().position, kept().state["state"]) == (offered.position, {"seats": 2, "taken": []})
    with pytest.raises(CourseFull):
        take("sue")


def test_a_reaction_to_what_is_older_than_the_snapshot_gets_the_state_of_then():
    class Counting(Seating):
        @reacts(SeatTaken)
        def greet(self, state, event):
            yield Greet(user_id=f"{event.user_id} of {len(state.taken)}")

    kind = seating(every=1, base=Counting)
    declare(kind)
    offer(9)
    store.append([SeatTaken(course_name="Algebra", user_id=user) for user in "abc"])
    [command] = store.append([TakeSeat(course_name="Algebra", user_id="d")])
    drain(kind, limit=1, most=1)
    assert kept().position == command.position, "newer than the events that wait"
    drain(kind, limit=1)
    greeted = [each.user_id for each in store.stream(type=Greet)]
    assert greeted == ["a of 1", "b of 2", "c of 3", "d of 4"]


class Custom:
    """Something that JSON does not know."""


@pytest.mark.parametrize("state", [("a", "tuple"), {"a": {1, 2}}, Custom()], ids=["tuple", "set", "object"])
def test_a_state_that_does_not_survive_json_is_refused(state):
    class Odd(Decider, group="odd", partition_by=["course_name"], snapshot_every=1):
        @evolves(SeatsOffered)
        def offered(self, _, event):
            return state

        @decides(TakeSeat)
        def take(self, _, command):
            return Greet(user_id="joe")

    offer(1)
    with pytest.raises(Unstorable, match=r"The state of Odd cannot be stored: .* Say what it is: state_type = …"):
        take("joe")
    assert list(store.stream(type=Greet)) == []


def test_a_state_type_that_pydantic_does_not_know_is_refused():
    class Odd(Decider, group="odd", partition_by=["course_name"], snapshot_every=1):
        state_type = Custom

        @evolves(SeatsOffered)
        def offered(self, state, event):
            pass

        @decides(TakeSeat)
        def take(self, state, command):
            return Greet(user_id="joe")

    offer(1)
    with pytest.raises(Unstorable, match="The state of Odd cannot be stored"):
        take("joe")


def test_a_plain_state_that_is_changed_in_place_is_not_changed_twice():
    class Plain(Decider, group="seating", partition_by=["course_name"], snapshot_every=1):
        def initial(self):
            return {"taken": []}

        @evolves(SeatTaken)
        def taken(self, state, event):
            state["taken"].append(event.user_id)

        @decides(TakeSeat)
        def take(self, state, command):
            yield SeatTaken(course_name=command.course_name, user_id=command.user_id)

    for user in ("a", "b", "c"):
        take(user)
    assert kept().state["state"] == {"taken": ["a", "b"]}


@pytest.mark.postgres
def test_what_is_not_final_is_in_no_snapshot():
    """An append elsewhere has a lower position than what is decided upon, and commits later."""
    seating(every=1)
    offer(9)
    held, done = threading.Event(), threading.Event()

    def append_slowly() -> None:
        with transaction.atomic():
            store.append(SeatTaken(course_name="Logic", user_id="other"))  # the head stays before it
            done.set()
            held.wait(10)
            store.append(SeatTaken(course_name="Algebra", user_id="slow"))
        connection.close()

    declare(registry.consumer("seating"))
    store.append(TakeSeat(course_name="Algebra", user_id="joe"))
    groups.advance("seating")
    slow = threading.Thread(target=append_slowly)
    slow.start()
    assert done.wait(10)
    fast = store.append(SeatTaken(course_name="Algebra", user_id="fast"))[0]
    drain(registry.consumer("seating"))
    assert kept().position < fast.position - 1
    assert kept().state["state"]["taken"] == []
    held.set()
    slow.join(10)
    with pytest.raises(AlreadyIn):
        take("slow")
    with pytest.raises(AlreadyIn):
        take("fast")


commands = st.lists(
    st.tuples(st.sampled_from(["take", "offer", "walk in"]), st.sampled_from("abcd")), min_size=1, max_size=10
)


@settings(max_examples=settings.default.max_examples // 3)  # each empties the tables twice
@given(commands=commands, every=st.integers(1, 4), size=st.integers(1, 4))
def test_decisions_are_the_same_with_and_without_snapshots(commands, every, size):
    answers = []
    for each in (None, every):
        testing.clear()
        kind = seating(every=each)
        declare(kind)
        for start in range(0, len(commands), size):
            store.append([message(*draft) for draft in commands[start : start + size]])
            drain(kind, limit=size)
        answers.append([(each.type, getattr(each, "user_id", ""), reason(each)) for each in store.stream()])
    assert answers[0] == answers[1]


def message(kind: str, user: str) -> Any:
    if kind == "offer":
        return SeatsOffered(course_name="Algebra", seats=1)
    return (TakeSeat if kind == "take" else SeatTaken)(course_name="Algebra", user_id=user)


def reason(each: Any) -> str:
    return each.reason if isinstance(each, CommandRejected) else ""
