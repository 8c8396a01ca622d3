"""Projections: what happened becomes a state for each partition, here or in tables of the project, by version."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group

from ccc_django import Projector, Retry, dead_letters, evolves, groups, reacts, store
from ccc_django.consumers import projections, registry
from ccc_django.consumers.declaring import declare
from ccc_django.errors import ProjectionNotReady, UnknownConsumer
from ccc_django.models import ConsumerGroup, DeadLetter, Offset, Projection, ProjectionState
from tests.consuming import Greet, Roster, SeatTaken, drain

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_consumers")]

AT_ONCE = Retry(max_attempts=2, first_pause=timedelta(0), longest_pause=timedelta(0))


def taken(*users: str, course: str = "Algebra") -> list[SeatTaken]:
    return store.append([SeatTaken(course_name=course, user_id=user) for user in users])


def roster(version: int = 1, base: type[Projector] = Roster, **given):
    options = {"group": "roster", "partition_by": ["course_name"], "version": version, **given}
    made = type(f"Roster{version}", (base,), {"__module__": __name__}, **options)
    declare(made)
    return made


def state(course: str = "Algebra"):
    return projections.state("roster", course_name=course)


class InGroups(Projector):
    """Counts seats in a table that knows nothing of us: Django's own groups."""

    def load(self):
        found = Group.objects.filter(name__startswith=f"{self.partition['course_name']}:").first()
        return None if found is None else int(found.name.partition(":")[2])

    def save(self, state):
        course = self.partition["course_name"]
        Group.objects.filter(name__startswith=f"{course}:").delete()
        Group.objects.create(name=f"{course}:{state}")

    @classmethod
    def clear(cls):
        Group.objects.all().delete()

    @evolves(SeatTaken)
    def taken(self, state, event):
        if event.user_id == "bad":
            raise ValueError("no")
        return (state or 0) + 1


def names() -> list[str]:
    return sorted(Group.objects.values_list("name", flat=True))


def test_a_state_can_be_in_tables_of_the_project():
    kind = roster(base=InGroups)
    taken("a", "b")
    taken("a", course="Logic")
    drain(kind, limit=1)
    assert names() == ["Algebra:2", "Logic:1"]
    assert state() == 2
    assert state("Music") is None
    assert set(ProjectionState.objects.values_list("state", flat=True)) == {None}


def test_a_reset_does_not_count_twice_and_a_rebuild_begins_again():
    kind = roster(base=InGroups)
    taken("a", "b")
    drain(kind)
    groups.reset("roster")
    taken("c")
    drain(kind, limit=1)
    assert names() == ["Algebra:3"]
    projections.rebuild("roster")
    assert names() == []
    drain(kind)
    assert names() == ["Algebra:3"]


def test_a_seek_does_not_count_twice_either():
    kind = roster(base=InGroups)
    _, second = taken("a", "b")
    drain(kind)
    groups.seek("roster", to=second.position)
    taken("c")
    drain(kind)
    assert names() == ["Algebra:3"]


@pytest.mark.parametrize("fails", ["before it saves", "after it has saved"])
def test_a_failure_to_save_leaves_state_and_offset_as_before(monkeypatch, fails):
    kind = roster(base=InGroups)
    taken("a")
    drain(kind)
    before = names(), list(ProjectionState.objects.values()), Offset.objects.get().last_position
    save = kind.save

    def failing(self, state):
        if fails == "after it has saved":
            save(self, state)
        raise ValueError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(kind, "save", failing)
        taken("b")
        [outcome] = drain(kind)
    assert str(outcome.error) == "disk full"
    assert (names(), list(ProjectionState.objects.values()), Offset.objects.get().last_position) == before
    groups.retry("roster")
    drain(kind)
    assert names() == ["Algebra:2"]


@pytest.mark.parametrize("base", [InGroups, Roster])
def test_a_dead_letter_that_is_delivered_again_gets_into_the_state_once(base, monkeypatch):
    kind = roster(base=base, retry=Retry(max_attempts=1))
    with monkeypatch.context() as patch:
        fold = kind.handlers["evolves"]["seat.taken"]

        def failing(self, state, event):
            if event.user_id == "late":
                raise ValueError("no")
            return fold(self, state, event)

        patch.setitem(kind.handlers["evolves"], "seat.taken", failing)
        taken("a", "late", "c")
        drain(kind)
    assert state() in (2, ["a", "c"])
    dead_letters.replay(DeadLetter.objects.get())
    drain(kind)
    assert state() in (3, ["a", "c", "late"])
    before = ProjectionState.objects.values("state", "position").get()
    groups.reset("roster")
    drain(kind)
    assert ProjectionState.objects.values("state", "position").get() == before
    assert state() in (3, ["a", "c", "late"])


class Sourced(Projector):
    """Its state is the whole history, so that nothing has to be loaded."""

    def save(self, state):
        Group.objects.update_or_create(pk=1, defaults={"name": "".join(state)})

    @classmethod
    def clear(cls):
        Group.objects.all().delete()

    @evolves(SeatTaken)
    def taken(self, state, event):
        if event.user_id == "!":
            raise ValueError("no")
        return [*(state or []), event.user_id]

    @reacts(SeatTaken)
    def greet(self, state, event):
        yield Greet(user_id="".join(state))


def test_an_event_sourced_state_is_built_from_the_whole_history():
    kind = roster(base=Sourced, event_sourced=True)
    taken("a", "b")
    drain(kind, limit=1)
    taken("c")
    drain(kind)
    assert names() == ["abc"]
    assert [each.user_id for each in store.stream(type=Greet)] == ["a", "ab", "abc"], "each with the state of then"
    groups.reset("roster")
    drain(kind, limit=1, most=1)
    assert names() == ["abc"], "it never goes back"


def test_an_event_sourced_state_can_be_stored_for_you():
    class Simple(Roster):
        pass

    kind = roster(base=Simple, event_sourced=True)
    taken("a", "b")
    drain(kind, limit=1)
    groups.reset("roster")
    drain(kind)
    assert state() == ["a", "b"]


def test_an_event_sourced_state_that_is_saved_only_cannot_be_looked_at_here():
    kind = roster(base=Sourced, event_sourced=True)
    taken("a")
    drain(kind)
    with pytest.raises(NotImplementedError, match="Roster1 has no load"):
        state()


def test_what_fails_in_an_event_sourced_projection_is_the_one_that_is_blamed():
    kind = roster(base=Sourced, event_sourced=True, retry=AT_ONCE)
    _, bad = taken("a", "!")
    [outcome] = drain(kind, most=1)
    assert [step.message.user_id for step in outcome.steps] == ["a"]
    assert names() == ["a"]
    drain(kind)
    assert DeadLetter.objects.get().position == bad.position


def test_reactions_are_skipped_while_replaying():
    class Greeting(Roster):
        @reacts(SeatTaken)
        def greet(self, state, event):
            yield Greet(user_id=f"{event.user_id} of {len(state)}")

    kind = roster(base=Greeting)
    taken("a", "b")
    drain(kind)
    projections.rebuild("roster")
    taken("c")
    drain(kind)
    assert state() == ["a", "b", "c"]
    assert [each.user_id for each in store.stream(type=Greet)] == ["a of 1", "b of 2", "c of 3"]


class Counted(Roster):
    @evolves(SeatTaken)
    def taken(self, state, event):
        return (state or 0) + 1


def test_a_new_version_is_built_beside_the_old_one_and_switched_to():
    old = roster()
    taken("a", "b")
    drain(old)
    new = roster(2, base=Counted)
    assert (state(), projections.live_version("roster")) == (["a", "b"], 1)
    with pytest.raises(ProjectionNotReady, match=r"roster 2 is \d+ behind"):
        projections.switch("roster")
    drain(new)
    assert state() == ["a", "b"], "nobody has switched"
    assert projections.switch("roster").is_live
    assert state() == 2
    taken("c")
    drain(old)
    assert state() == 2, "the new one is not there yet"
    drain(new)
    assert state() == 3
    projections.switch("roster", to=1)
    assert state() == ["a", "b", "c"], "and back"


def test_a_version_that_is_a_little_behind_can_be_allowed():
    roster()
    new = roster(2, base=Counted)
    taken("a", "b", "c")
    drain(new, limit=2, most=1)
    with pytest.raises(ProjectionNotReady, match="within=1"):
        projections.switch("roster")
    assert projections.switch("roster", within=1).version == 2
    assert state() == 2


def test_a_version_that_gave_up_on_messages_is_not_switched_to_unless_that_is_wanted(monkeypatch):
    drain(roster())
    once = Retry(max_attempts=1)
    new = type(
        "Bad", (Roster,), {"__module__": __name__}, group="roster", partition_by=["course_name"], version=2, retry=once
    )
    declare(new)
    monkeypatch.setitem(new.handlers["evolves"], "seat.taken", lambda *_: 1 / 0)
    taken("a", "b")
    drain(new)
    assert groups.status("roster@2").lag == 0
    with pytest.raises(ProjectionNotReady, match="roster 2 lacks messages: 2 failures"):
        projections.switch("roster")
    assert projections.switch("roster", despite_failures=True).failures == 2


def test_a_version_that_is_not_there_cannot_be_switched_to():
    roster()
    with pytest.raises(ProjectionNotReady, match="has no version 7"):
        projections.switch("roster", to=7)
    type("Roster2", (Roster,), {"__module__": __name__}, group="roster", partition_by=["course_name"], version=2)
    with pytest.raises(ProjectionNotReady, match="2 has not begun"):
        projections.switch("roster")


def test_an_old_version_is_dropped_and_its_progress_with_it():
    old, new = roster(), roster(2, base=InGroups)
    taken("a", "b")
    drain(old)
    drain(new)
    with pytest.raises(ProjectionNotReady, match="1 is live: switch"):
        projections.drop("roster", version=1)
    projections.switch("roster")
    assert projections.drop("roster", version=1) == 1
    assert [group.name for group in ConsumerGroup.objects.all()] == ["roster@2"]
    assert (state(), names()) == (2, ["Algebra:2"])
    [(version,)] = ProjectionState.objects.values_list("version")
    assert version == 2


def test_a_dropped_version_in_tables_of_the_project_is_cleared():
    old, new = roster(), roster(2, base=InGroups)
    taken("a")
    drain(old)
    drain(new)
    projections.drop("roster", version=2)
    assert (state(), names()) == (["a"], [])


def test_versions_are_listed_with_their_lag():
    old = roster()
    taken("a", "b")
    drain(old)
    roster(2, base=Counted)
    listed = [(each.version, each.is_live, each.is_declared, each.partitions, each.lag) for each in versions()]
    assert listed == [(1, True, True, 1, 0), (2, False, True, 0, groups.status("roster@2").lag)]
    registry._consumers.clear()
    assert [each.is_declared for each in versions()] == [False], "nothing is known of one that has stored nothing"
    assert state() == ["a", "b"], "what is stored is there without its code"


def versions() -> list[projections.Version]:
    return projections.versions("roster")


def test_a_rebuild_needs_the_code():
    roster()
    with pytest.raises(UnknownConsumer, match="no projector 'roster' of version 2"):
        projections.rebuild("roster", version=2)


def test_the_version_that_is_declared_first_is_live():
    roster(3)
    roster(4)
    assert Projection.objects.get().live_version == 3
    assert projections.live_version("roster") == 3
