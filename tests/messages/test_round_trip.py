"""Every value that a message can carry comes back from the log exactly."""

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from ccc_django import Event, UnknownMessage, store
from ccc_django.models import StoredMessage
from ccc_django.plain import plain_json
from ccc_django.restoring import restore
from ccc_django.sealing import storable_json


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


class Grade(Enum):
    A = "a"
    B = 2


class Address(BaseModel):
    city: str
    since: date | None = None
    seen_at: datetime | None = None
    tags: list[str] = []


class Everything(Event, type="everything"):
    text: str
    number: int
    ratio: float
    truth: bool
    price: Decimal
    day: date
    moment: datetime
    key: UUID
    colour: Colour
    size: Size
    grade: Grade
    maybe: str | None
    several: list[int]
    address: Address
    places: list[Address]
    lookup: dict[str, Decimal]
    by_day: dict[date, int]
    pair: tuple[int, str]
    unique: set[str]
    either: int | str


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
zones = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(datetime(1, 1, 3), datetime(9999, 12, 29), timezones=zones)  # noqa: DTZ001
decimals = st.decimals(allow_nan=False, allow_infinity=False)
floats = st.floats(allow_nan=False, allow_infinity=False)
addresses = st.builds(
    Address,
    city=text,
    since=st.none() | st.dates(),
    seen_at=st.none() | moments,
    tags=st.lists(text, max_size=3),
)
everything = st.builds(
    Everything,
    text=text,
    number=st.integers(-(10**40), 10**40),
    ratio=floats,
    truth=st.booleans(),
    price=decimals,
    day=st.dates(),
    moment=moments,
    key=st.uuids(),
    colour=st.sampled_from(Colour),
    size=st.sampled_from(Size),
    grade=st.sampled_from(Grade),
    maybe=st.none() | text,
    several=st.lists(st.integers(), max_size=5),
    address=addresses,
    places=st.lists(addresses, max_size=3),
    lookup=st.dictionaries(text, decimals, max_size=3),
    by_day=st.dictionaries(st.dates(), st.integers(), max_size=3),
    pair=st.tuples(st.integers(), text),
    unique=st.sets(text, max_size=3),
    either=st.integers() | text,
    metadata=st.dictionaries(text.filter(lambda key: key != "tags"), text | st.booleans() | st.none(), max_size=3),
)


def exact(message: Everything) -> str:
    """Equality is not enough: True == 1 == 1.0, Decimal("1.0") == Decimal("1.00"). Sets and mappings have no order."""
    return repr([sorted(value.items()) if isinstance(value, dict) else value for value in ordered(message)])


def ordered(message: Everything) -> list[object]:
    return [sorted(value) if isinstance(value, set) else value for value in message.payload.values()]


@given(everything)
def test_a_message_comes_back_from_its_json(message):
    restored = restore(message.envelope, message.payload_json)
    assert restored == message
    assert exact(restored) == exact(message)
    assert restored.payload_json == message.payload_json
    assert restored.key_pairs == message.key_pairs


@pytest.mark.django_db
def test_a_message_comes_back_from_the_database():
    @given(everything)
    def comes_back(message):
        [stored] = store.append(message)
        [restored] = StoredMessage.objects.filter(position=stored.position).messages()
        assert restored == stored == message
        assert exact(restored) == exact(message)
        assert restored.key_pairs == message.key_pairs
        assert restored.envelope.appended_at == stored.envelope.appended_at

    comes_back()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "text", ["|", ":", "a|b:c", "'; DROP TABLE ccc_messages; --", '"\\', "%s %(x)s", "🎓", "\\u0000", "x" * 1_000_000]
)
def test_hostile_text_comes_back_from_the_database(text):
    store.append(Named(name=text, metadata={text[:100]: text[:100]}))
    [restored] = store.read(Named.to_conditions(name=text)).messages
    assert restored.name == text
    assert restored.metadata == {text[:100]: text[:100]}


class Named(Event, type="named"):
    name: str


def test_a_moment_is_stored_in_utc_with_six_digits():
    class Rang(Event, type="rang"):
        at: datetime

    event = Rang(at=datetime(2026, 7, 1, 12, tzinfo=timezone(timedelta(hours=2))))
    assert event.payload_json == '{"at":"2026-07-01T10:00:00.000000Z"}'
    assert restore(event.envelope, event.payload_json).at == event.at


def test_an_unknown_type_keeps_everything():
    event = Named(name="Joe", metadata={"by": "ann"})
    envelope = event.envelope._replace(type="never.declared", position=7)
    unknown = restore(envelope, '{"id": 1, "name": "Joe", "type": [1, 2.5]}')
    assert isinstance(unknown, UnknownMessage)
    assert unknown.type == "never.declared"
    assert unknown.payload == {"id": 1, "name": "Joe", "type": [1, 2.5]}
    assert unknown.metadata == {"by": "ann"}
    assert (unknown.id, unknown.position) == (event.id, 7)
    assert "no class" in unknown.reason
    assert unknown == restore(envelope, unknown.payload_json)
    assert "never.declared" in repr(unknown)


def test_a_payload_that_does_not_fit_its_class_is_kept_with_the_reason():
    event = Named(name="Joe")
    unknown = restore(event.envelope, '{"nom": "Joe"}')
    assert isinstance(unknown, UnknownMessage)
    assert unknown.payload == {"nom": "Joe"}
    assert "does not fit its class: name: Field required" in unknown.reason


def test_restoring_keeps_created_at_in_utc():
    event = Named(name="Joe")
    assert restore(event.envelope, event.payload_json).created_at.tzinfo == UTC


class Plain(Event, type="plain"):
    text: str
    number: int
    truth: bool
    price: Decimal
    day: date
    key: UUID
    maybe: str | None


plain = st.builds(
    Plain,
    text=text,
    number=st.integers(-(10**40), 10**40),
    truth=st.booleans(),
    price=decimals,
    day=st.dates(),
    key=st.uuids(),
    maybe=st.none() | text,
)


@given(plain)
def test_the_short_way_for_plain_payloads_leads_to_the_same_place(message):
    assert Plain.is_plain()
    assert not Everything.is_plain()
    assert plain_json(message) == storable_json(message, message.indexed_fields())
    restored = restore(message.envelope, message.payload_json)
    assert restored == message
    assert repr(restored) == repr(message)
