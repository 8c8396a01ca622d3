"""The registry of types, and payloads of older versions."""

import pytest
from pydantic import PydanticUserError, field_validator

from ccc_django import Event, UnknownMessage, registry, upcast
from ccc_django.errors import MessageTypeTaken
from ccc_django.restoring import restore
from tests.domain import CourseCreated


def declare(name: str, module: str, type_: str) -> type[Event]:
    return type(name, (Event,), {"__module__": module, "__qualname__": name}, type=type_)


def test_a_class_is_found_by_its_type():
    assert registry.message_class("course.created") is CourseCreated
    assert registry.message_class("never.declared") is None
    assert CourseCreated in registry.message_classes()


def test_one_type_in_two_modules_is_an_error_that_names_both():
    declare("Opened", "shop.messages", "registry.opened")
    with pytest.raises(MessageTypeTaken, match=r"school\.messages\.Opened and shop\.messages\.Opened both claim"):
        declare("Opened", "school.messages", "registry.opened")
    assert registry.message_class("registry.opened").__module__ == "shop.messages"


def test_one_type_twice_in_a_module_is_an_error():
    declare("Closed", "shop.messages", "registry.closed")
    with pytest.raises(MessageTypeTaken):
        declare("ClosedAgain", "shop.messages", "registry.closed")


def test_a_module_that_is_imported_again_replaces_its_class():
    declare("Sold", "shop.messages", "registry.sold")
    again = declare("Sold", "shop.messages", "registry.sold")
    assert registry.message_class("registry.sold") is again


class CustomerMoved(Event, type="customer.moved", version=4):
    first_name: str
    last_name: str
    city: str = "unknown"
    country: str

    @upcast(from_version=1)
    def split_the_name(payload):
        first, _, last = payload.pop("name").partition(" ")
        return {**payload, "first_name": first, "last_name": last}

    @upcast(from_version=3)
    @staticmethod
    def add_the_country(payload):
        return {**payload, "country": {"Rome": "IT"}[payload["city"]]}


def stored(payload_json: str, version: int):
    envelope = CustomerMoved(first_name="a", last_name="b", country="c").envelope
    return restore(envelope._replace(version=version), payload_json)


def test_an_older_payload_goes_up_step_by_step():
    moved = stored('{"name": "Ann Lee", "city": "Rome"}', version=1)
    assert moved.payload == {"first_name": "Ann", "last_name": "Lee", "city": "Rome", "country": "IT"}
    assert moved.version == 4
    assert moved.payload_json == '{"city":"Rome","first_name":"Ann","last_name":"Lee","country":"IT"}'


def test_a_version_without_a_step_goes_up_unchanged():
    assert stored('{"first_name": "Ann", "last_name": "Lee", "city": "Rome"}', version=2).country == "IT"


def test_the_current_version_is_taken_as_it_is():
    assert stored('{"first_name": "Ann", "last_name": "Lee", "country": "PT"}', version=4).city == "unknown"


def test_a_newer_version_is_kept_and_not_guessed_at():
    newer = stored('{"first_name": "Ann", "middle_name": "Q"}', version=5)
    assert isinstance(newer, UnknownMessage)
    assert newer.reason == "stored as version 5, newer than version 4 of its class"
    assert newer.payload == {"first_name": "Ann", "middle_name": "Q"}


def test_a_step_that_fails_loses_nothing():
    failed = stored('{"name": "Ann Lee", "city": "Atlantis"}', version=1)
    assert isinstance(failed, UnknownMessage)
    assert "upcast from version 1 failed: KeyError('Atlantis')" in failed.reason
    assert failed.payload == {"name": "Ann Lee", "city": "Atlantis"}
    assert failed.version == 1


def test_a_validator_that_fails_on_an_old_message_loses_nothing():
    class Choosy(Event, type="registry.choosy"):
        word: str

        @field_validator("word")
        @classmethod
        def known(cls, value: str) -> str:
            return {"yes": "yes"}[value]

    envelope = Choosy(word="yes").envelope
    assert restore(envelope, '{"word": "no"}').reason == "its class refuses the payload: KeyError('no')"


def test_a_class_that_is_not_complete_is_an_error_and_not_an_unknown_message():
    class Waiting(Event, type="registry.waiting"):
        for_what: "NeverDefined"  # noqa: F821

    envelope = CourseCreated(course_name="A").envelope
    with pytest.raises(PydanticUserError):
        restore(envelope._replace(type="registry.waiting"), "{}")


def test_steps_are_inherited():
    class Kept(CustomerMoved, type="registry.kept", version=4):
        pass

    assert sorted(Kept.declaration.upcasts) == [1, 3]


def test_two_steps_from_one_version_are_a_mistake():
    def step(payload):
        return payload

    body = {"one": upcast(1)(step), "two": upcast(1)(lambda payload: payload), "__module__": __name__}
    with pytest.raises(TypeError, match="two upcasts from one version"):
        type("Twice", (Event,), body, type="registry.twice", version=2)


def test_a_step_from_the_current_version_is_a_mistake():
    with pytest.raises(TypeError, match="there is nothing to upcast from 1"):

        class Late(Event, type="registry.late", version=1):
            @upcast(1)
            def step(payload):
                return payload
