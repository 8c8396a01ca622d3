"""Which conditions a message class gives for attribute values."""

from typing import Annotated
from uuid import UUID

import pytest
from pydantic import AfterValidator, Field, field_validator, model_validator

from ccc_django import Condition, Event, Indexed, Message, Sensitive, Unindexed, key_pair_id
from tests.domain import CourseCreated, TermStarted, UserJoinedCourse


def test_payload_attribute_names_are_the_declared_attributes():
    assert CourseCreated.payload_attribute_names == ("course_name",)
    assert UserJoinedCourse.payload_attribute_names == ("course_name", "user_id")


def test_a_bare_class_has_no_payload_attribute_names():
    assert TermStarted.payload_attribute_names == ()
    assert Message.payload_attribute_names == ()
    assert Event.payload_attribute_names == ()


def test_payload_attribute_names_are_computed_once():
    assert CourseCreated.payload_attribute_names is CourseCreated.payload_attribute_names


def test_conditions_are_given_only_for_attributes_that_the_class_has():
    assert CourseCreated.to_conditions(course_name="Algebra", user_id="joe") == [
        Condition("course.created", "course_name", "Algebra")
    ]


def test_conditions_are_given_for_all_matching_attributes():
    assert UserJoinedCourse.to_conditions(user_id="joe", course_name="Algebra") == [
        Condition("user.joined_course", "course_name", "Algebra"),
        Condition("user.joined_course", "user_id", "joe"),
    ]


def test_no_conditions_when_no_attribute_matches():
    assert CourseCreated.to_conditions(seat="12A") == []
    assert CourseCreated.to_conditions() == []
    assert TermStarted.to_conditions(course_name="Algebra") == []


class ParcelSent(Event, type="parcel.sent"):
    parcel_id: UUID
    weight: int
    email: str
    street: Annotated[str, AfterValidator(str.strip)]
    receivers: Annotated[list[str], Indexed(name="user_id")]
    note: Annotated[str, Unindexed]
    door_code: Annotated[str, Sensitive]

    @field_validator("email")
    @classmethod
    def lower(cls, value: str) -> str:
        return value.lower()


def test_a_condition_has_the_value_that_a_message_would_carry():
    parcel = UUID("01890a5d-ac96-774b-bcce-b302099a8057")
    conditions = ParcelSent.to_conditions(
        parcel_id=str(parcel).upper(), weight="3", email="Joe@Example.org", street=" Main ", user_id="joe"
    )
    assert [condition.value for condition in conditions] == [parcel, 3, "joe@example.org", "Main", "joe"]


def test_what_has_no_key_pair_gives_no_condition():
    assert ParcelSent.to_conditions(note="x", door_code="1234", receivers="joe") == []


def test_a_value_that_no_message_could_carry_is_refused():
    with pytest.raises(ValueError, match="ParcelSent: weight='heavy' matches no message"):
        ParcelSent.to_conditions(weight="heavy")
    with pytest.raises(ValueError, match="email=None matches no message"):
        ParcelSent.to_conditions(email=None)


class MeetingHeld(Event, type="meeting.held"):
    chair: Annotated[int, Indexed(name="person")]
    guests: Annotated[list[str], Indexed(name="person"), Field(min_length=2)]
    pair: Annotated[tuple[int, int], Indexed] = (1, 2)
    room: Annotated[str | list[str], Indexed] = "A"
    prefix: str = "m-"

    @field_validator("prefix", mode="before")
    @staticmethod
    def text(value: object) -> str:
        return str(value)

    @field_validator("prefix")
    @classmethod
    def normalised(cls, value: str) -> str:
        return cls.normal(value)

    @staticmethod
    def normal(value: str) -> str:
        return value.upper()

    @model_validator(mode="after")
    def has_guests(self) -> "MeetingHeld":
        assert self.guests
        return self


def test_a_condition_takes_the_first_field_under_its_name_that_can_carry_the_value():
    assert MeetingHeld.to_conditions(person=5)[0].value == 5
    assert MeetingHeld.to_conditions(person="joe")[0].value == "joe"


def test_a_condition_on_a_list_is_about_one_element():
    meeting = MeetingHeld(chair=5, guests=["ann", "joe"], room=["B", "C"])
    found = {pair.id for pair in meeting.key_pairs}
    for name, value in {"person": "joe", "pair": 2, "room": "B"}.items():
        [condition] = MeetingHeld.to_conditions(**{name: value})
        assert key_pair_id(name, condition.value) in found


def test_validators_of_every_form_apply_to_conditions():
    assert MeetingHeld.to_conditions(prefix=7)[0].value == "7"
    assert MeetingHeld.to_conditions(prefix="x")[0].value == "X"
