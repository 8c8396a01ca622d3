"""Canonical values: equal id if and only if equal value."""

import hashlib
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ccc_django import key_pair_id
from ccc_django.canonical import canonical_text, digest, stored_form
from ccc_django.errors import Unstorable

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
floats = st.floats(allow_nan=False, allow_infinity=False)
scalars = text | st.integers() | st.booleans() | floats


def sort_of(value: object) -> type:
    """A float without room for a fraction is the integer of the same value."""
    return int if isinstance(value, float) and abs(value) >= 1e16 else type(value)


@given(text, scalars, text, scalars)
@example("a", 1, "a", True)
@example("a", 1, "a", 1.0)
@example("a", 1, "a", "1")
@example("a", 0.0, "a", -0.0)
@example("a", 1e16, "a", 10**16)
@example("a", 1e-7, "a", 0.0000001)
@example("ab", "c", "a", "bc")
@example("a", "1:b", "a1", "b")
def test_ids_are_equal_if_and_only_if_name_and_value_are(name, value, other_name, other_value):
    same = name == other_name and value == other_value and sort_of(value) is sort_of(other_value)
    assert (key_pair_id(name, value) == key_pair_id(other_name, other_value)) is same


class Colour(Enum):
    RED = "red"


class Size(IntEnum):
    SMALL = 1


@pytest.mark.parametrize(
    ("value", "canonical"),
    [
        ("Algebra", "s:Algebra"),
        ("1", "s:1"),
        (1, "i:1"),
        (True, "b:true"),
        (False, "b:false"),
        (1.0, "f:1.0"),
        (-0.0, "f:0.0"),
        (1e-7, "f:0.0000001"),
        (0.1 + 0.2, "f:0.30000000000000004"),
        (1e16, "i:10000000000000000"),
        (9007199254740993.0, "f:9007199254740992.0"),
        (Decimal("1.00"), "s:1.00"),
        (Decimal("1.0"), "s:1.0"),
        (date(2026, 7, 1), "s:2026-07-01"),
        (datetime(2026, 7, 1, 12, tzinfo=UTC), "s:2026-07-01T12:00:00.000000Z"),
        (datetime(2026, 7, 1, 14, tzinfo=timezone(timedelta(hours=2))), "s:2026-07-01T12:00:00.000000Z"),
        (UUID("01890A5D-AC96-774B-BCCE-B302099A8057"), "s:01890a5d-ac96-774b-bcce-b302099a8057"),
        (Colour.RED, "s:red"),
        (Size.SMALL, "i:1"),
        ("", "s:"),
        ("a|b:c'\"", "s:a|b:c'\""),
    ],
)
def test_canonical_text_of(value, canonical):
    assert canonical_text(stored_form(value)) == canonical


def test_the_id_is_the_start_of_a_sha_256_over_length_prefixed_texts():
    expected = hashlib.sha256("11:course_name8:s:Ålgeb".encode()).digest()[:16]  # lengths are in bytes
    assert key_pair_id("course_name", "Ålgeb") == UUID(bytes=expected)


def test_ids_do_not_change_between_releases():
    assert key_pair_id("course_name", "Algebra") == UUID("9af00174-00a8-f96c-7fcb-302c2f7fc6f0")


@given(st.lists(text, max_size=4), st.lists(text, max_size=4))
def test_digests_of_text_lists_never_collide_on_separators(one, other):
    assert (digest(*one) == digest(*other)) is (one == other)


@pytest.mark.parametrize("value", [None, [1], {"a": 1}])
def test_only_single_values_have_a_key_pair(value):
    with pytest.raises(Unstorable, match="not a scalar"):
        key_pair_id("name", value)


def test_a_name_that_cannot_be_stored_has_no_id():
    with pytest.raises(Unstorable):
        key_pair_id("\ud800", 1)


@pytest.mark.parametrize("value", [float("nan"), float("-inf"), Decimal("nan"), "\0", "\ud800", datetime(2026, 1, 1)])  # noqa: DTZ001
def test_what_cannot_be_stored_has_no_id(value):
    with pytest.raises(Unstorable):
        key_pair_id("name", value)
