"""Clear: a log as it was on its first day."""

from datetime import timedelta
from uuid import UUID

import pytest
from django.apps import apps
from django.db import transaction
from django.utils import timezone

from ccc_django import Retry, declared, groups, indexes, maintenance, store, testing, topics, where
from ccc_django.consumers import declaring
from ccc_django.errors import NotIndexed, UnknownGroup
from ccc_django.groups import looking
from ccc_django.models import Projection, ProjectionState, StoredMessage, Worker
from tests.domain import CourseCreated, UserJoinedCourse

pytestmark = pytest.mark.django_db(transaction=True)


def fill() -> None:
    """A row in every table of ours."""
    groups.register("courses", partition_by="course_name", handled_types=[CourseCreated], retry=Retry(max_attempts=1))
    indexes.declare("payload_hash", ["course_name", "user_id"])
    store.append([CourseCreated(course_name="Algebra"), UserJoinedCourse(course_name="Algebra", user_id="joe")])
    store.schedule(CourseCreated(course_name="Later"), at=timezone.now() + timedelta(days=1))
    groups.release(groups.claim_next("courses", worker="w"), error=ValueError("no"))
    topics.publish("jobs", CourseCreated(course_name="Topic"))
    groups.release(groups.claim_next("jobs", worker="w"))
    Projection.objects.create(name="p", live_version=1)
    ProjectionState.objects.create(projection="p", version=1, partition_id=UUID(int=1), partition_key="{}", position=1)
    Worker.objects.create(name="w", host="h", pid=1)
    maintenance.sample()


def test_everything_is_empty_and_positions_start_again():
    fill()
    tables = list(apps.get_app_config("ccc_django").get_models())
    assert all(model.objects.exists() for model in tables), "the test fills every table"
    testing.clear()
    assert not any(model.objects.exists() for model in tables)
    assert store.head() == 0
    with pytest.raises(UnknownGroup):
        groups.claim_next("courses", worker="w")
    with pytest.raises(NotIndexed):
        store.read(where(course_name="Algebra", nobody="knows"))
    fill()
    assert StoredMessage.objects.first().position == 1


@pytest.mark.django_db(transaction=False)
def test_inside_of_a_transaction_it_is_undone_with_it():
    """A sequence that is set back for good would give positions twice."""
    first = store.append([CourseCreated(course_name="Algebra"), CourseCreated(course_name="Logic")])
    with transaction.atomic():
        testing.clear()
        assert not StoredMessage.objects.exists()
        assert store.append(CourseCreated(course_name="History"))[0].position == 1
        assert store.head() == 1
        transaction.set_rollback(True)
    assert [message.position for message in store.stream()] == [message.position for message in first]
    assert store.append(CourseCreated(course_name="Art"))[0].position > first[-1].position


@pytest.mark.django_db(transaction=False)
def test_inside_of_a_tests_transaction_everything_begins_anew():
    testing.clear()
    for _ in range(2):
        groups.register("courses", partition_by="course_name", handled_types=[CourseCreated])
        store.append([CourseCreated(course_name=name) for name in ("Algebra", "Logic")])
        claims = [groups.claim_next("courses", worker="w") for _ in range(3)]
        assert [claim.messages[0].position for claim in claims if claim] == [1, 2]
        groups.release(claims[0], error=ValueError("no"))
        testing.clear()
        assert not any(model.objects.exists() for model in apps.get_app_config("ccc_django").get_models())
        with pytest.raises(UnknownGroup):
            groups.claim_next("courses", worker="w")


def test_what_this_process_knows_is_forgotten():
    fill()
    declaring._declared.add(("default", "courses"))
    assert looking._looks
    assert declared._known
    testing.clear()
    assert not declaring._declared
    assert not looking._looks
    assert not declared._known
