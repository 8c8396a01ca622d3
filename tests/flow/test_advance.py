"""Advance: the log becomes open work, in batches, and what wakes many partitions in pages."""

from typing import Annotated

import pytest
from django.db import connections

from ccc_django import Event, Indexed, groups, registry, store
from ccc_django.groups.looking import look_at
from ccc_django.models import ConsumerGroup, Offset
from tests.domain import CourseClosed, CourseCreated, TermStarted, UserJoinedCourse, UserRegistered

pytestmark = pytest.mark.django_db(transaction=True)

HANDLED = [CourseCreated, UserRegistered, UserJoinedCourse, CourseClosed]
NAMES = ["course_name", "user_id"]


def joined(course, user):
    return UserJoinedCourse(course_name=course, user_id=user)


def handle_all(name) -> list:
    """Claim and ack until nothing is left; what was delivered, with its partition."""
    handled, last = [], None
    while last := groups.claim_next(name, worker="w", ack=last):
        handled.append((last.partition_value, last.messages))
    return handled


def wake(monkeypatch, most: int):
    monkeypatch.setattr("ccc_django.groups.marking.MOST_MARKED", most)


def test_what_wakes_many_partitions_goes_on_page_by_page(monkeypatch):
    wake(monkeypatch, 3)
    groups.register("g", partition_by=NAMES, handled_types=HANDLED)
    store.append([joined("Algebra", f"u{n}") for n in range(10)])
    store.append([joined("History", f"u{n}") for n in range(2)])
    handle_all("g")
    [closed, other] = store.append([CourseClosed(course_name=name) for name in ("Algebra", "History")])
    pages = 0
    before = ConsumerGroup.objects.get().watermark
    while groups.advance("g"):
        pages += 1
        group = ConsumerGroup.objects.get()
        assert group.watermark == (before if group.marking_upto else store.head()), "not before everything is marked"
    assert pages >= 4
    handled = handle_all("g")
    assert sorted(value["user_id"] for value, messages in handled if messages == [closed]) == [
        f"u{n}" for n in range(10)
    ]
    assert len([value for value, messages in handled if messages == [other]]) == 2


def test_a_partition_that_is_claimed_between_two_pages_gets_its_messages_in_order(monkeypatch):
    wake(monkeypatch, 2)
    groups.register("g", partition_by=NAMES, handled_types=HANDLED)
    store.append([joined("Algebra", f"u{n}") for n in range(5)])
    handle_all("g")
    closed, last = store.append([CourseClosed(course_name="Algebra"), joined("Algebra", "u4")])
    assert groups.advance("g")
    woken = Offset.objects.exclude(next_position=None).values_list("next_position", flat=True)
    assert sorted(woken) == [closed.position, closed.position, last.position], "the last one by its own message alone"
    Offset.objects.filter(next_position=closed.position).update(claimed_by="w", token=1, blocked_until="2099-01-01T00Z")
    look = look_at("g")
    look.is_idle, look.advance_at = False, float("inf")  # no other page meanwhile
    assert groups.claim_next("g", worker="w").messages == [closed, last]


def test_pages_go_on_while_partitions_are_acked_and_new_ones_come(monkeypatch):
    wake(monkeypatch, 2)
    groups.register("g", partition_by=NAMES, handled_types=HANDLED)
    store.append([joined("Algebra", f"u{n}") for n in range(7)])
    handle_all("g")
    store.append([CourseClosed(course_name="Algebra"), joined("Algebra", "late"), CourseClosed(course_name="Algebra")])
    delivered = []
    while claim := groups.claim_next("g", worker="w", limit=1):
        delivered += [(claim.partition_value["user_id"], message.position) for message in claim.messages]
        groups.ack(claim)
    assert len(delivered) == len({*delivered})
    assert sorted({user for user, _ in delivered}) == ["late", *(f"u{n}" for n in range(7))]
    assert len(delivered) == 7 * 2 + 3


def test_several_values_wake_the_partitions_that_have_all_of_them(monkeypatch):
    monkeypatch.setattr(registry, "_classes", {**registry._classes})

    class Sold(Event, type="advance.sold"):
        shop: str
        item: str
        buyer: str

    class Recalled(Event, type="advance.recalled"):
        shop: str
        item: str

    groups.register("g", partition_by=["shop", "item", "buyer"], handled_types=[Sold, Recalled])
    sold = [(shop, item, buyer) for shop in "ab" for item in "xyz" for buyer in "12"]
    store.append([Sold(shop=shop, item=item, buyer=buyer) for shop, item, buyer in sold])
    handle_all("g")
    [recalled] = store.append(Recalled(shop="a", item="y"))
    handled = handle_all("g")
    assert [messages for _, messages in handled] == [[recalled]] * 2
    assert {(value["shop"], value["item"], value["buyer"]) for value, _ in handled} == {
        ("a", "y", "1"),
        ("a", "y", "2"),
    }


def test_a_new_type_is_looked_for_alone_and_what_follows_is_not_lost():
    groups.register("g", partition_by="course_name", handled_types=[CourseCreated])
    created, closed = store.append([CourseCreated(course_name="Algebra"), CourseClosed(course_name="Algebra")])
    [untouched] = store.append([CourseCreated(course_name="History")])
    claim = groups.claim_next("g", worker="w")
    assert claim.messages == [created]
    groups.ack(claim)
    group = groups.register("g", partition_by="course_name", handled_types=[CourseClosed])
    assert (group.watermark, group.catch_up_types) == (0, ["course.closed"])
    assert group.catch_up_to == untouched.position
    after = store.append([CourseCreated(course_name="Algebra"), CourseClosed(course_name="History")])
    handled = {"Algebra": [], "History": []}
    for value, messages in handle_all("g"):
        handled[value["course_name"]] += messages
    assert handled == {"Algebra": [closed, after[0]], "History": [untouched, after[1]]}
    assert ConsumerGroup.objects.get().catch_up_to == 0


def test_a_second_new_type_joins_the_first_one_that_is_still_looked_for(monkeypatch):
    monkeypatch.setattr("ccc_django.groups.advancing.BATCH", 1)
    groups.register("g", partition_by=[], handled_types=[TermStarted])
    stored = store.append(
        [TermStarted(), CourseCreated(course_name="a"), CourseClosed(course_name="a"), CourseCreated(course_name="b")]
    )
    while groups.advance("g"):
        pass
    groups.register("g", partition_by=[], handled_types=[CourseCreated])
    groups.advance("g")
    groups.register("g", partition_by=[], handled_types=[CourseClosed])
    assert ConsumerGroup.objects.get().catch_up_types == ["course.closed", "course.created"]
    assert [message for _, messages in handle_all("g") for message in messages] == stored


def test_a_list_belongs_to_the_partitions_of_each_of_its_values(monkeypatch):
    monkeypatch.setattr(registry, "_classes", {**registry._classes})

    class Merged(Event, type="advance.merged"):
        course_name: Annotated[list[str], Indexed]

    groups.register("g", partition_by="course_name", handled_types=[CourseCreated, Merged])
    first, merged, other = store.append(
        [CourseCreated(course_name="a"), Merged(course_name=["a", "b"]), CourseCreated(course_name="c")]
    )
    handled = {value["course_name"]: messages for value, messages in handle_all("g")}
    assert handled == {"a": [first, merged], "b": [merged], "c": [other]}


def test_two_groups_do_not_know_each_other():
    groups.register("one", partition_by=NAMES, handled_types=HANDLED)
    groups.register("two", partition_by=NAMES, handled_types=HANDLED)
    store.append([joined("Algebra", "joe"), CourseClosed(course_name="Algebra")])
    assert [len(messages) for _, messages in handle_all("one")] == [2]
    assert [len(messages) for _, messages in handle_all("two")] == [2]


def test_nothing_is_written_again_that_changes_nothing():
    groups.register("g", partition_by="course_name", handled_types=[CourseCreated])
    store.append([UserJoinedCourse(course_name="Algebra", user_id="joe")])
    assert groups.advance("g")
    offset = Offset.objects.get()
    assert (offset.next_position, offset.head_position) == (None, 0), "found by any type, woken by handled ones"
    assert not groups.advance("g")


@pytest.mark.postgres
def test_a_group_is_advanced_by_one_worker_at_a_time():
    groups.register("g", partition_by="course_name", handled_types=[CourseCreated])
    store.append(CourseCreated(course_name="Algebra"))
    other = connections["default"].copy()
    with other.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("SELECT FROM ccc_consumer_groups FOR NO KEY UPDATE")
        assert not groups.advance("g")
        cursor.execute("ROLLBACK")
    other.close()
    assert groups.advance("g")
