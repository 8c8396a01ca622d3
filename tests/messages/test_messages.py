"""Messages: construction, envelope, copies, refusals."""

import pickle
import time
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from types import SimpleNamespace
from typing import Annotated, Any, NewType
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel, Field, SecretStr, ValidationError, field_serializer, field_validator
from typing_extensions import TypeAliasType

from ccc_django import Event, Indexed, Message, Sensitive, key_pair_id
from ccc_django.errors import ReservedName
from tests.domain import CourseCreated, JoinCourse, UserJoinedCourse


class Measured(Event, type="measured", topic="lab", version=3):
    value: float | None = None
    taken_at: datetime | None = None
    notes: list[str] = []
    anything: Any = None
    tenants: Annotated[list[str], Indexed(maximum=3)] = []


def test_a_new_message_has_a_whole_envelope():
    before = datetime.now(UTC)
    event = CourseCreated(course_name="Algebra")
    assert event.type == CourseCreated.type == "course.created"
    assert before <= event.created_at <= datetime.now(UTC)
    assert event.correlation_id == event.causation_id == event.id
    assert (event.version, event.topic, event.metadata, event.position) == (1, "", {}, None)


def test_class_keywords_declare_topic_and_version():
    assert (Measured().topic, Measured().version) == (Measured.topic, Measured.version) == ("lab", 3)
    assert Measured(topic="field").topic == "field"


def test_ids_are_uuids_of_version_7_that_sort_by_time():
    first = CourseCreated(course_name="Algebra").id
    time.sleep(0.002)
    second = CourseCreated(course_name="Algebra").id
    assert (first.version, first.variant) == (7, "specified in RFC 4122")
    assert first.bytes < second.bytes
    assert len({CourseCreated(course_name="Algebra").id for _ in range(1000)}) == 1000


def test_parts_of_the_envelope_can_be_given():
    lisbon = timezone(timedelta(hours=1))
    event = CourseCreated(
        course_name="Algebra",
        id="01890a5d-ac96-774b-bcce-b302099a8057",
        created_at=datetime(2026, 7, 1, 12, tzinfo=lisbon),
        metadata={"by": "ann", "at": datetime(2026, 7, 1, 12, tzinfo=lisbon), "sizes": (1, 2)},
    )
    assert event.id == event.correlation_id == UUID("01890a5d-ac96-774b-bcce-b302099a8057")
    assert event.created_at.tzinfo == UTC
    assert event.metadata == {"by": "ann", "at": "2026-07-01T11:00:00.000000Z", "sizes": [1, 2]}


def test_correlate_links_cause_and_trace():
    command = JoinCourse(course_name="Algebra", user_id="joe")
    event = UserJoinedCourse(course_name="Algebra", user_id="joe")
    correlated = command.correlate(event)
    assert correlated.causation_id == command.id
    assert correlated.correlation_id == command.correlation_id
    assert correlated.id == event.id
    assert event.causation_id == event.id, "the original is as it was"
    reaction = correlated.correlate(CourseCreated(course_name="Algebra"))
    assert reaction.causation_id == correlated.id
    assert reaction.correlation_id == command.id


def test_copies_change_only_what_they_name():
    event = UserJoinedCourse(course_name="Algebra", user_id="joe", metadata={"by": "ann"})
    moved = event.with_payload(course_name="History")
    assert moved.payload == {"course_name": "History", "user_id": "joe"}
    assert moved.payload_json == '{"course_name":"History","user_id":"joe"}'
    assert moved.envelope == event.envelope
    tagged = event.with_metadata(tags=["vip"])
    assert tagged.metadata == {"by": "ann", "tags": ["vip"]}
    assert tagged.payload == event.payload
    assert event.model_copy(update={"course_name": "History"}) == moved
    assert event.model_copy() == event


def test_messages_cannot_be_mutated():
    event = CourseCreated(course_name="Algebra", metadata={"by": "ann"})
    with pytest.raises(ValidationError, match="frozen"):
        event.course_name = "History"
    with pytest.raises(TypeError):
        event.metadata["by"] = "joe"
    with pytest.raises(ValidationError, match="frozen"):
        event.id = None


def test_messages_are_equal_by_payload_and_envelope():
    event = CourseCreated(course_name="Algebra")
    assert event == CourseCreated(course_name="Algebra", id=event.id, created_at=event.created_at)
    assert event != CourseCreated(course_name="Algebra")
    assert event != event.with_payload(course_name="History")
    assert event != "Algebra"
    assert len({event, event.model_copy()}) == 1


def test_messages_can_be_pickled():
    event = CourseCreated(course_name="Algebra")
    assert pickle.loads(pickle.dumps(event)) == event


def test_messages_can_be_made_from_mappings_and_json():
    assert CourseCreated.model_validate({"course_name": "Algebra"}).course_name == "Algebra"
    assert CourseCreated.model_validate_json('{"course_name": "Algebra"}').payload_json == '{"course_name":"Algebra"}'
    event = CourseCreated(course_name="Algebra")
    assert CourseCreated.model_validate(event) is event
    with pytest.raises(ValidationError, match="NUL"):
        CourseCreated.model_validate({"course_name": "\0"})


def test_pydantics_own_ways_to_make_a_message_are_strict_when_asked():
    assert Measured.model_validate_json('{"taken_at": "2026-07-01T12:00:00Z"}', strict=True).taken_at.tzinfo
    with pytest.raises(ValidationError, match="value"):
        Measured.model_validate({"value": "1.5"}, strict=True)
    with pytest.raises(ValidationError, match="NUL"):
        Measured.model_validate(SimpleNamespace(notes=["\0"]), from_attributes=True)


def test_messages_can_be_parts_of_other_pydantic_models():
    class Letter(BaseModel):
        about: CourseCreated

    letter = Letter.model_validate({"about": {"course_name": "Algebra"}})
    assert letter.about.id == letter.about.id
    assert letter.about.payload_json == '{"course_name":"Algebra"}'


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        ({}, "CourseCreated\ncourse_name\n  Field required"),
        ({"course_name": 7}, "CourseCreated\ncourse_name\n  Input should be a valid string"),
        ({"course_name": "A", "seat": 1}, "CourseCreated\nseat\n  Extra inputs are not permitted"),
        ({"course_name": "A\0"}, "CourseCreated\ncourse_name\n  text with a NUL"),
        ({"course_name": "A\ud800"}, "CourseCreated\ncourse_name\n  "),
        ({"course_name": "A", "metadata": {"a": ["\0"]}}, "CourseCreated\nmetadata.a.0\n  text with a NUL"),
        ({"course_name": "A", "metadata": {"tags": ["t"] * 101}}, "CourseCreated\nmetadata\n.*at most 100 strings"),
        ({"course_name": "A", "metadata": {"tags": "vip"}}, "CourseCreated\nmetadata\n.*at most 100 strings"),
        ({"course_name": "A", "metadata": {("a", "b"): 1}}, "CourseCreated\nmetadata"),
        ({"course_name": "A", "metadata": {"a": object()}}, "CourseCreated\nmetadata.a\n.*object has no exact form"),
        ({"course_name": "A", "id": "7"}, "CourseCreated\nid"),
        ({"course_name": "A", "topic": "t" * 256}, "CourseCreated\ntopic"),
        ({"course_name": "A", "topic": "\0"}, "CourseCreated\ntopic"),
        ({"course_name": "A", "created_at": datetime(2026, 1, 1)}, "CourseCreated\ncreated_at"),  # noqa: DTZ001
    ],
)
def test_a_wrong_message_is_refused_by_class_and_field(payload, said):
    with pytest.raises(ValidationError, match=f"(?s)for {said}"):
        CourseCreated(**payload)


@pytest.mark.parametrize(
    ("payload", "said"),
    [
        ({"value": float("nan")}, "value"),
        ({"value": float("inf")}, "value"),
        ({"taken_at": datetime(2026, 1, 1)}, "taken_at\n  a datetime without a time zone"),  # noqa: DTZ001
        ({"taken_at": datetime.max.replace(tzinfo=timezone(-timedelta(hours=1)))}, "taken_at\n  a datetime outside"),
        ({"notes": ["fine", "\0"]}, "notes.1\n  text with a NUL"),
        ({"anything": {"deep": [{"er": float("nan")}]}}, "anything.deep.0.er\n  NaN and infinity"),
        ({"anything": 10**4000}, "anything\n  an integer of more than"),
        ({"anything": b"\xff"}, "anything\n  bytes has no exact form"),
        ({"anything": {True: 1}}, "anything\n  bool cannot be a key"),
        ({"tenants": ["a", "b", "c", "d"]}, "tenants\n  an indexed list may have 3 elements at most"),
    ],
)
def test_what_the_log_could_not_return_exactly_is_refused(payload, said):
    with pytest.raises(ValidationError, match=f"for Measured\n{said}"):
        Measured(**payload)


def test_nesting_is_limited():
    value: list[Any] = []
    for _ in range(120):
        value = [value]
    with pytest.raises(ValidationError, match="nested deeper than 100"):
        Measured(anything=value)


def test_payload_and_metadata_are_limited_in_size(settings):
    settings.CCC_MAX_PAYLOAD = 50
    CourseCreated(course_name="A" * 32)
    with pytest.raises(ValidationError, match="the payload has 51 bytes, more than CCC_MAX_PAYLOAD = 50"):
        CourseCreated(course_name="A" * 33)
    with pytest.raises(ValidationError, match="the payload has 51 bytes"):
        CourseCreated(course_name="Ä" * 16 + "A")
    with pytest.raises(ValidationError, match="the metadata has"):
        CourseCreated(course_name="A", metadata={"note": "x" * 50})


def test_a_class_without_a_type_has_no_messages():
    with pytest.raises(TypeError, match="Event has no message type"):
        Event()
    assert not hasattr(Message, "type")


@pytest.mark.parametrize("name", ["id", "type", "topic", "metadata", "position", "payload", "version", "created_at"])
def test_a_payload_attribute_cannot_hide_the_envelope(name):
    with pytest.raises(ReservedName, match=f"{name} belongs to every message"):
        type("Hiding", (Event,), {"__annotations__": {name: str}, "__module__": __name__}, type="hiding")


@pytest.mark.parametrize(
    "keywords", [{"type": ""}, {"type": "x" * 256}, {"type": "a\0"}, {"type": "x", "version": 0}, {"type": 7}]
)
def test_a_class_with_a_wrong_declaration_is_refused(keywords):
    with pytest.raises(TypeError, match="Wrong"):
        type("Wrong", (Event,), {"__module__": __name__}, **keywords)


Secret = TypeAliasType("Secret", Annotated[str, Sensitive])
Pin = NewType("Pin", Annotated[str, Sensitive])


class CardCharged(Event, type="card.charged"):
    number: Annotated[str, Sensitive]
    pin: Annotated[str, Sensitive] | None = None
    holder: Secret = "4111"
    code: Pin | None = None
    several: list[Secret] = []
    amount: int = 1


def test_sensitive_values_are_neither_printed_nor_indexed():
    card = CardCharged(number="4111", pin="4111", code="4111", several=["4111"])
    assert "4111" not in repr(card)
    assert "4111" not in str(card.key_pairs)
    assert card.number == "4111"


@pytest.mark.parametrize("wrong", [{"number": "4111", "amount": "x"}, {"number": b"4111\xff"}, {"pin": "4111"}])
def test_sensitive_values_do_not_show_in_errors(wrong):
    with pytest.raises(ValidationError) as error:
        CardCharged(**wrong)
    assert "4111" not in str(error.value)


class Defaults(Event, type="defaults"):
    price: float = 0
    total: Decimal = 0
    at: datetime = datetime(2026, 7, 1, tzinfo=timezone(timedelta(hours=2)))


def test_defaults_are_values_like_any_other():
    event = Defaults()
    assert (type(event.price), type(event.total), event.at.tzinfo) == (float, Decimal, UTC)
    conditions = Defaults.to_conditions(price=0, total=0)
    assert {key_pair_id(each.name, each.value) for each in conditions} <= {pair.id for pair in event.key_pairs}


def test_what_is_done_to_a_list_later_changes_neither_payload_nor_index():
    given = ["a"]
    event = Measured(tenants=given)
    given.append("b")
    assert event.tenants == ["a"]
    event.tenants.append("\0")
    assert event.payload_json.count("\\u0000") == 0
    assert [pair.value for pair in event.key_pairs if pair.name == "tenants"] == ["s:a"]


def test_metadata_is_not_shared_between_copies():
    event = CourseCreated(course_name="Algebra", metadata={"by": ["ann"]})
    copy = event.correlate(event)
    copy.metadata["by"].append("joe")
    assert event.metadata == copy.metadata == {"by": ["ann"]}
    assert hash(event.envelope) == hash(event.envelope)


class Base(BaseModel):
    x: int = 1


class More(Base):
    y: int = 2


class Odd(Enum):
    PAIR = (1, 2)


class Loses(Event, type="loses"):
    secret: SecretStr = SecretStr("")
    keys: dict[int | str, int] = {}
    hidden: int = Field(default=3, exclude=True)
    base: Base = Base()
    message: CourseCreated | None = None
    odd: Odd | None = None
    counted: int = 0
    upper: str = ""
    anything: Any = None

    @field_validator("counted")
    @classmethod
    def count(cls, value: int) -> int:
        return value + 1 if value else 0

    @field_serializer("upper")
    def shout(self, value: str) -> str:
        return value.upper()


@pytest.mark.parametrize(
    ("payload", "field"),
    [
        ({"secret": "hello"}, "secret"),
        ({"keys": {1: 1, "1": 2}}, "keys"),
        ({"hidden": 7}, "hidden"),
        ({"base": More()}, "base"),
        ({"message": CourseCreated(course_name="A")}, "message"),
        ({"odd": Odd.PAIR}, "odd"),
        ({"counted": 1}, "counted"),
        ({"upper": "x"}, "upper"),
        ({"anything": Decimal(1)}, "anything"),
        ({"anything": (1, 2)}, "anything"),
        ({"anything": {"a": datetime(2026, 1, 1, tzinfo=UTC)}}, "anything"),
    ],
)
def test_a_value_that_would_come_back_changed_is_refused(payload, field):
    with pytest.raises(
        ValidationError, match=rf"for Loses\n{field}\n  (would come back changed|could not be read|two keys)"
    ):
        Loses(**payload)


def test_a_repeated_hour_is_a_moment_like_any_other():
    lisbon = ZoneInfo("Europe/Lisbon")
    for fold, hour in ((0, 0), (1, 1)):
        event = Measured(taken_at=datetime(2026, 10, 25, 1, 30, fold=fold, tzinfo=lisbon))
        assert event.taken_at == datetime(2026, 10, 25, hour, 30, tzinfo=UTC)


def test_aliases_are_for_callers_and_names_for_the_log():
    class Swapped(Event, type="swapped", serialize_by_alias=True):
        a: int = Field(alias="b")
        b: int = Field(alias="a")

    event = Swapped(b=1, a=2)
    assert (event.a, event.b, event.payload_json) == (1, 2, '{"a":1,"b":2}')
    assert Swapped.from_stored(event.payload_json).payload == event.payload


def test_attributes_are_inherited_and_types_are_not():
    class Named(Event):
        name: str

    class Born(Named, type="born"):
        day: int

    class Renamed(Born, type="renamed"):
        pass

    assert Born.payload_attribute_names == Renamed.payload_attribute_names == ("name", "day")
    assert Renamed(name="Ann", day=1).type == "renamed"
    with pytest.raises(TypeError, match="Named has no message type"):
        Named(name="Ann")


def test_what_belongs_to_every_message_cannot_be_hidden_in_other_ways():
    class Mixin:
        topic: str

    class Model(BaseModel):
        id: int

    with pytest.raises(ReservedName):
        type("Hiding", (Event,), {"topic": "orders", "__module__": __name__}, type="hiding")
    with pytest.raises(ReservedName):
        type("Hiding", (Event,), {"payload": property(len), "__module__": __name__}, type="hiding")
    with pytest.raises(ReservedName):
        type("Hiding", (Model, Event), {"__module__": __name__}, type="hiding")
    body = {"__annotations__": {"number": int}, "number": Field(alias="id"), "__module__": __name__}
    with pytest.raises(ReservedName):
        type("Hiding", (Event,), body, type="hiding")


@pytest.mark.parametrize(
    "config",
    [
        {"frozen": False},
        {"extra": "allow"},
        {"validate_by_name": False, "validate_by_alias": True},
        {"validate_default": False},
        {"hide_input_in_errors": False},
    ],
)
def test_what_messages_rely_upon_cannot_be_configured_away(config):
    with pytest.raises(TypeError, match="messages rely on model_config"):
        type("Loose", (Event,), {"model_config": config, "__module__": __name__}, type="loose")


@pytest.mark.parametrize("name", ["", "$tag", "a\0"])
def test_names_of_key_pairs_are_checked(name):
    with pytest.raises(ValueError, match="cannot be"):
        Indexed(name=name)
