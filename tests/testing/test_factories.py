"""Factories: messages for tests by factory-boy; build makes one, create appends it."""

import sys
from datetime import UTC, datetime
from importlib import import_module
from typing import Annotated
from uuid import UUID

import factory
import pytest
from django.contrib.auth.models import User

from ccc_django import Event, Indexed, store
from ccc_django.errors import ExtraMissing
from ccc_django.models import StoredMessage
from ccc_django.testing import assert_appended, assert_nothing_appended
from ccc_django.testing.factories import MessageFactory
from tests.domain import CourseCreated, UserJoinedCourse, UserRegistered

THEN = datetime(2030, 1, 1, tzinfo=UTC)
TRACE = UUID(int=7)


class CourseFactory(MessageFactory[CourseCreated]):
    class Meta:
        model = CourseCreated

    course_name = factory.Sequence(lambda number: f"Course {number}")


class RegisteredFactory(MessageFactory[UserRegistered]):
    class Meta:
        model = UserRegistered

    user_id = factory.Sequence(lambda number: f"u{number}")
    name = factory.Faker("name")


class UserFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = User

    username = factory.Sequence(lambda number: f"user{number}")


class JoinedFactory(MessageFactory[UserJoinedCourse]):
    class Meta:
        model = UserJoinedCourse

    class Params:
        user = factory.SubFactory(UserFactory)

    course_name = "Algebra"
    user_id = factory.LazyAttribute(lambda made: str(made.user.pk))


@pytest.fixture(autouse=True)
def from_the_first():
    CourseFactory.reset_sequence()


def test_build_makes_a_message_and_needs_no_database():
    built = CourseFactory.build()
    assert isinstance(built, CourseCreated)
    assert (built.course_name, built.position) == ("Course 0", None)
    assert [each.course_name for each in CourseFactory.build_batch(2)] == ["Course 1", "Course 2"]
    assert CourseFactory.build(course_name="Algebra").course_name == "Algebra"
    assert RegisteredFactory.build().name


def test_what_does_not_fit_the_class_is_refused_as_always():
    with pytest.raises(ValueError, match="course_name"):
        CourseFactory.build(course_name=7)


def test_parts_of_the_envelope_are_declared_like_attributes():
    class OldCourse(CourseFactory):
        created_at = THEN
        metadata = factory.LazyFunction(lambda: {"by": "hand"})
        correlation_id = TRACE

    built = OldCourse.build()
    assert (built.created_at, built.metadata["by"], built.correlation_id) == (THEN, "hand", TRACE)
    assert OldCourse.build(metadata={}).metadata == {}
    assert built.payload == {"course_name": "Course 0"}


def test_lists_and_traits_work_as_in_other_factories():
    class Ordered(Event, type="factories.ordered"):
        articles: Annotated[list[str], Indexed(name="article")]

    class OrderedFactory(MessageFactory[Ordered]):
        class Meta:
            model = Ordered

        class Params:
            large = factory.Trait(articles=["a", "b", "c"])

        articles = factory.List(["a"])

    assert OrderedFactory.build().articles == ["a"]
    assert OrderedFactory.build(large=True).articles == ["a", "b", "c"]


@pytest.mark.django_db
def test_build_appends_nothing():
    with assert_nothing_appended():
        CourseFactory.build()
        CourseFactory.build_batch(2)


@pytest.mark.django_db
@pytest.mark.parametrize("make", [CourseFactory.create, CourseFactory])
def test_create_appends_the_message_and_returns_the_stored_one(make):
    with assert_appended(CourseCreated(course_name="Algebra")) as appended:
        created = make(course_name="Algebra", metadata={"by": "hand"}, created_at=THEN)
    assert appended.messages == [created]
    assert created.position == appended.messages[0].position is not None
    assert (created.metadata["by"], created.created_at) == ("hand", THEN)


@pytest.mark.django_db
def test_a_batch_is_one_append(monkeypatch):
    sizes = []
    real = store.append
    monkeypatch.setattr(store, "append", lambda messages: sizes.append(len(messages)) or real(messages))
    created = CourseFactory.create_batch(3, metadata={"by": "hand"})
    assert sizes == [3]
    assert [message.course_name for message in created] == ["Course 0", "Course 1", "Course 2"]
    assert [message.position for message in created] == [row.position for row in StoredMessage.objects.all()]
    assert CourseFactory.create_batch(0) == []


@pytest.mark.django_db
def test_what_a_message_needs_is_created_with_it_and_built_with_it():
    joined = JoinedFactory.create()
    assert joined.user_id == str(User.objects.get().pk)
    batch = JoinedFactory.create_batch(2)
    assert [message.user_id for message in batch] == [str(user.pk) for user in User.objects.order_by("pk")[1:]]
    assert JoinedFactory.build().user_id == "None", "a user that is not saved has no key"


@pytest.mark.django_db
def test_a_message_that_another_needs_is_appended_before_it():
    class Following(MessageFactory[UserJoinedCourse]):
        class Meta:
            model = UserJoinedCourse

        class Params:
            cause = factory.SubFactory(CourseFactory)

        course_name = factory.SelfAttribute("cause.course_name")
        causation_id = factory.SelfAttribute("cause.id")
        user_id = "joe"

    with assert_appended(CourseCreated, UserJoinedCourse) as appended:
        following = Following.create()
    assert following.causation_id == appended.messages[0].id
    with assert_appended(CourseCreated, CourseCreated, UserJoinedCourse, UserJoinedCourse):
        Following.create_batch(2)


@pytest.mark.parametrize("wrong", [User, dict, Event, "course.created"])
def test_a_model_that_is_no_message_class_is_refused_when_it_is_declared(wrong):
    with pytest.raises(TypeError, match=r"^Wrong makes messages, and its Meta\.model .* has no message type\.$"):
        type(MessageFactory)("Wrong", (MessageFactory,), {"Meta": type("Meta", (), {"model": wrong})})


def test_a_factory_without_a_model_is_a_base_for_others():
    class Named(MessageFactory):
        class Meta:
            abstract = True

        course_name = "Algebra"

    class NamedCourse(Named):
        class Meta:
            model = CourseCreated

    assert NamedCourse.build().course_name == "Algebra"
    with pytest.raises(factory.errors.FactoryError, match="abstract"):
        Named.build()


def test_without_factory_boy_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "factory", None)
    monkeypatch.delitem(sys.modules, "ccc_django.testing.factories")
    with pytest.raises(ExtraMissing, match=r'pip install "ccc-django\[test\]"'):
        import_module("ccc_django.testing.factories")
    assert import_module("ccc_django.testing").clear, "the others need no extra"
