"""Filters find what a predicate over the whole log finds, by any index, while it is built and afterwards."""

import random
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccc_django import Event, Unindexed, indexes, store, where
from ccc_django.attributes import TAG
from ccc_django.errors import AppendConflict, IndexNotReady, NotIndexed
from ccc_django.filters import AllOf, AnyOf, Conditional, FieldIs, Filter, TypeIs
from ccc_django.indexes import building
from ccc_django.models.payload_index import PayloadIndex, Status
from ccc_django.payload_index import value_text, values_at
from tests.domain import CourseCreated, TermStarted, UserJoinedCourse

pytestmark = pytest.mark.django_db(transaction=True)


class SeatReserved(Event, type="seat.reserved"):
    flight_id: str
    seat_no: str
    passenger: Annotated[str, Unindexed] = ""


class Thing(Event, type="filter.thing"):
    alpha: str | int | bool | float | None = None
    beta: Annotated[Any, Unindexed] = None
    labels: list[str] = []
    address: dict[str, Any] = {}


class Gadget(Event, type="filter.gadget"):
    alpha: str | int | None = None
    beta: Annotated[Any, Unindexed] = None


def test_one_field(capsys):
    indexes.declare("payload", ["passenger"])
    ann, joe = store.append(
        [SeatReserved(flight_id="FL001", seat_no=seat, passenger=who) for seat, who in (("1A", "ann"), ("1B", "joe"))]
    )
    assert store.read(where(type=SeatReserved, passenger="ann")).messages == [ann]
    assert store.read(where(passenger=["joe", "ann"])).messages == [ann, joe]
    assert store.read(where(type=SeatReserved, passenger="ann", seat_no="1B")).messages == []
    assert store.read(where(type=TermStarted) | where(passenger="joe"), backwards=True, limit=1).messages == [joe]


def test_a_seat_is_reserved_once():
    indexes.declare("payload_hash", ["flight_id", "seat_no"])
    free = where(type=SeatReserved, flight_id="FL001", seat_no="12A")
    context = store.read(free)
    assert context.messages == []
    [stored] = store.append(SeatReserved(flight_id="FL001", seat_no="12A"), guard=context.guard)
    with pytest.raises(AppendConflict) as conflict:
        store.append(SeatReserved(flight_id="FL001", seat_no="12A"), guard=context.guard)
    assert conflict.value.positions == [stored.position]
    store.append(SeatReserved(flight_id="FL001", seat_no="12B"), guard=context.guard.moved_past([stored]))
    with pytest.raises(AppendConflict):
        store.append(SeatReserved(flight_id="FL001", seat_no="12A"), unless=free, after=context.position)
    store.append(SeatReserved(flight_id="FL001", seat_no="12A"), unless=free, after=stored.position)


def test_unless_and_after_go_together():
    for arguments in ({"unless": where(type=TermStarted)}, {"after": 0}):
        with pytest.raises(TypeError, match="together with after"):
            store.append(TermStarted(), **arguments)


def test_a_guard_on_everything_and_on_whole_types():
    everything = store.read(where()).guard
    of_type = store.read(where(type=[CourseCreated, TermStarted])).guard
    store.append(UserJoinedCourse(course_name="Algebra", user_id="joe"), guard=of_type)
    with pytest.raises(AppendConflict):
        store.append(TermStarted(), guard=everything)
    store.append(TermStarted(), guard=of_type)
    with pytest.raises(AppendConflict):
        store.append(TermStarted(), guard=of_type)


def test_tags():
    vip = CourseCreated(course_name="Algebra", metadata={"tags": ["vip", "new"]})
    new = CourseCreated(course_name="Algebra", metadata={"tags": ["new"]})
    vip, new = store.append([vip, new])
    assert store.read(where(tag="vip")).messages == [vip]
    assert store.read(where.any_of(tags=["vip", "new"])).messages == [vip, new]
    assert store.read(where.all_of(tags=["vip", "new"])).messages == [vip]
    assert store.read(where(type=CourseCreated) & (where(course_name="History") | where(tag="vip"))).messages == [vip]


def test_append_if_no_tag_matches():
    """The ancestor's words: a read context is messages, guard and position; the append is conditional on a filter."""
    taken = where.all_of(tags=["flight:FL001", "seat:12A"])
    context = store.read(taken)
    booked = TermStarted(metadata={"tags": ["flight:FL001", "seat:12A", "eco"]})
    [stored] = store.append(booked, unless=taken, after=context.position)
    store.append(TermStarted(metadata={"tags": ["flight:FL001", "seat:12B"]}), guard=store.read(taken).guard)
    with pytest.raises(AppendConflict) as conflict:
        store.append(TermStarted(), unless=taken, after=context.position)
    assert conflict.value.positions == [stored.position]


def test_conditions_and_filters_are_one_tree():
    joined = UserJoinedCourse(course_name="Algebra", user_id="joe")
    created, joined, started = store.append([CourseCreated(course_name="Algebra"), joined, TermStarted()])
    both = where.conditions(CourseCreated.to_conditions(course_name="Algebra")) | where(user_id="joe")
    context = store.read(both)
    assert context.messages == [created, joined]
    assert store.read(both | where(type=TermStarted)).messages == [created, joined, started]
    with pytest.raises(TypeError, match="names types by itself"):
        store.read(both, type=TermStarted)
    with pytest.raises(TypeError, match="combined by"):
        both & where(user_id="joe")
    with pytest.raises(AppendConflict):
        store.append(TermStarted(), unless=CourseCreated.to_conditions(course_name="Algebra"), after=0)
    store.append(UserJoinedCourse(course_name="History", user_id="ann"), guard=context.guard)
    store.append(UserJoinedCourse(course_name="History", user_id="joe"), guard=context.guard)
    with pytest.raises(AppendConflict):
        store.append(TermStarted(), guard=context.guard)


def test_one_is_not_the_text_of_one_and_null_is_a_choice():
    indexes.declare("payload", ["beta"], nulls=True)
    text, number, null, truth = store.append([Thing(beta="1"), Thing(beta=1), Thing(beta=None), Thing(beta=True)])
    assert store.read(where(beta="1")).messages == [text]
    assert store.read(where(beta=1)).messages == [number]
    assert store.read(where(beta=True)).messages == [truth]
    assert store.read(where(type=Thing, beta=None)).messages == [null]
    with pytest.raises(NotIndexed):
        store.read(where(type=Thing, alpha=None))


class Priced(Event, type="filter.priced"):
    price: float
    amount: int


def test_a_value_is_looked_for_as_its_class_carries_it():
    [priced] = store.append(Priced(price=10, amount=1))
    assert store.read(where(type=Priced, price=10)).messages == [priced]
    assert store.read(where(type=Priced, amount="1")).messages == []
    assert store.read(where(type=Priced, amount=1.0)).messages == []


def test_an_index_that_is_not_complete_changes_nothing_for_filters_that_need_it_not(settings):
    settings.CCC_STRICT_FILTERS = True
    seat = where(type=SeatReserved, flight_id="FL001", seat_no="12A")
    [stored] = store.append(SeatReserved(flight_id="FL001", seat_no="12A"))
    indexes.declare("payload_hash", ["flight_id", "seat_no"], complete=False)
    indexes.declare("payload", ["seat_no"], complete=False)
    assert store.read(seat).messages == [stored]
    PayloadIndex.objects.filter(name="seat_no").update(status=Status.DECLARED)
    assert store.read(seat).messages == [stored]


def test_strict_filters_wait_until_an_index_is_complete(settings):
    store.append([Thing(beta=number) for number in range(5)])
    indexes.declare("payload", ["beta"], complete=False)
    assert [message.beta for message in store.read(where(beta=3)).messages] == [3]
    settings.CCC_STRICT_FILTERS = True
    with pytest.raises(IndexNotReady, match="positions remain"):
        store.read(where(beta=3))
    indexes.build()
    assert [message.beta for message in store.read(where(beta=3)).messages] == [3]


def test_a_guard_holds_while_its_index_is_built():
    before = store.head()
    [old] = store.append(Thing(beta="x"))
    indexes.declare("payload", ["beta"], complete=False)
    with pytest.raises(AppendConflict) as conflict:
        store.append(Thing(beta="x"), unless=where(beta="x"), after=before)
    assert conflict.value.positions == [old.position]
    guard = store.read(where(beta="x")).guard
    [new] = store.append(Thing(beta="x"), guard=guard)
    with pytest.raises(AppendConflict) as conflict:
        store.append(Thing(beta="x"), guard=guard)
    assert conflict.value.positions == [new.position]


values = st.sampled_from(["x", "y", "1", 1, True, 1.0, "a|b:", "🎓"])
leaves = st.one_of(
    st.builds(lambda value: where(type=value), st.sampled_from([Thing, Gadget, [Thing, Gadget]])),
    st.builds(lambda value: where(alpha=value), values),
    st.builds(lambda value: where(beta=value), values | st.none()),
    st.builds(lambda value: where(labels=value), values),
    st.builds(lambda value: where(address__city=value), values),
    st.builds(lambda value: where(tag=value), st.sampled_from("pq")),
    st.builds(lambda one, other: where(type=Thing, alpha=one, beta=other), values, values),
    st.builds(lambda some: where(alpha=some), st.lists(values, min_size=1, max_size=3)),
    st.just(where()),
)


def deeper(inner: Any) -> Any:
    return st.builds(lambda one, other, both: one & other if both else one | other, inner, inner, st.booleans())


depth_four = deeper(leaves | deeper(leaves | deeper(leaves | deeper(leaves))))


def matches(message: Event, filter: Filter) -> bool:
    """A predicate over one message, which knows nothing of indexes."""
    match filter:
        case TypeIs(type):
            return message.type == type
        case FieldIs(name, text):
            payload = message.model_dump(mode="json")
            found = message.metadata.get("tags", ()) if name == TAG else values_at(payload, name.split("."))
            return any(value_text(value) == text for value in found)
        case AllOf(parts):
            return all(matches(message, part) for part in parts)
        case AnyOf(parts):
            return any(matches(message, part) for part in parts)
    assert not isinstance(filter, Conditional)
    return True


def random_messages(count: int, seed: int) -> list[Event]:
    dice = random.Random(seed)
    some = ["x", "y", "1", 1, True, 1.0, "a|b:", "🎓", None]

    def made() -> Event:
        metadata = {"tags": dice.sample("pq", dice.randint(0, 2))}
        a, b = dice.choice(some), dice.choice([*some, ["x", 1], {"c": "x"}])
        if dice.random() < 0.3:
            return Gadget(alpha="x" if a is True or a == 1.0 else a, beta=b, metadata=metadata)
        labels = dice.sample(["x", "y", "🎓"], dice.randint(0, 3))
        address = dice.choice([{}, {"city": dice.choice(some)}, {"city": ["x", {"no": 1}, None]}])
        return Thing(alpha=a, beta=b, labels=labels, address=address, metadata=metadata)

    return [made() for _ in range(count)]


def assert_filters_agree(stored: list[Event]) -> None:
    @given(depth_four, st.integers(0, len(stored) - 1))
    def agree(filter: Filter, after: int) -> None:
        expected = [message for message in stored if matches(message, filter)]
        result = store.read(filter)
        assert result.messages == expected
        first = stored[after].position
        assert store.read(filter, after=first).messages == [each for each in expected if each.position > first]
        assert store.read(filter, backwards=True, limit=3).messages == expected[::-1][:3]

    agree()


def test_any_filter_agrees_with_a_predicate_before_during_and_after_building(monkeypatch):
    monkeypatch.setattr(building, "BATCH", 15)
    stored = store.append(random_messages(40, seed=1))
    rows = [
        indexes.declare("payload", [name], nulls=name == "beta", complete=False)
        for name in ("beta", "labels", "address.city")
    ]
    rows.append(indexes.declare("payload_hash", ["beta", "alpha"], complete=False))
    assert {row.status for row in rows} == {Status.BUILDING}
    stored += store.append(random_messages(20, seed=2))
    assert_filters_agree(stored)
    for row in rows[::2]:
        building.build_batch(row.pk)
    assert_filters_agree(stored)
    indexes.build()
    assert {each["status"] for each in indexes.overview()} == {"ready"}
    assert_filters_agree(stored)
