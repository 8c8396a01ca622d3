"""Filters are values: equal, hashable, printed as the expression that makes them, serialisable, normalised."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccc_django import Condition, Event, Unindexed, filters, where
from ccc_django.compiling import compiled
from ccc_django.errors import FilterTooWide, NotIndexed
from ccc_django.payload_index import PayloadIndex, values_at
from tests.domain import CourseCreated, UserJoinedCourse


class Flown(Event, type="filters.flown"):
    flight_id: str
    seat_no: str
    note: Annotated[str, Unindexed] = ""
    address: dict = {}


values = st.sampled_from(["x", "1", 1, 1.0, True, None, "ü'\"", Decimal("1.50"), -7])
leaves = st.one_of(
    st.just(where()),
    st.builds(lambda name: where(type=name), st.sampled_from(["a", "b", ["a", "b"]])),
    st.builds(
        lambda name, value: where({name: value}), st.sampled_from(["a", "b.c", "odd name", "tag", "x__y"]), values
    ),
    st.builds(lambda tags: where.any_of(tags=tags), st.lists(st.sampled_from("xyz"), min_size=1)),
    st.builds(lambda tags: where.all_of(tags=tags), st.lists(st.sampled_from("xyz"), min_size=1)),
)
expressions = st.recursive(
    leaves,
    lambda inner: st.builds(lambda a, b, both: a & b if both else a | b, inner, inner, st.booleans()),
    max_leaves=8,
)


@given(expressions)
def test_a_filter_is_printed_as_an_expression_that_makes_it(filter):
    assert eval(repr(filter), {"where": where}) == filter


@given(expressions)
def test_a_filter_survives_json(filter):
    assert filters.read_json(filters.to_json(filter)) == filter


@given(expressions, expressions)
def test_equal_filters_have_equal_hashes_and_order_does_not_count(one, other):
    assert one | other == other | one
    assert hash(one & other) == hash(other & one)


def test_filters_are_flat_and_say_things_once():
    a, b, c = where(a=1), where(b=2), where(c=3)
    assert (a & b) & (b & c) == where(a=1, b=2, c=3)
    assert repr(a & (b & c) & a) == "where(a=1, b=2, c=3)"
    assert a | (b | a) == a | b
    assert a & where() == a
    assert a | where() == where()
    assert where(a=[1, 1, 2]) == where(a=1) | where(a=2)
    assert repr(where(a=[1, 2], tag="vip")) == "where(a=[1, 2], tag='vip')"
    assert repr((a | b) & c) == "(where(a=1) | where(b=2)) & where(c=3)"


def test_values_are_compared_as_they_are_stored():
    assert len({where(a=1), where(a="1"), where(a=True), where(a=1.0), where(a=None)}) == 5
    moment = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert where(a=moment) == where(a="2026-03-01T12:00:00.000000Z")
    assert where(a=UUID(int=7)) == where(a=str(UUID(int=7)))
    assert where(a=Decimal("1.50")) == where(a="1.50")


def test_types_are_named_by_class_or_by_name():
    assert where(type=[CourseCreated, "user.joined_course"]) == where(type=CourseCreated) | where(type=UserJoinedCourse)


def test_what_cannot_be_asked_is_refused_with_a_reason():
    with pytest.raises(TypeError, match="cannot be negated"):
        ~where(a=1)
    with pytest.raises(TypeError, match="neither true nor false"):
        where(a=1) and where(b=1)
    with pytest.raises(TypeError, match="name a field inside"):
        where(address={"city": "Lisbon"})
    with pytest.raises(ValueError, match="empty list"):
        where(a=[])
    with pytest.raises(ValueError, match="empty list"):
        where.all_of(tags=["vip"], a=[])
    with pytest.raises(ValueError, match="empty list"):
        where.conditions([])
    with pytest.raises(ValueError, match="names message types"):
        where({"type": "a"})
    for wrong in ({"field": "a", "value": {}}, {"conditions": [["t"]]}, {"conditions": [["t", "a", {}]]}, [], None):
        with pytest.raises(ValueError, match="Not a filter"):
            filters.read_json(wrong)
    with pytest.raises(TypeError, match=r"by \| only"):
        where(a=1) & where.conditions([Condition("t", "a", 1)])
    with pytest.raises(TypeError, match=r"by \| only"):
        where(a=1) & (where(b=1) | where.conditions([Condition("t", "a", 1)]))
    with pytest.raises(TypeError, match="A tag is text"):
        where(tag=1)
    with pytest.raises(ValueError, match="Not a filter"):
        filters.read_json({"type": "a", "more": 1})


def test_a_field_without_an_index_is_an_error_that_shows_the_declaration():
    with pytest.raises(NotIndexed, match=r'indexes\.declare\("payload", \["note"\]\)'):
        compiled(where(type=Flown, note="late"), [])
    with pytest.raises(NotIndexed, match="nulls=True"):
        compiled(where(type=Flown, note=None), [PayloadIndex(("note",))])
    with pytest.raises(NotIndexed):
        compiled(where(type=Flown, address__city="Lisbon"), [])
    with pytest.raises(NotIndexed):
        compiled(where(type=Flown, flightid="typo"), [])
    with pytest.raises(NotIndexed):
        compiled(where(type="nobody.knows", flight_id="FL001"), [])
    with pytest.raises(NotIndexed):
        compiled(where(note="late"), [])
    compiled(where(flight_id="FL001") | where(type=Flown, note="late"), [PayloadIndex(("note",))])


def test_a_combination_is_one_probe_and_its_order_does_not_matter():
    index = PayloadIndex.of("payload_hash", ["seat_no", "flight_id"])
    assert index == PayloadIndex.of("payload_hash", ["flight_id", "seat_no"])
    wanted = compiled(where(type=Flown, flight_id="FL001", seat_no="12A"), [index])
    assert [row.name for row in wanted.rows] == [index.name]
    assert wanted == compiled(where(type=Flown, seat_no="12A", flight_id="FL001"), [index])
    several = compiled(
        where(type=Flown, flight_id=["FL001", "FL002"], seat_no=["1A", "1B"], note="x"),
        [index, PayloadIndex(("note",))],
    )
    assert len([row for row in several.rows if row.name == index.name]) == 4
    assert {row.needed for row in several.rows} == {2}
    single = compiled(where(type=Flown, flight_id="FL001", seat_no="12A"), [])
    assert sorted(row.name for row in single.rows) == ["flight_id", "seat_no"]


def test_a_combination_needs_every_field_and_tells_values_apart():
    index = PayloadIndex.of("payload_hash", ["a", "b"])
    assert index.pairs({"a": "x"}) == []
    assert index.pairs({"a": "x", "b": None}) == []
    assert index.pairs({"a": "1", "b": "2"}) != index.pairs({"a": 1, "b": 2})
    assert index.pairs({"a": "x:1", "b": "y"}) != index.pairs({"a": "x", "b": "1:y"})
    assert len(index.pairs({"a": ["x", "y"], "b": [1, 2]})) == 4
    with pytest.raises(ValueError, match="40,000 combinations"):
        index.refuse_too_many({"a": list(range(200)), "b": list(range(200))})


def test_paths_go_through_objects_and_lists():
    payload = {"a": {"b": [{"c": 1}, {"c": [2, 3]}, 4, [{"c": 5}]], "d": None}, "e": {"f": 1}}
    assert [*values_at(payload, ["a", "b", "c"])] == [1, 2, 3]
    assert [*values_at(payload, ["a", "d"])] == [None]
    assert [*values_at(payload, ["e"])] == [], "objects are no values"
    assert [*values_at(payload, ["a", "b"])] == [4]


def test_what_is_no_index_is_refused():
    for kind, fields in (
        ("payload", []),
        ("payload", ["a", "b"]),
        ("payload_hash", ["a"]),
        ("hash", ["a"]),
        ("payload", ["$tag"]),
        ("payload", ["a..b"]),
    ):
        with pytest.raises(ValueError, match=r"payload|cannot be indexed"):
            PayloadIndex.of(kind, fields)
    with pytest.raises(TypeError, match="list of names"):
        PayloadIndex.of("payload", "account_id")


def test_a_filter_with_too_many_alternatives_is_refused():
    wide = where()
    for number in range(12):
        wide &= where(a=number) | where(a=-number, b=number)
    with pytest.raises(FilterTooWide):
        compiled(wide, [PayloadIndex(("a",)), PayloadIndex(("b",))])


def test_types_that_exclude_each_other_match_nothing():
    wanted = compiled(where(type=CourseCreated) & where(type=UserJoinedCourse), [])
    assert not wanted.rows
    assert not wanted.whole_types
    assert not wanted.everything
