"""Asserting what a block has appended, also in a transaction that is never committed."""

import re

import pytest
from django.db import transaction

from ccc_django import Event, store
from ccc_django.testing import assert_appended, assert_nothing_appended, unfinished
from tests.domain import CourseCreated, JoinCourse, UserJoinedCourse
from tests.testing.places import everywhere

pytestmark = everywhere

ALGEBRA, LOGIC = CourseCreated(course_name="Algebra"), CourseCreated(course_name="Logic")


class Rated(Event, type="asserting.rated"):
    stars: int | bool | float


def again(message):
    """A message with the same content, and an id of its own."""
    return type(message)(**message.payload)


def fails(text: str):
    """An AssertionError that says exactly this."""
    return pytest.raises(AssertionError, match=f"^{re.escape(text)}$")


def test_what_was_appended_is_as_expected_and_can_be_looked_at(place):
    with assert_appended(ALGEBRA, UserJoinedCourse) as appended:
        store.append(again(ALGEBRA))
        store.append(UserJoinedCourse(course_name="Algebra", user_id="joe"))
    assert [message.position for message in appended.messages] == [
        message.position for message in store.stream(after=appended.messages[0].position - 1)
    ]
    assert appended.messages[1].user_id == "joe"


def test_what_was_there_before_does_not_count(place):
    """Somebody who looks at the whole log would find it."""
    store.append(again(ALGEBRA))
    with (
        fails(
            "What was appended is not what was expected:\n"
            "- was expected, + is there\n"
            "- CourseCreated(course_name='Algebra')"
        ),
        assert_appended(ALGEBRA),
    ):
        pass


def test_what_comes_afterwards_does_not_count(place):
    with assert_appended(ALGEBRA) as appended:
        store.append(again(ALGEBRA))
    store.append(again(LOGIC))
    assert len(appended.messages) == 1


def test_another_payload_fails_and_shows_both(place):
    with (
        fails(
            "What was appended is not what was expected:\n"
            "- was expected, + is there\n"
            "- CourseCreated(course_name='Algebra')\n"
            "?                            ^^ ^^^^\n"
            "+ CourseCreated(course_name='Logic')\n"
            "?                            ^^ ^^"
        ),
        assert_appended(ALGEBRA),
    ):
        store.append(again(LOGIC))


@pytest.mark.parametrize("expected", [[ALGEBRA], [LOGIC, ALGEBRA], [ALGEBRA, LOGIC, LOGIC], [CourseCreated]])
def test_nothing_may_be_missing_too_much_or_in_another_order(place, expected):
    with pytest.raises(AssertionError, match=r"\n[+-] CourseCreated\(course_name="), assert_appended(*expected):
        store.append([again(ALGEBRA), again(LOGIC)])


def test_a_class_stands_for_any_payload_and_for_no_other_type(place):
    joined = UserJoinedCourse(course_name="Algebra", user_id="joe")
    shown = r"\n- JoinCourse\(…\)\n\+ UserJoinedCourse\(course_name='Algebra'"
    with pytest.raises(AssertionError, match=shown), assert_appended(CourseCreated, JoinCourse):
        store.append([again(ALGEBRA), joined])


@pytest.mark.parametrize("value", [True, 1.0])
def test_one_is_not_true_and_not_a_float(place, value):
    """For Python they are equal, in the log they are three values."""
    with assert_appended(Rated(stars=1)):
        store.append(Rated(stars=1))
    shown = rf"\n- Rated\(stars=1\)\n(.*\n)*\+ Rated\(stars={value}\)"
    with pytest.raises(AssertionError, match=shown), assert_appended(Rated(stars=1)):
        store.append(Rated(stars=value))


def test_others_may_be_there_where_that_is_allowed_but_the_order_counts(place):
    with assert_appended(ALGEBRA, LOGIC, exactly=False):
        store.append([Rated(stars=1), again(ALGEBRA), Rated(stars=2), again(LOGIC), Rated(stars=3)])
    for missing in ([LOGIC, ALGEBRA], [ALGEBRA, ALGEBRA], [LOGIC, Rated]):
        with pytest.raises(AssertionError, match="What was appended"), assert_appended(*missing, exactly=False):
            store.append([again(ALGEBRA), again(LOGIC)])


def test_what_was_rolled_back_was_not_appended(place):
    with assert_appended(LOGIC):
        with transaction.atomic():
            store.append(again(ALGEBRA))
            transaction.set_rollback(True)
        store.append(again(LOGIC))


def test_blocks_can_be_nested(place):
    with assert_appended(ALGEBRA, LOGIC):
        store.append(again(ALGEBRA))
        with assert_appended(LOGIC):
            store.append(again(LOGIC))
        with assert_nothing_appended():
            pass


def test_what_the_block_raises_is_what_is_seen(place):
    with pytest.raises(ZeroDivisionError), assert_appended(ALGEBRA):
        raise ZeroDivisionError


def test_nothing_was_appended(place):
    store.append(again(ALGEBRA))
    with assert_nothing_appended():
        list(store.stream())


def test_something_that_was_appended_fails_also_if_it_is_not_committed(place):
    with (
        fails(
            "What was appended is not what was expected:\n"
            "- was expected, + is there\n"
            "+ CourseCreated(course_name='Algebra')"
        ),
        transaction.atomic(),
        assert_nothing_appended(),
    ):
        store.append(again(ALGEBRA))


def test_what_cannot_be_expected_is_refused(place):
    with pytest.raises(TypeError, match=re.escape("say assert_nothing_appended()")):
        assert_appended()
    for wrong in ([ALGEBRA], "course.created", int):
        with pytest.raises(TypeError, match="takes messages and message classes"):
            assert_appended(wrong)


@pytest.mark.parametrize("call", [lambda: assert_appended(ALGEBRA), assert_nothing_appended])
def test_a_call_without_a_block_checks_nothing_and_is_refused(place, call):
    call()
    with pytest.raises(AssertionError, match=r"^This test has checked nothing by:\nassert_.*which needs a block: with"):
        unfinished.refuse()
