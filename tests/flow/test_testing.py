"""Testing: a log as it was on its first day."""

from datetime import timedelta

import pytest
from django.apps import apps
from django.utils import timezone

from ccc_django import Retry, groups, indexes, store, testing, where
from ccc_django.errors import NotIndexed, UnknownGroup
from ccc_django.models import StoredMessage
from tests.domain import CourseCreated, UserJoinedCourse

pytestmark = pytest.mark.django_db(transaction=True)


def fill() -> None:
    """A row in every table of ours."""
    groups.register("courses", partition_by="course_name", handled_types=[CourseCreated], retry=Retry(max_attempts=1))
    indexes.declare("payload_hash", ["course_name", "user_id"])
    store.append([CourseCreated(course_name="Algebra"), UserJoinedCourse(course_name="Algebra", user_id="joe")])
    store.schedule(CourseCreated(course_name="Later"), at=timezone.now() + timedelta(days=1))
    groups.release(groups.claim_next("courses", worker="w"), error=ValueError("no"))


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
