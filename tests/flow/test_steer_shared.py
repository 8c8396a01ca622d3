"""Steer shared groups: a preview says in messages and topics what each verb will do, and then it does that."""

from datetime import timedelta

import pytest

from ccc_django import STOP_PARTITION, Retry, groups, topics
from ccc_django.errors import ClaimLost
from ccc_django.groups import previewing_shared, previews_shared
from ccc_django.models import DeadLetter, Delivery, GroupTopic
from tests.domain import CourseClosed, CourseCreated

pytestmark = pytest.mark.django_db(transaction=True)

LATER = Retry(max_attempts=3, first_pause=timedelta(hours=1), longest_pause=timedelta(hours=1))
AT_ONCE = Retry(max_attempts=1)


@pytest.fixture
def mailing() -> str:
    topics.subscribe("courses", group="mailing", retry=LATER)
    return "mailing"


def course(*names, topic="courses"):
    return [message.position for message in topics.publish(topic, [CourseCreated(course_name=name) for name in names])]


def claim(limit=1, **options):
    return groups.claim_next("mailing", worker="w", limit=limit, **options)


def handled() -> list[int]:
    """Positions, until nothing is left."""
    found = []
    while claimed := claim(limit=10):
        found += [message.position for message in claimed.messages]
        assert not claimed.replaying
        groups.ack(claimed)
    return sorted(found)


def state():
    return [[*model.objects.order_by("pk").values()] for model in (Delivery, GroupTopic, DeadLetter)]


def test_a_preview_changes_nothing_and_counts_what_a_reset_will_do(mailing):
    positions = course("a", "b", "c", "d")
    groups.ack(claim())
    groups.release(claim(), error=ValueError("no"))
    held = claim()
    before = state()
    seen = groups.preview("reset", mailing)
    assert state() == before
    assert (seen.partitions, seen.paused, seen.stopped, seen.claims) == (0, 1, 0, 1)
    assert (seen.first, seen.begins, seen.again, seen.skipped) == (1, {"courses": 1}, 1, 0)
    assert seen.sentence == (
        "mailing goes, in 1 topic, to position 1. Up to 1 message from before where it stands comes, like a new one. "
        "1 message that waits comes without waiting. 1 message in hand is fenced: its worker can no longer ack it."
    )
    groups.reset(mailing)
    with pytest.raises(ClaimLost):
        groups.ack(held)
    assert handled() == positions


def test_what_a_seek_passes_over_and_what_comes_again_are_counted(mailing):
    positions = course("a", "b", "c", "d")
    groups.ack(claim(limit=2))
    forth = groups.preview("seek", mailing, to=positions[3])
    assert (forth.again, forth.skipped) == (0, 1)
    assert forth.sentence == (
        f"mailing goes, in 1 topic, to position {positions[3]}. 1 message is passed over, not done yet."
    )
    back = groups.preview("seek", mailing, to=positions[1])
    assert (back.again, back.skipped) == (1, 0)
    end = groups.preview("seek", mailing, to="end")
    assert (end.skipped, end.first) == (2, end.head + 1)
    assert f"The log ends at {end.head}: what is there is not delivered. 2 messages are passed over" in end.sentence
    groups.seek(mailing, to=positions[1])
    assert handled() == positions[1:]


def test_what_nobody_has_looked_at_yet_is_passed_over_too(mailing):
    positions = course("a", "b", "c")
    assert not Delivery.objects.exists()
    assert groups.preview("seek", mailing, to=positions[2]).skipped == 2
    assert groups.preview("delete", mailing).skipped == 3


def test_messages_of_other_topics_and_types_are_not_counted(mailing):
    topics.subscribe("courses", group="closings", handles=[CourseClosed])
    course("a", "b")
    course("x", topic="other")
    [closed] = topics.publish("courses", CourseClosed(course_name="a"))
    assert groups.preview("delete", "closings").skipped == 1
    assert groups.preview("seek", mailing, to="end").skipped == 3
    assert [message.position for message in groups.claim_next("closings", worker="w").messages] == [closed.position]


def test_what_lies_before_where_a_group_stands_comes_whether_it_came_before_or_not():
    topics.configure("courses", semantics="PUB_SUB")
    course("a", "b")
    topics.subscribe("courses", group="mailing", mode="new")
    for _ in range(2):
        assert groups.preview("seek", "mailing", to="beginning").again == 2
        groups.seek("mailing", to="beginning")
        assert groups.preview("seek", "mailing", to="beginning").again == 0
        assert len(handled()) == 2


def test_each_topic_goes_back_to_its_own_start(mailing):
    course("a", "b")
    [third] = course("c", topic="more")
    topics.configure("more", semantics="PUB_SUB", force=True)
    topics.subscribe("more", group=mailing, mode="position", at=third)
    assert len(handled()) == 3
    seen = groups.preview("reset", mailing)
    assert (seen.begins, seen.again) == ({"courses": 1, "more": third}, 3)
    assert seen.sentence.startswith(
        "mailing goes, in 2 topics, back to where it began in each, at the earliest position 1. Up to 3 messages "
    )


def test_dead_letters_come_with_the_rest_if_they_lie_behind_the_place(mailing):
    groups.register(mailing, kind="shared", retry=AT_ONCE)
    positions = course("a", "b", "c")
    for _ in range(2):
        groups.release(claim(), error=ValueError("no"))
    assert groups.preview("reset", mailing).dead_letters == 2
    assert "2 dead letters are delivered with the rest." in groups.preview("reset", mailing).sentence
    assert groups.preview("seek", mailing, to=positions[1]).dead_letters == 1
    groups.seek(mailing, to=positions[1])
    assert DeadLetter.objects.open().get().position == positions[0]


def test_a_message_that_waits_before_the_place_does_not_come(mailing):
    positions = course("a", "b")
    groups.release(claim(), error=ValueError("no"))
    assert groups.preview("seek", mailing, to=positions[0]).paused == 1
    passed = groups.preview("seek", mailing, to=positions[1])
    assert (passed.paused, passed.skipped) == (0, 1)


def test_a_preview_of_a_start_says_which_messages_stay_stopped(mailing):
    groups.register(mailing, kind="shared", retry=Retry(max_attempts=1, then=STOP_PARTITION))
    course("a")
    groups.release(claim(), error=ValueError("no"))
    assert (
        groups.preview("start", mailing).sentence == "mailing is active already. 1 message that was stopped stays so."
    )
    groups.stop(mailing)
    told = "Messages of mailing can be claimed again. 1 message that was stopped stays so."
    assert groups.preview("start", mailing).sentence == told
    groups.start(mailing)
    assert claim() is None


def test_a_preview_of_a_stop_says_which_messages_are_fenced(mailing):
    course("a", "b", "c")
    held = claim(limit=2)
    told = "Nobody can claim messages of mailing until it is started. 2 messages in hand are fenced: their workers can"
    assert groups.preview("stop", mailing).sentence == f"{told} no longer ack them, and they come again."
    groups.ack(held)
    told = "Nobody can claim messages of mailing until it is started."
    assert groups.preview("stop", mailing).sentence == told


def test_a_preview_of_a_delete_says_what_becomes_of_subscriptions(mailing):
    course("a", "b")
    claim()
    told = "mailing is forgotten, with its progress in 1 topic and no open dead letter. "
    rest = " 2 messages are open, and not delivered. 1 message in hand is fenced: its worker can no longer ack it."
    gone = "Its subscription is forgotten too: if it subscribes again, it begins where it then says."
    assert groups.preview("delete", mailing).sentence == f"{told}{gone}{rest}"
    kept = "Its subscription is kept: if it subscribes again, it begins where that says."
    assert groups.preview("delete", mailing, keep_subscriptions=True).sentence == f"{told}{kept}{rest}"
    topics.subscribe(namespace="shop", group=mailing)
    assert "Its 2 subscriptions are kept" in groups.preview("delete", mailing, keep_subscriptions=True).sentence


def test_an_ordered_group_that_has_subscribed_is_told_of_it_too():
    topics.subscribe("courses", group="g", partition_by="course_name", handles=[CourseCreated])
    gone = "Its subscription is forgotten too: if it subscribes again, it begins where it then says."
    assert gone in groups.preview("delete", "g").sentence


def test_a_group_without_topics_has_nothing_to_move():
    groups.register("idle", kind="shared")
    assert groups.preview("seek", "idle", to=7).sentence == "idle gets no topic: there is nothing to move."
    told = "idle is forgotten, with its progress in no topic and no open dead letter."
    assert groups.preview("delete", "idle").sentence == told


def test_a_preview_does_not_count_for_ever(mailing, monkeypatch):
    for module in (previewing_shared, previews_shared):
        monkeypatch.setattr(module, "MOST_COUNTED", 3)
    course(*"abcde")
    assert groups.preview("seek", mailing, to="end").skipped == 4
    assert "More than 3 messages are passed over, not done yet." in groups.preview("seek", mailing, to="end").sentence
    assert len(handled()) == 5
    assert groups.preview("reset", mailing).again == 4
    assert (
        "Perhaps more than 3 messages from before where it stands come, like new ones."
        in groups.preview("reset", mailing).sentence
    )


def test_a_shared_group_has_no_partitions_to_preview(mailing):
    with pytest.raises(ValueError, match="it has no partitions"):
        groups.preview("reset", mailing, partition={"course_name": "a"})
