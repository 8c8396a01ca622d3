"""Handle at once inside of transactions: everything is part of them, and nobody waits for what they hold."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.test import TestCase

from ccc_django import (
    CommandRejected,
    consumers,
    groups,
    notifications,
    store,
)
from ccc_django.consumers.declaring import declare
from ccc_django.errors import (
    InsideTransaction,
    UnknownGroup,
)
from ccc_django.models import ConsumerGroup, Offset, StoredMessage
from tests.consuming import (
    AlreadyIn,
    CourseFull,
    Greet,
    Seating,
    SeatsOffered,
    TakeSeat,
    drain,
    take,
    users,
)

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("no_consumers")]

AT_ONCE = timedelta(0)


def test_inside_of_a_transaction_everything_is_committed_with_it(offered):
    with transaction.atomic():
        [taken] = consumers.handle(take("joe"))
        assert taken.user_id == "joe"
    assert users() == ["joe"]
    drain(offered)
    assert users(Greet) == ["joe"]


def test_inside_of_a_transaction_that_is_rolled_back_nothing_is_left(offered):
    for is_known in (False, True):
        if is_known:
            consumers.handle(take("ann"))
        before = list(Offset.objects.values()), list(StoredMessage.objects.values()), ConsumerGroup.objects.count()
        with transaction.atomic():
            consumers.handle(take("joe"))
            transaction.set_rollback(True)
        after = list(Offset.objects.values()), list(StoredMessage.objects.values()), ConsumerGroup.objects.count()
        assert after == before


def test_a_rejection_inside_of_a_transaction_that_goes_on_is_committed(offered):
    consumers.handle(take("joe"))
    with transaction.atomic(), pytest.raises(AlreadyIn):
        consumers.handle(take("joe"))
    assert len(list(store.stream(type=CommandRejected))) == 1


def test_a_transaction_that_has_appended_is_refused(offered):
    with transaction.atomic():
        store.append(SeatsOffered(course_name="Logic", seats=1))
        with pytest.raises(InsideTransaction, match="before anything else is appended"):
            consumers.handle(take("joe"))
        with transaction.atomic(), pytest.raises(InsideTransaction):
            consumers.handle(take("joe"))
    with transaction.atomic():
        with transaction.atomic():
            store.append(SeatsOffered(course_name="Logic", seats=1))
        with pytest.raises(InsideTransaction):
            consumers.handle(take("joe"))
    assert list(store.stream(type=TakeSeat)) == []


def test_what_was_appended_and_rolled_back_counts_for_nothing(offered):
    with transaction.atomic():
        with transaction.atomic():
            store.append(SeatsOffered(course_name="Logic", seats=1))
            transaction.set_rollback(True)
        assert len(consumers.handle(take("joe"))) == 1
    assert users() == ["joe"]


def test_whoever_manages_transactions_by_hand_can_append(offered, monkeypatch):
    monkeypatch.setattr(notifications, "_looked_at", -notifications.LOOK_AGAIN)  # somebody may listen
    transaction.set_autocommit(False)
    try:
        store.append(take("joe"))
        transaction.commit()
    finally:
        transaction.set_autocommit(True)
    declare(offered)
    drain(offered)
    assert users() == ["joe"]


@pytest.mark.django_db(transaction=False)
def test_the_transaction_of_a_test_is_nobodys(offered):
    """The fixture has appended in it."""
    assert len(consumers.handle(take("joe"))) == 1
    assert len(consumers.handle(take("ann"))) == 1
    with transaction.atomic():
        with pytest.raises(CourseFull):
            consumers.handle(take("sue"))
        with pytest.raises(InsideTransaction):
            consumers.handle(take("sue"))
    with transaction.atomic(), pytest.raises(CourseFull):
        consumers.handle(take("sue"))


class InATestCase(TestCase):
    """Each is rolled back, and the process goes on."""

    @classmethod
    def setUpTestData(cls):
        store.append(SeatsOffered(course_name="Algebra", seats=2))

    def setUp(self):
        type("CourseSeating", (Seating,), {}, group="seating", partition_by=["course_name"])

    def test_one(self):
        consumers.handle(take("joe"))
        with transaction.atomic():
            store.append(SeatsOffered(course_name="Logic", seats=1))
            with pytest.raises(InsideTransaction):
                consumers.handle(take("ann"))

    def test_another(self):
        self.test_one()


def test_a_group_that_a_roll_back_has_taken_away_is_declared_again(offered):
    with transaction.atomic():
        consumers.handle(take("joe"))
        transaction.set_rollback(True)
    assert not ConsumerGroup.objects.exists()
    consumers.handle(take("joe"))
    groups.delete("seating")
    with pytest.raises(UnknownGroup):
        groups.status("seating")
    consumers.handle(take("ann"))
    assert users() == ["joe", "ann"]
