"""Helpers beside other connections, whose appends are open: what a test has done itself is seen."""

import threading

import pytest
from django.db import connection, transaction

from ccc_django import store
from ccc_django.models import StoredMessage
from ccc_django.testing import assert_nothing_appended
from tests.domain import CourseCreated

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]


def test_an_append_elsewhere_that_is_open_hides_nothing_of_ours():
    """head() stays below it, so that whoever looks up to the head alone would see nothing."""
    opened, done = threading.Event(), threading.Event()

    def append_slowly() -> None:
        with transaction.atomic():
            store.append(CourseCreated(course_name="Logic"))
            opened.set()
            done.wait(20)
        connection.close()

    slow = threading.Thread(target=append_slowly)
    slow.start()
    try:
        assert opened.wait(20)
        with pytest.raises(AssertionError, match="course_name='Algebra'"), assert_nothing_appended():
            store.append(CourseCreated(course_name="Algebra"))
            assert store.head() < StoredMessage.objects.get().position
    finally:
        done.set()
        slow.join(20)
