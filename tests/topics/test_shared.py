"""Shared groups: each message by itself, with leases, tokens, attempts, pauses, delays and dead letters."""

from datetime import timedelta

import pytest
from django.db import transaction

from ccc_django import DEAD_LETTER, STOP_GROUP, STOP_PARTITION, Retry, dead_letters, groups, topics
from ccc_django.errors import ClaimLost
from ccc_django.groups import looking
from ccc_django.models import ConsumerGroup, DeadLetter, Delivery, StoredMessage
from tests.topics.orders import TOPIC, OrderCreated, OrderPaid, channel, claim, handled, ids, published

pytestmark = pytest.mark.django_db(transaction=True)

OVER = timedelta(seconds=-1)


@pytest.fixture
def email():
    """A shared group."""
    channel()
    topics.subscribe(TOPIC, group="email", retry=Retry(max_attempts=3, first_pause=timedelta(0)))
    return "email"


def test_workers_share_messages_and_nobody_gets_what_another_has(email):
    published(*"abcdef")
    assert [ids(claim(email, worker=f"w-{n}", limit=2)) for n in range(4)] == [["a", "b"], ["c", "d"], ["e", "f"], []]


def test_an_ack_of_some_messages_leaves_the_others_in_hand(email):
    published(*"abc")
    claimed = claim(email)
    groups.ack(claimed, messages=[claimed.messages[1]])
    assert claim(email) is None, "the others are in hand"
    groups.release(claimed, messages=[claimed.messages[0]])
    groups.ack(claimed, messages=[claimed.messages[2]])
    assert handled(email) == ["a"]


def test_a_claim_that_is_acked_in_part_never_passes_a_failed_message(email):
    published(*"abc")
    claimed = claim(email)
    groups.release(claimed, messages=[claimed.messages[0]], error=ValueError("a"))
    groups.ack(claimed, messages=claimed.messages[1:])
    assert handled(email) == ["a"]
    assert not Delivery.objects.exists()


def test_the_same_message_is_acked_once(email):
    published(*"ab")
    claimed = claim(email)
    groups.ack(claimed, messages=claimed.messages[:1])
    with pytest.raises(ClaimLost):
        groups.ack(claimed)
    assert [delivery.position for delivery in Delivery.objects.all()] == [2], "nothing changed"
    with pytest.raises(ClaimLost):
        groups.release(claimed, messages=claimed.messages[:1])


def test_messages_that_are_not_in_a_claim_are_refused(email):
    [first, second] = published("a"), published("b")
    claimed = claim(email, limit=1)
    assert claimed.messages == first
    for verb in (groups.ack, groups.release):
        with pytest.raises(ValueError, match="Not in this claim: 2"):
            verb(claimed, messages=second)
    groups.ack(claimed)
    assert handled(email) == ["b"]


def test_messages_belong_to_claims_of_shared_groups_only():
    channel()
    topics.subscribe(TOPIC, group="orders", partition_by="order_id", handles=[OrderCreated])
    published("a")
    claimed = claim("orders")
    for verb in (groups.ack, groups.release):
        with pytest.raises(ValueError, match="in order"):
            verb(claimed, messages=claimed.messages)
    groups.ack(claimed)


def test_after_its_lease_somebody_else_gets_it_and_the_first_can_do_nothing(email):
    published(*"ab")
    old = claim(email, lease=OVER)
    new = claim(email, worker="w-2")
    assert (ids(new), new.attempt) == (["a"], 2), "what was tried before comes by itself"
    for verb in (groups.ack, groups.release, groups.renew):
        with pytest.raises(ClaimLost):
            verb(old)
    groups.ack(new)
    assert handled(email) == ["b"]


def test_a_renewed_lease_lasts(email):
    published("a")
    claimed = claim(email, lease=OVER)
    groups.renew(claimed)
    assert claim(email, worker="w-2") is None
    groups.ack(claimed)
    with pytest.raises(ClaimLost):
        groups.renew(claimed)


def test_what_is_left_of_a_claim_can_be_renewed(email):
    published(*"ab")
    claimed = claim(email, lease=OVER)
    groups.ack(claimed, messages=claimed.messages[:1])
    groups.renew(claimed)
    assert claim(email, worker="w-2") is None


def test_a_lost_claim_undoes_what_was_written_with_it(email):
    published("a")
    old = claim(email, lease=OVER)
    claim(email, worker="w-2")
    with pytest.raises(ClaimLost), transaction.atomic():
        published("effect")
        groups.ack(old)
    assert StoredMessage.objects.count() == 1


def test_released_without_an_error_it_has_not_been_tried(email):
    published(*"ab")
    groups.release(claim(email))
    again = claim(email)
    assert (ids(again), again.attempt) == (["a", "b"], 1)


def test_a_delay_is_waited_for(email):
    published(*"ab")
    claimed = claim(email)
    groups.release(claimed, messages=claimed.messages[:1], delay=timedelta(hours=1))
    groups.release(claimed, messages=claimed.messages[1:], delay=OVER)
    again = claim(email)
    assert (ids(again), again.attempt) == (["b"], 1)
    groups.ack(again)
    assert groups.retry(email) == 1
    assert handled(email) == ["a"]


def test_after_the_last_attempt_it_is_a_dead_letter_and_the_others_go_on(email):
    published(*"abc")
    claimed = claim(email)
    groups.release(claimed, messages=claimed.messages[1:2], error=ValueError("no such address"))
    groups.release(claimed, messages=[claimed.messages[0], claimed.messages[2]])
    seen = []
    while claimed := claim(email):
        seen.append((ids(claimed), claimed.attempt))
        if ids(claimed) == ["b"]:
            groups.release(claimed, error=ValueError("no such address"))
        else:
            groups.ack(claimed)
    assert sorted(seen) in ([(["a", "c"], 1), (["b"], 2), (["b"], 3)], [(["a"], 1), (["b"], 2), (["b"], 3), (["c"], 1)])
    [letter] = DeadLetter.objects.all()
    assert (letter.position, letter.attempts, letter.status) == (2, 3, "open")
    assert "no such address" in letter.traceback
    assert topics.progress(next(StoredMessage.objects.filter(position=2).messages())).is_complete


def test_a_dead_letter_is_replayed_by_itself_and_once(email):
    published(*"ab")
    give_up(email, "a")
    assert handled(email) == ["b"]
    assert dead_letters.replay(DeadLetter.objects.all()) == 1
    assert dead_letters.replay(DeadLetter.objects.all()) == 0
    assert handled(email) == ["a"]
    assert DeadLetter.objects.get().status == "replayed"
    assert handled(email) == []


def test_a_dead_letter_that_fails_again_is_one_again_at_once(email):
    published("a")
    give_up(email, "a")
    dead_letters.replay(DeadLetter.objects.all())
    groups.release(claim(email), error=ValueError("still"))
    letter = DeadLetter.objects.get()
    assert (letter.status, "still" in letter.error) == ("open", True)
    assert claim(email) is None
    assert dead_letters.discard(DeadLetter.objects.all(), reason="a typo") == 1
    assert not Delivery.objects.exists()


def test_a_preview_of_letters_counts_those_of_shared_groups(email):
    published("a")
    give_up(email, "a")
    preview = dead_letters.preview("replay", DeadLetter.objects.all())
    assert (preview.count, preview.without_partition) == (1, 0)


def give_up(group: str, order: str) -> None:
    """Let a message fail until it is a dead letter."""
    while not DeadLetter.objects.open().exists():
        claimed = claim(group)
        failing = [message for message in claimed.messages if message.order_id == order]
        groups.release(claimed, messages=failing, error=ValueError(order))
        groups.release(claimed, messages=[message for message in claimed.messages if message not in failing])


def test_attempts_that_ended_without_a_word_count(email):
    published("a")
    for number in range(3):
        assert claim(email, worker=f"w-{number}", lease=OVER).attempt == number + 1
    assert claim(email) is None
    assert "AttemptsUsedUp" in DeadLetter.objects.get().error


def test_with_one_attempt_a_claim_is_one_message():
    channel()
    topics.subscribe(TOPIC, group="once", retry=Retry(max_attempts=1))
    published(*"ab")
    claimed = claim("once")
    assert ids(claimed) == ["a"]
    groups.release(claimed, error=ValueError("a"))
    assert DeadLetter.objects.get().position == 1
    assert handled("once") == ["b"]


@pytest.mark.parametrize("then", [STOP_PARTITION, STOP_GROUP, DEAD_LETTER])
def test_after_the_last_attempt_the_policy_decides(then):
    channel()
    topics.subscribe(TOPIC, group="g", retry=Retry(max_attempts=1, then=then))
    published(*"ab")
    groups.release(claim("g"), error=ValueError("a"))
    if then == STOP_GROUP:
        assert claim("g") is None
        assert ConsumerGroup.objects.get(name="g").status == "failed"
        groups.start("g")
        assert handled("g") == ["a", "b"]
    elif then == STOP_PARTITION:
        assert handled("g") == ["b"], "the message alone waits for somebody"
        assert groups.is_empty("g")
        assert groups.retry("g") == 1
        assert handled("g") == ["a"]
    else:
        assert handled("g") == ["b"]


def test_a_stopped_group_gets_nothing_and_its_claims_are_fenced(email):
    published(*"ab")
    claimed = claim(email)
    groups.stop(email, reason="the mailer is down")
    assert claim(email) is None
    with pytest.raises(ClaimLost):
        groups.ack(claimed)
    groups.start(email)
    assert handled(email) == ["a", "b"]


def test_acks_travel_with_the_next_claim(email, django_assert_num_queries):
    published(*"abcd")
    first = claim(email, limit=2)
    second = claim(email, limit=2, ack=first)
    assert ids(second) == ["c", "d"]
    assert Delivery.objects.count() == 2
    assert claim(email, ack=second) is None
    assert not Delivery.objects.exists()


def test_an_ack_that_is_lost_on_its_way_claims_nothing(email):
    published(*"ab")
    lost = claim(email, lease=OVER)
    assert [ids(claim(email, worker="w-2")) for _ in range(2)] == [["a"], ["b"]]
    published("c")
    with pytest.raises(ClaimLost):
        claim(email, ack=lost)
    again = claim(email)
    assert (ids(again), again.attempt) == (["c"], 1), "what was claimed with it is free, and was not tried"


def test_a_group_may_want_some_types_only():
    channel()
    topics.subscribe(TOPIC, group="payments", handles=[OrderPaid])
    topics.publish(TOPIC, [OrderCreated(order_id="a"), OrderPaid(order_id="a"), OrderCreated(order_id="b")])
    claimed = claim("payments")
    assert [message.type for message in claimed.messages] == ["topics.order_paid"]
    groups.ack(claimed)
    assert groups.status("payments").lag == 0
    groups.register("payments", kind="shared", handled_types=[OrderCreated])
    published("c")
    assert handled("payments") == ["c"], "a new type from now on"


def test_many_messages_become_deliveries_batch_by_batch(email, monkeypatch):
    monkeypatch.setattr("ccc_django.groups.expanding.BATCH", 3)
    published(*map(str, range(10)))
    assert handled(email, limit=4) == [str(n) for n in range(10)]


def test_a_message_that_is_not_there_any_more_is_done(email):
    published(*"abc")
    assert groups.status(email).pending == 3
    groups.release(claim(email))
    StoredMessage.objects.filter(position=2).delete()
    assert handled(email) == ["a", "c"]
    assert not Delivery.objects.exists()


def test_status_counts_what_waits_is_in_hand_and_has_failed(email):
    published(*"abcd")
    claimed = claim(email, limit=2)
    groups.release(claimed, messages=claimed.messages[:1], error=ValueError("x"), delay=timedelta(hours=1))
    status = groups.status(email)
    assert (status.kind, status.pending, status.claims, status.failures) == ("shared", 4, 1, 1)
    assert (status.low_watermark, status.lag) == (0, 4)
    assert not groups.is_empty(email)
    groups.retry(email)
    groups.ack(claimed, messages=claimed.messages[1:])
    assert sorted(handled(email)) == ["a", "c", "d"]
    assert (groups.status(email).lag, groups.is_empty(email)) == (0, True)


def test_what_other_topics_get_is_no_lag(email):
    published("a")
    handled(email)
    published("x", topic="other")
    assert groups.status(email).lag == 0


def test_a_seek_goes_back_in_every_topic_and_forgets_what_was_open(email):
    published(*"abc")
    held = claim(email, limit=1)
    groups.seek(email, to=2)
    with pytest.raises(ClaimLost):
        groups.ack(held)
    assert handled(email) == ["b", "c"]
    groups.seek(email, to="end")
    assert handled(email) == []
    groups.seek(email, to="beginning")
    assert handled(email) == ["a", "b", "c"]


def test_letters_behind_a_seek_come_with_the_rest_and_once(email):
    published(*"ab")
    give_up(email, "a")
    handled(email)
    groups.seek(email, to="beginning")
    assert handled(email) == ["a", "b"]
    assert DeadLetter.objects.get().status == "replayed"
    groups.seek(email, to="end")
    assert dead_letters.replay(DeadLetter.objects.all()) == 0


def test_another_process_finds_what_was_released_behind_it(email):
    published(*"abcd")
    claimed = claim(email, limit=2)
    assert ids(claim(email, limit=2)) == ["c", "d"]
    groups.release(claimed)
    assert ids(claim(email)) == ["a", "b"], "this process has given it back, and knows"
    looking.forget()
    assert claim(email) is None


def test_within_a_transaction_nothing_is_remembered_that_is_rolled_back(email):
    published(*"ab")
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        assert ids(claim(email)) == ["a", "b"]
        raise ZeroDivisionError
    assert ids(claim(email)) == ["a", "b"]


def test_an_ack_may_be_of_another_group_of_the_other_kind(email):
    topics.subscribe(TOPIC, group="orders", partition_by="order_id", handles=[OrderCreated])
    published(*"ab")
    shared = claim(email)
    ordered = claim("orders", ack=shared)
    assert ids(ordered) == ["a"]
    assert groups.is_empty(email)
    assert claim(email, ack=ordered) is None
    assert handled("orders") == ["b"]


def test_open_messages_of_a_type_that_was_given_up_are_done(email):
    topics.publish(TOPIC, [OrderCreated(order_id="a"), OrderPaid(order_id="a"), OrderCreated(order_id="b")])
    groups.release(claim(email))
    groups.register(email, kind="shared", handled_types=[OrderCreated], replace=True)
    assert handled(email) == ["a", "b"]
    assert not Delivery.objects.exists()


def test_a_batch_that_fails_gives_up_no_more_than_the_letter_that_was_in_it(email):
    published(*"ab")
    give_up(email, "a")
    handled(email)
    published(*"cd")
    dead_letters.replay(DeadLetter.objects.all())
    looking.forget()  # as another process, which looks from the beginning
    claimed = claim(email)
    assert ids(claimed) == ["a", "c", "d"]
    groups.release(claimed, error=ValueError("all of them"))
    assert [letter.position for letter in DeadLetter.objects.open()] == [1]
    assert sorted(handled(email)) == ["c", "d"]


def test_an_ack_of_nothing_that_is_left_takes_nothing_back(email):
    published(*"ab")
    claimed = claim(email, limit=1)
    groups.ack(claimed)
    assert ids(claim(email, ack=claimed.without(claimed.messages))) == ["b"]
    assert claim(email, worker="w-2") is None


def replaying(group: str) -> DeadLetter:
    """A dead letter that is on its way."""
    published("a")
    give_up(group, "a")
    dead_letters.replay(DeadLetter.objects.all())
    letter = DeadLetter.objects.get()
    assert letter.status == "replaying"
    return letter


@pytest.mark.parametrize("verb", ["remove", "force", "delete", "leave"])
def test_a_letter_whose_way_has_ended_is_open_again(email, verb):
    letter = replaying(email)
    {
        "remove": lambda: topics.remove_group(TOPIC, email),
        "force": lambda: topics.force_complete(TOPIC, older_than=timedelta(0)),
        "delete": lambda: topics.delete(TOPIC, force=True),
        "leave": lambda: topics.configure(TOPIC, semantics="QUEUE", group="other", force=True),
    }[verb]()
    letter.refresh_from_db()
    assert letter.status == "open"
    foreseen = dead_letters.preview("replay", DeadLetter.objects.all()).count
    assert dead_letters.replay(DeadLetter.objects.all()) == foreseen == (1 if verb == "force" else 0)


def test_a_letter_of_an_ordered_group_comes_although_the_rest_was_passed_by_force():
    channel()
    topics.subscribe(TOPIC, group="g", partition_by="order_id", handles=[OrderCreated], retry=Retry(max_attempts=1))
    published("a", "a")
    groups.release(claim("g"), error=ValueError("a"))
    dead_letters.replay(DeadLetter.objects.all())
    topics.force_complete(TOPIC, older_than=timedelta(0))
    claimed = claim("g")
    assert [message.position for message in claimed.messages] == [1]
    groups.ack(claimed)
    assert DeadLetter.objects.get().status == "replayed"


def test_a_discarded_letter_that_comes_with_the_rest_anyway_is_not_on_its_way(email):
    published("a")
    give_up(email, "a")
    dead_letters.discard(DeadLetter.objects.all())
    groups.seek(email, to=1)
    groups.release(claim(email))
    assert dead_letters.replay(DeadLetter.objects.all()) == 1
    assert handled(email) == ["a"]
    assert DeadLetter.objects.get().status == "replayed"


def test_a_letter_of_a_type_that_was_given_up_is_open_again(email):
    letter = replaying(email)
    groups.register(email, kind="shared", handled_types=[OrderPaid], replace=True)
    looking.forget()
    assert claim(email) is None
    letter.refresh_from_db()
    assert letter.status == "open"
