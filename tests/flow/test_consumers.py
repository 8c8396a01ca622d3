"""Handle and complete: what consumers make of messages is committed with the ack, or not at all."""

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from ccc_django import (
    CommandRejected,
    Decider,
    DomainError,
    Projector,
    Retry,
    RunAfterCommit,
    RunInTransaction,
    consumer,
    db,
    dead_letters,
    decides,
    evolves,
    groups,
    reacts,
    store,
)
from ccc_django.consumers import declaring, projections, registry, runner
from ccc_django.consumers.declaring import declare
from ccc_django.errors import AppendInterrupted, GroupTaken, UnknownConsumer
from ccc_django.models import DeadLetter, Offset, ProjectionState, ScheduledMessage
from tests.consuming import (
    Greet,
    Roster,
    Seating,
    Seats,
    SeatsOffered,
    SeatTaken,
    TakeSeat,
    drain,
)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def registry_as_before(monkeypatch):
    monkeypatch.setattr(registry, "_consumers", {})
    monkeypatch.setattr(declaring, "_declared", set())


@pytest.fixture
def seating():
    class CourseSeating(Seating, group="seating", partition_by=["course_name"]):
        pass

    declare(CourseSeating)
    return CourseSeating


def types(*, after: int = 0) -> list[str]:
    return [message.type for message in store.stream(after=after)]


def take(*users: str) -> list[TakeSeat]:
    return [TakeSeat(course_name="Algebra", user_id=user) for user in users]


def test_a_command_leads_to_events_and_they_to_reactions(seating):
    [_, command] = store.append([SeatsOffered(course_name="Algebra", seats=2), *take("joe")])
    drain(seating)
    assert types() == ["seats.offered", "seat.take", "seat.taken", "greet"]
    *_, taken, greet = store.stream()
    assert taken.causation_id == command.id
    assert greet.causation_id == taken.id
    assert greet.correlation_id == taken.correlation_id == command.correlation_id
    [reminder] = ScheduledMessage.objects.all()
    assert (reminder.message_type, reminder.causation_id) == ("remind", taken.id)
    assert groups.status("seating").lag == 0


def test_commands_of_one_batch_are_decided_one_after_the_other(seating):
    store.append([SeatsOffered(course_name="Algebra", seats=2), *take("joe", "ann", "sue")])
    [outcome, *_] = drain(seating)
    assert len(outcome.steps) == 3
    taken = [each.user_id for each in store.stream(type=SeatTaken)]
    assert taken == ["joe", "ann"]


def test_a_rejected_command_is_recorded_with_its_reason_and_blocks_nobody(seating):
    store.append([SeatsOffered(course_name="Algebra", seats=1), *take("joe", "ann", "joe")])
    drain(seating)
    full, again = store.stream(type=CommandRejected)
    assert (full.error, full.reason, full.command_type) == ("CourseFull", "1 seats are taken", "seat.take")
    assert again.error == "AlreadyIn"
    assert full.causation_id == full.command_id
    assert groups.status("seating").lag == 0
    assert store.read(CommandRejected.to_conditions(command_id=full.command_id)).messages == [full]


def test_nothing_is_decided_again_while_replaying(seating):
    store.append([SeatsOffered(course_name="Algebra", seats=2), *take("joe")])
    drain(seating)
    before = types()
    groups.reset("seating")
    assert sum(len(each.steps) for each in drain(seating)) == 2, "they are delivered"
    assert types() == before
    assert ScheduledMessage.objects.count() == 1


def test_a_decision_on_facts_that_change_is_made_again(seating, monkeypatch):
    store.append([SeatsOffered(course_name="Algebra", seats=1), *take("joe")])
    calls = []
    decide = seating.handlers["decides"]["seat.take"]

    def slow(self, state, command):
        calls.append(len(state.taken))
        if len(calls) == 1:
            store.append(SeatTaken(course_name="Algebra", user_id="ann"))
        return decide(self, state, command)

    monkeypatch.setitem(seating.handlers["decides"], "seat.take", slow)
    drain(seating)
    assert calls == [0, 1]
    assert [each.user_id for each in store.stream(type=SeatTaken)] == ["ann"]
    assert [each.error for each in store.stream(type=CommandRejected)] == ["CourseFull"]


def test_a_new_command_does_not_break_a_running_decision(seating, monkeypatch):
    store.append([SeatsOffered(course_name="Algebra", seats=1), *take("joe")])
    calls = []
    decide = seating.handlers["decides"]["seat.take"]

    def slow(self, state, command):
        calls.append(command.user_id)
        store.append(take("late"))
        return decide(self, state, command)

    monkeypatch.setitem(seating.handlers["decides"], "seat.take", slow)
    drain(seating, most=1)
    assert calls == ["joe"]


def test_facts_that_never_stop_changing_are_tried_a_few_times_and_put_off(seating, monkeypatch):
    store.append([SeatsOffered(course_name="Algebra", seats=99), *take("joe")])
    calls = []
    decide = seating.handlers["decides"]["seat.take"]

    def slow(self, state, command):
        calls.append(command.user_id)
        store.append(SeatTaken(course_name="Algebra", user_id=f"u{len(calls)}"))
        return decide(self, state, command)

    monkeypatch.setitem(seating.handlers["decides"], "seat.take", slow)
    monkeypatch.setattr("ccc_django.consumers.retries.FIRST_PAUSE", 0.0001)
    [outcome] = drain(seating)
    assert len(calls) == 8
    assert "AppendConflict" in type(outcome.error).__name__
    status = groups.status("seating")
    assert (status.failures, status.dead_letters) == (1, 0), "it pauses, and nobody is to blame"


def test_what_fails_is_tried_again_and_what_came_before_it_is_done(seating, monkeypatch):
    store.append([SeatsOffered(course_name="Algebra", seats=9), *take("joe", "bad", "ann")])
    decide = seating.handlers["decides"]["seat.take"]

    def failing(self, state, command):
        if command.user_id == "bad":
            raise ValueError("no such user")
        return decide(self, state, command)

    monkeypatch.setitem(seating.handlers["decides"], "seat.take", failing)
    outcome = drain(seating)[0]
    assert [step.message.user_id for step in outcome.steps] == ["joe"]
    assert str(outcome.error) == "no such user"
    assert [each.user_id for each in store.stream(type=SeatTaken)] == ["joe"]
    assert groups.status("seating").failures == 1


def test_several_deciders_each_decide(seating):
    """Two groups get all messages each."""

    class Other(Decider, group="other", partition_by="course_name"):
        @decides(TakeSeat)
        def take(self, state, command):
            return Greet(user_id=command.user_id)

    declare(Other)
    store.append(take("joe"))
    drain(Other)
    assert types() == ["seat.take", "greet"]


def test_a_projection_keeps_a_state_for_each_partition():
    class CourseRoster(Roster, group="roster", partition_by=["course_name"]):
        pass

    declare(CourseRoster)
    store.append([SeatTaken(course_name=course, user_id=f"u{n}") for n in range(3) for course in ("Algebra", "Logic")])
    drain(CourseRoster, limit=2)
    assert projections.state("roster", course_name="Logic") == ["u0", "u1", "u2"]
    assert projections.state("roster", course_name="Music") is None
    groups.reset("roster")
    drain(CourseRoster)
    assert projections.state("roster", course_name="Logic") == ["u0", "u1", "u2"], "nothing gets into it twice"
    projections.rebuild("roster")
    assert projections.state("roster", course_name="Logic") is None
    drain(CourseRoster)
    assert projections.state("roster", course_name="Logic") == ["u0", "u1", "u2"]


def test_a_projection_that_fails_keeps_what_came_before():
    class Broken(Projector, group="broken", partition_by=["course_name"], retry=Retry(max_attempts=1)):
        state_type = Seats

        @evolves(SeatTaken)
        def taken(self, state, event):
            state.taken.append(event.user_id)
            if event.user_id == "bad":
                raise ValueError("no")

    declare(Broken)
    store.append([SeatTaken(course_name="Algebra", user_id=user) for user in ("a", "b", "bad", "c")])
    drain(Broken)
    [kept] = ProjectionState.objects.all()
    assert kept.state == {"seats": 0, "taken": ["a", "b", "c"]}
    [letter] = DeadLetter.objects.all()
    assert "ValueError: no" in letter.traceback
    Broken.handlers["evolves"]["seat.taken"] = lambda self, state, event: state.taken.append(event.user_id)
    dead_letters.replay(letter)
    drain(Broken)
    [kept] = ProjectionState.objects.all()
    assert kept.state["taken"] == ["a", "b", "c", "bad"]


def test_a_function_gets_each_message_and_its_writes_commit_with_the_ack():
    @consumer(group="users", partition_by=["user_id"], handles=[SeatTaken])
    def make_user(message):
        User.objects.create(username=message.user_id)
        if message.user_id == "bad":
            raise ValueError("no")
        return Greet(user_id=message.user_id)

    declare(make_user)
    store.append([SeatTaken(course_name="Algebra", user_id=user) for user in ("joe", "bad")])
    drain(make_user)
    assert [user.username for user in User.objects.all()] == ["joe"]
    assert types() == ["seat.taken", "seat.taken", "greet"]
    assert make_user.describe() == ""


def test_a_batch_function_gets_all_of_them_at_once():
    seen = []

    @consumer(group="batches", partition_by=["course_name"], handles=SeatTaken, batch=True)
    def count(messages, claim):
        """Counts.

        And more.
        """
        seen.append(([each.user_id for each in messages], claim.attempt))

    declare(count)
    store.append([SeatTaken(course_name="Algebra", user_id=user) for user in ("joe", "ann")])
    drain(count)
    assert seen == [(["joe", "ann"], 1)]
    assert count.describe() == "Counts."


def test_a_function_that_stops_in_the_middle_has_done_what_it_has_done():
    seen = []

    @consumer(group="each", partition_by=["course_name"], handles=SeatTaken)
    def see(message):
        seen.append(message.user_id)

    declare(see)
    store.append([SeatTaken(course_name="Algebra", user_id=user) for user in ("a", "b", "c")])
    claim = groups.claim_next("each", worker="w")
    outcome = runner.run(see, claim, stop=lambda: True)
    assert seen == ["a"]
    assert len(outcome.steps) == 1
    again = groups.claim_next("each", worker="w")
    assert [message.user_id for message in again.messages] == ["b", "c"]
    assert again.attempt == 1


def test_a_claim_can_be_held_where_there_is_nothing_else_to_commit():
    @consumer(group="each", partition_by=["course_name"], handles=SeatTaken)
    def see(message):
        if message.user_id == "writes":
            User.objects.create(username="writes")

    declare(see)
    for user in ("quiet", "writes"):
        store.append(SeatTaken(course_name="Algebra", user_id=user))
        outcome = runner.run(see, groups.claim_next("each", worker="w"), may_hold=True)
        assert (outcome.held is not None) == (user == "quiet")
        if outcome.held:
            groups.ack(outcome.held)
    assert groups.status("each").lag == 0


def test_a_function_outside_of_the_transaction_is_called_once_whatever_the_commit_does(monkeypatch):
    calls = []

    @consumer(group="slow", partition_by=["course_name"], handles=SeatTaken, in_transaction=False)
    def slow(message):
        calls.append(db.in_transaction())
        return Greet(user_id=message.user_id)

    declare(slow)
    store.append(SeatTaken(course_name="Algebra", user_id="joe"))
    drain(slow)
    assert calls == [False]
    assert types() == ["seat.taken", "greet"]


def test_functions_that_run_in_the_transaction_and_after_it():
    order = []

    @consumer(group="order", partition_by=["course_name"], handles=SeatTaken)
    def actions(message):
        yield RunAfterCommit(lambda: order.append(("after", db.in_transaction())))
        yield RunAfterCommit(lambda: 1 / 0)
        yield RunInTransaction(lambda: order.append(("inside", db.in_transaction())))

    declare(actions)
    store.append(SeatTaken(course_name="Algebra", user_id="joe"))
    [outcome] = drain(actions)
    assert order == [("inside", True), ("after", False)]
    assert outcome.error is None


def test_a_lost_claim_undoes_everything(seating):
    @consumer(group="users", partition_by=["user_id"], handles=[SeatTaken])
    def make_user(message):
        User.objects.create(username=message.user_id)

    declare(make_user)
    store.append(SeatTaken(course_name="Algebra", user_id="joe"))
    claim = groups.claim_next("users", worker="w")
    groups.stop("users")
    groups.start("users")
    outcome = runner.run(make_user, claim)
    assert outcome.is_lost
    assert not outcome.steps
    assert not User.objects.exists()
    assert groups.claim_next("users", worker="w").attempt == 1


def test_two_consumers_of_one_group_are_refused():
    @consumer(group="twice", partition_by=[], handles=[SeatTaken])
    def one(message):
        pass

    with pytest.raises(GroupTaken, match="two groups get all messages each"):

        @consumer(group="twice", partition_by=[], handles=[SeatTaken])
        def two(message):
            pass

    with pytest.raises(UnknownConsumer, match="Declared are: twice"):
        registry.consumer("never")


def test_what_cannot_work_is_refused_when_it_is_declared():
    with pytest.raises(TypeError, match="handles no message"):

        class Empty(Decider, group="empty", partition_by=[]):
            pass

    with pytest.raises(TypeError, match="both say @evolves of"):

        class Double(Projector):
            @evolves(SeatTaken)
            def one(self, state, event):
                pass

            @evolves(SeatTaken)
            def two(self, state, event):
                pass

    with pytest.raises(TypeError, match="say partition_by"):

        class Nowhere(Roster, group="nowhere"):
            pass

    with pytest.raises(TypeError, match="and not which: group="):

        class Nameless(Roster, partition_by=[]):
            pass

    with pytest.raises(TypeError, match="needs clear, load"):

        class Half(Roster, group="half", partition_by=[]):
            def save(self, state):
                pass

    with pytest.raises(TypeError, match="no message class"):
        evolves(DomainError)
    with pytest.raises(TypeError, match="names the types"):
        reacts()


def test_a_handler_that_returns_something_else_fails_its_message(seating, monkeypatch):
    monkeypatch.setitem(seating.handlers["decides"], "seat.take", lambda self, state, command: "joined")
    store.append(take("joe"))
    [outcome] = drain(seating)
    assert "returns messages and actions, not 'joined'" in str(outcome.error)


def test_what_was_given_up_is_decided_once_when_its_partition_is_put_back(monkeypatch):
    """A reset replays what was done; a command that became a dead letter was not."""

    class Sure(Seating, group="sure", partition_by=["course_name"], retry=Retry(max_attempts=1)):
        pass

    declare(Sure)
    decide = Sure.handlers["decides"]["seat.take"]
    refuses = lambda self, state, command: decide(self, state, command) if command.user_id != "joe" else 1 / 0  # noqa: E731
    monkeypatch.setitem(Sure.handlers["decides"], "seat.take", refuses)
    store.append([SeatsOffered(course_name="Algebra", seats=9), *take("ann", "joe", "sue")])
    drain(Sure)
    assert [each.user_id for each in store.stream(type=SeatTaken)] == ["ann", "sue"]
    monkeypatch.setitem(Sure.handlers["decides"], "seat.take", decide)
    for _ in range(2):
        groups.reset("sure")
        drain(Sure)
        assert [each.user_id for each in store.stream(type=SeatTaken)] == ["ann", "sue", "joe"]
        assert not list(store.stream(type=CommandRejected))
    assert DeadLetter.objects.get().status in {"coming", "replayed"}


def test_what_was_given_up_gets_into_a_projection_once_when_its_partition_is_put_back(monkeypatch):
    class CourseRoster(Roster, group="roster", partition_by=["course_name"], retry=Retry(max_attempts=1)):
        pass

    declare(CourseRoster)
    evolve = CourseRoster.handlers["evolves"]["seat.taken"]
    fails = lambda self, state, event: evolve(self, state, event) if event.user_id != "joe" else 1 / 0  # noqa: E731
    monkeypatch.setitem(CourseRoster.handlers["evolves"], "seat.taken", fails)
    store.append([SeatTaken(course_name="Algebra", user_id=user) for user in ("ann", "joe", "sue")])
    drain(CourseRoster)
    monkeypatch.setitem(CourseRoster.handlers["evolves"], "seat.taken", evolve)
    for _ in range(2):
        groups.reset("roster")
        drain(CourseRoster)
        assert projections.state("roster", course_name="Algebra") == ["ann", "sue", "joe"]


@pytest.mark.parametrize("error", [AppendInterrupted("locked"), ValueError("no")], ids=["interrupted", "broken"])
def test_what_fails_after_the_commit_is_neither_repeated_nor_blamed_on_the_next_message(error):
    """A hook of a handler runs when everything is committed."""
    calls = []

    def hook() -> None:
        raise error

    @consumer(group="hooks", partition_by=["course_name"], handles=[SeatTaken])
    def handle(message):
        calls.append(message.user_id)
        User.objects.create(username=message.user_id)
        transaction.on_commit(hook)

    declare(handle)
    store.append([SeatTaken(course_name="Algebra", user_id=user) for user in ("joe", "ann")])
    [outcome] = drain(handle)
    assert outcome.error is None
    assert calls == ["joe", "ann"]
    assert User.objects.count() == 2
    assert groups.status("hooks").failures == 0


def test_older_code_leaves_new_types_to_newer_code(seating):
    """Two releases run side by side; the newer one has registered a command that the older one does not know."""
    groups.register("seating", partition_by=["course_name"], handled_types=["seat.give_back"])
    give_back = type("GiveBack", (TakeSeat,), {"__module__": __name__}, type="seat.give_back")
    store.append([SeatsOffered(course_name="Algebra", seats=2), *take("joe")])
    [command] = store.append(give_back(course_name="Algebra", user_id="joe"))
    drain(seating)
    assert [each.user_id for each in store.stream(type=SeatTaken)] == ["joe"], "what it knows is done"
    [offset] = Offset.objects.filter(group__name="seating")
    assert offset.last_position < command.position
    assert "newer code will" in offset.error
    assert offset.attempts == 0, "nobody is to blame"
    again = groups.retry("seating") and groups.claim_next("seating", worker="newer")
    assert again.messages[0] == command
