"""Sessions: poll, commit and seek, as the document that they come from describes them, and what we add."""

import threading
from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from ccc_django import groups, sessions, store, topics
from ccc_django.errors import (
    ClaimLost,
    KindChanged,
    NothingToCommit,
    SessionClosed,
    SubscriptionRefused,
    UnknownTopic,
    WrongThread,
)
from ccc_django.models import ConsumerGroup, GroupTopic, Offset, Topic, TopicSubscription
from tests.retaining import age
from tests.topics.orders import TOPIC, OrderCreated, channel, handled, published

pytestmark = pytest.mark.django_db(transaction=True)


def opened(commit: str = "manual", *, consumer_id: str = "worker-1", **options) -> sessions.Session:
    return sessions.open(TOPIC, consumer_id=consumer_id, commit=commit, **options)


def offsets(session) -> list[int]:
    return [record.offset for record in session]


@pytest.fixture
def five():
    channel()
    return published(*"abcde")


def test_a_record_is_a_message_with_its_place_in_the_log(five):
    message = OrderCreated(order_id="f", metadata={"key": "k-1", "source": "shop"})
    [stored] = topics.publish(TOPIC, message)
    with opened(mode="position", at=6) as session:
        record = session.poll()
    assert (record.offset, record.key, record.value.id) == (6, "k-1", stored.id)
    assert record.headers["source"] == "shop"
    assert record.timestamp == record.value.envelope.appended_at is not None


@pytest.mark.parametrize(
    ("metadata", "key"), [({}, None), ({"key": 7}, "7"), ({"key": "k", "partition_key": "p"}, "p")]
)
def test_the_key_is_what_the_metadata_calls_so(metadata, key):
    channel()
    topics.publish(TOPIC, OrderCreated(order_id="a", metadata=metadata))
    assert opened().poll().key == key


def test_auto_is_the_default_and_advances_on_poll(five):
    with sessions.open(TOPIC, consumer_id="worker-1") as session:
        assert [session.poll().offset, session.poll().offset] == [1, 2]
        assert session.committed_offset == 2
    with sessions.open(TOPIC, consumer_id="worker-1") as session:
        assert offsets(session) == [3, 4, 5]


def test_in_auto_mode_commits_are_silent(five):
    with opened("auto") as session:
        session.commit()
        session.poll()
        session.commit(4)
        session.commit()
        assert (session.committed_offset, session.poll().offset) == (1, 2)


def test_manual_advances_only_on_commit(five):
    with opened() as session:
        assert [session.poll().offset, session.poll().offset] == [1, 2]
        assert session.committed_offset == 0
    with opened() as session:
        assert session.poll().offset == 1
        session.commit()
    with opened() as session:
        assert (session.committed_offset, session.poll().offset) == (1, 2)


def test_a_commit_of_nothing_is_an_error(five):
    with opened() as session:
        with pytest.raises(NothingToCommit):
            session.commit()
        session.poll()
        session.commit()
        with pytest.raises(NothingToCommit):
            session.commit()
        session.poll()
        session.seek(4)
        with pytest.raises(NothingToCommit):
            session.commit()


def test_a_given_offset_is_committed_and_the_next_is_behind_it(five):
    with opened() as session:
        session.poll_many(5)
        session.commit(3)
        assert session.committed_offset == 3
        assert session.poll().offset == 4
        session.commit(4)
        with pytest.raises(NothingToCommit):
            session.commit()


def test_offsets_are_committed_one_by_one(five):
    with opened() as session:
        for record in session.poll_many(3):
            session.commit(record.offset)
        assert (session.committed_offset, session.poll().offset) == (3, 4)


def test_a_commit_is_idempotent_and_never_moves_back(five):
    with opened() as session:
        session.poll_many(4)
        session.commit()
        session.commit(4)
        session.commit(2)
        assert (session.committed_offset, session.poll().offset) == (4, 5)
        session.commit(1)
        session.commit()
        assert session.committed_offset == 5
        session.seek(4)
        session.commit(2)
        assert session.poll().offset == 4


@pytest.mark.parametrize("offset", [-1, True, "3", 2.0, 99, 10**30])
def test_an_offset_that_cannot_be_is_refused(five, offset):
    with opened() as session:
        session.poll()
        with pytest.raises(ValueError, match="offset="):
            session.commit(offset)
        if offset != 99:
            with pytest.raises(ValueError, match="offset="):
                session.seek(offset)
        session.commit()
        assert session.committed_offset == 1


@pytest.mark.parametrize("commit", ["auto", "manual"])
def test_seek_is_stored_at_once(five, commit):
    with opened(commit) as session:
        assert session.seek(4) == 4
    with opened(commit) as session:
        assert session.committed_offset == 0
        assert offsets(session) == [4, 5]
        assert session.seek_to_beginning() == 1
        assert offsets(session) == [1, 2, 3, 4, 5]
        assert session.seek_to_end() == 6
        assert session.poll() is None
    published("f")
    with opened(commit) as session:
        assert offsets(session) == [6]


def test_what_was_committed_last_is_remembered_over_a_seek(five):
    with opened() as session:
        session.poll_many(4)
        session.commit()
        session.seek(2)
        assert session.committed_offset == 4
        session.poll()
        session.commit()
        assert session.committed_offset == 2


def test_a_seek_beyond_the_end_waits_for_that_record(five):
    with opened() as session:
        assert session.seek(8) == 8
        published("f", "g", "h")
        assert offsets(session) == [8]


def test_below_what_is_kept_a_seek_goes_to_the_oldest_record(five):
    topics.configure(TOPIC, retention=timedelta(days=1))
    age(upto=3)
    with opened() as session:
        session.poll_many(5)
        session.commit()
        assert topics.prune()[0].count == 3
        assert session.seek(2) == 4
        assert session.seek_to_beginning() == 4
        assert session.poll().offset == 4
        age()
        topics.prune()
        assert session.seek(1) == 6


@pytest.mark.parametrize(
    ("options", "first"),
    [
        ({}, 1),
        ({"mode": "all"}, 1),
        ({"mode": "new"}, 6),
        ({"mode": "position", "at": 3}, 3),
    ],
)
def test_a_session_begins_with_everything_unless_its_mode_says_otherwise(five, options, first):
    with opened(**options) as session:
        assert session.committed_offset == 0
        published("f")
        assert session.poll().offset == first
    with opened(mode="all") as session:
        assert session.poll().offset == first, "the first mode wins"


def test_nothing_polled_is_nothing_committed(five):
    assert opened(mode="new").committed_offset == 0


def test_it_is_an_ordered_group_with_a_subscription_of_its_own(five):
    with opened():
        group = ConsumerGroup.objects.get(is_session=True)
        assert (group.name, group.kind, group.topics) == (f"worker-1@{TOPIC}", "ordered", [TOPIC])
        record = TopicSubscription.objects.get(group_name=group.name)
        assert (record.mode, record.start_position, record.status) == ("all", 1, "ACTIVE")
        assert Offset.objects.get(group=group).claimed_by == "worker-1"
    assert Offset.objects.get().claimed_by == ""


def test_two_consumers_read_at_their_own_pace(five):
    with opened("auto") as one, opened("auto", consumer_id="worker-2") as other:
        one.poll_many(3)
        assert other.poll().offset == 1
        assert one.poll().offset == 4
    figures = {each.group: each.lag for each in topics.health(TOPIC)}
    assert figures == {f"worker-1@{TOPIC}": 1, f"worker-2@{TOPIC}": 4}


def test_one_consumer_has_sessions_on_several_topics(five):
    channel("other")
    published("x", topic="other")
    with opened() as one, sessions.open("other", consumer_id="worker-1") as other:
        assert (one.poll().offset, other.poll().offset) == (1, 6)


def test_the_older_session_of_a_consumer_is_fenced(five):
    older = opened()
    assert older.poll().offset == 1
    newer = opened()
    for call in (older.poll, older.commit, lambda: older.seek(3), older.seek_to_end, lambda: older.poll_many(2)):
        with pytest.raises(ClaimLost):
            call()
    assert newer.poll().offset == 1
    older.close()
    newer.commit()
    assert newer.committed_offset == 1


def test_an_older_session_in_auto_mode_hands_out_nothing(five):
    older = opened("auto")
    older.poll()
    newer = opened("auto")
    with pytest.raises(ClaimLost):
        older.poll()
    assert newer.poll().offset == 2


@pytest.mark.parametrize("steer", [groups.stop, groups.reset, groups.delete])
def test_whoever_moves_or_stops_its_group_wins(five, steer):
    session = opened()
    session.poll()
    steer(f"worker-1@{TOPIC}")
    with pytest.raises(ClaimLost):
        session.commit()


@pytest.mark.parametrize("commit", ["auto", "manual"])
def test_a_stopped_or_paused_session_gets_nothing(five, commit):
    name = f"worker-1@{TOPIC}"
    opened(commit).close()
    groups.stop(name)
    session = opened(commit)
    assert session.poll() is None
    groups.start(name)
    assert session.poll().offset == 1
    topics.pause(TOPIC, group=name)
    assert session.poll() is None
    topics.resume(TOPIC, group=name)
    assert session.poll().offset == 2


def test_an_operator_can_seek_it(five):
    with opened() as session:
        session.poll_many(5)
        session.commit()
    groups.seek(f"worker-1@{TOPIC}", to=2)
    with opened() as session:
        assert session.poll().offset == 2


def test_a_session_that_is_closed_says_so(five):
    with opened() as session:
        pass
    session.close()
    for call in (session.poll, session.commit, lambda: session.seek(1), session.seek_to_end):
        with pytest.raises(SessionClosed, match=r"sessions\.open"):
            call()


def test_an_error_inside_keeps_what_was_committed(five):
    with pytest.raises(ZeroDivisionError), opened() as session:
        session.poll()
        session.commit()
        session.poll()
        1 / 0
    assert opened().poll().offset == 2


def test_a_second_thread_is_refused(five):
    session, problems = opened(), []

    def elsewhere() -> None:
        for call in (session.poll, session.commit, session.close, lambda: session.committed_offset):
            try:
                call()
            except WrongThread as problem:
                problems.append(str(problem))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert len(problems) == 4
    assert session.poll().offset == 1


def test_several_are_polled_at_once(five):
    with opened() as session:
        assert [record.offset for record in session.poll_many(3)] == [1, 2, 3]
        session.commit()
        assert [record.offset for record in session.poll_many(3)] == [4, 5]
        assert session.poll_many(3) == []
        assert session.committed_offset == 3


@pytest.mark.parametrize(
    ("limit", "timeout"), [(0, 0), (-1, 0), (1, -1), (1, float("nan")), (1, None), ("5", 0), (2**31, 0), (True, 0)]
)
def test_limits_that_cannot_be_are_refused(five, limit, timeout):
    with opened() as session, pytest.raises(ValueError, match="limit="):
        session.poll_many(limit, timeout=timeout)


def test_more_than_a_page_is_handed_out_in_order():
    channel()
    published(*map(str, range(250)))
    with opened("auto") as session:
        assert offsets(session) == [*range(1, 251)]
    with opened(consumer_id="other") as session:
        assert len(session.poll_many(240)) == 240
        assert offsets(session) == [*range(241, 251)]


def test_other_topics_and_the_rest_of_the_log_are_left_out(five):
    store.append(OrderCreated(order_id="no topic"))
    published("x", topic="another")
    published("f")
    with opened() as session:
        assert [record.value.order_id for record in session] == [*"abcdef"]


def test_a_commit_is_a_part_of_the_transaction(five):
    with opened() as session:
        record = session.poll()
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            session.commit()
            1 / 0
        assert session.committed_offset == 0
        session.seek(record.offset)
        with transaction.atomic():
            session.poll()
            session.commit()
        assert session.committed_offset == 1


def test_a_commit_that_was_rolled_back_can_be_made_again(five):
    with opened() as session:
        session.poll()
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            session.commit()
            1 / 0
        session.commit()
        assert session.committed_offset == 1
        with pytest.raises(NothingToCommit):
            session.commit()


def test_what_goes_wrong_inside_is_what_is_told(five):
    """Not that the session could not be closed in a transaction that had failed."""
    with pytest.raises(IntegrityError), transaction.atomic(), opened() as session:
        session.poll()
        Topic.objects.bulk_create([Topic(name=TOPIC)])
    assert opened().poll().offset == 1


def test_one_that_has_read_its_topic_has_no_lag_by_the_rest_of_the_log(five):
    with opened("auto") as session:
        assert len(offsets(session)) == 5
    store.append([OrderCreated(order_id="elsewhere") for _ in range(50)])
    assert groups.status(f"worker-1@{TOPIC}").lag == 0
    published("f")
    assert groups.status(f"worker-1@{TOPIC}").lag > 0


def test_two_sessions_whose_names_are_written_alike_are_not_mixed_up():
    published("a", topic="c")
    published("b", topic="b@c")
    sessions.open("c", consumer_id="a@b").close()
    with pytest.raises(SubscriptionRefused, match="session on c"):
        sessions.open("b@c", consumer_id="a")


def test_its_name_is_not_for_a_group(five):
    with opened() as session:
        with pytest.raises(KindChanged, match="session"):
            groups.register(f"worker-1@{TOPIC}", handled_types=[OrderCreated])
        assert session.poll().offset == 1


def test_an_unknown_topic_is_made_unless_topics_are_strict(settings):
    with opened() as session:
        assert session.poll() is None
        published("a")
        assert session.poll().offset == 1
    settings.CCC_TOPICS_STRICT = True
    with pytest.raises(UnknownTopic):
        sessions.open("unknown", consumer_id="worker-1")
    assert not ConsumerGroup.objects.filter(name="worker-1@unknown").exists()


def test_on_a_queue_it_only_looks():
    published("a", "b", topic="images")
    with sessions.open("images", consumer_id="me") as session:
        assert offsets(session) == [1, 2]
    assert handled("images") == ["a", "b"]
    assert not TopicSubscription.objects.filter(group_name="me@images").exists()
    assert {each.group for each in topics.health("images")} == {"images"}
    with pytest.raises(SubscriptionRefused, match="only looks"):
        sessions.open("images", consumer_id="me", hold=True)
    with sessions.open("images", consumer_id="me") as session:
        assert session.committed_offset == 2


def test_names_that_cannot_be_are_refused(five):
    groups.register(f"mail@{TOPIC}", handled_types=[OrderCreated])
    with pytest.raises(SubscriptionRefused, match="another name"):
        opened(consumer_id="mail")
    for name in ("", None, "x" * 255):
        with pytest.raises(ValueError, match="consumer"):
            opened(consumer_id=name)
    with pytest.raises(ValueError, match="auto or manual"):
        opened("sometimes")
    with pytest.raises(ValueError, match="mode"):
        opened(mode="whenever")
    assert not ConsumerGroup.objects.filter(is_session=True).exists()


def test_it_is_not_waited_for_unless_it_holds(five):
    opened().close()
    assert topics.progress(five[0]).required == ()
    opened(hold=True).close()
    assert topics.progress(five[0]).missing == (f"worker-1@{TOPIC}",)
    opened().close()
    assert ConsumerGroup.objects.get(is_session=True).holds, "what is not said stays as it was"
    opened(hold=False).close()
    assert not ConsumerGroup.objects.get(is_session=True).holds


def test_its_progress_is_that_of_a_group(five):
    with opened(hold=True) as session:
        session.poll_many(2)
        session.commit()
        assert topics.progress(five[1]).is_complete
        assert not topics.progress(five[2]).is_complete
        status = groups.status(f"worker-1@{TOPIC}")
        assert (status.low_watermark, status.lag) == (2, 3)
    assert groups.claim_next(f"worker-1@{TOPIC}", worker="w") is None
    assert groups.status(f"worker-1@{TOPIC}").lag == 3, "whoever claims a session advances nothing"


def test_a_session_that_was_removed_begins_anew(five):
    with opened() as session:
        session.poll_many(5)
        session.commit()
    topics.remove_group(TOPIC, f"worker-1@{TOPIC}")
    assert not GroupTopic.objects.exists()
    with opened() as session:
        assert (session.committed_offset, session.poll().offset) == (0, 1)


def test_what_is_committed_counts_whoever_restarts_it(five):
    with opened() as session:
        session.poll_many(3)
        session.commit()
    topics.restart(TOPIC, group=f"worker-1@{TOPIC}", mode="position", at=2, apply_to="all")
    with opened() as session:
        assert session.poll().offset == 2
        session.commit()
    assert groups.status(f"worker-1@{TOPIC}").lag == 3
