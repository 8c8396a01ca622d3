"""One partition is steered while others are at it: at every interleaving of two transactions one of them wins whole."""

import threading

import pytest

from ccc_django import Retry, dead_letters, groups, store
from ccc_django.dead_letters import deciding
from ccc_django.errors import ClaimLost
from ccc_django.groups import lifecycle
from ccc_django.models import DeadLetter, Offset, OffsetKeyPair
from tests.concurrency.test_groups import HANDLED, in_thread, step
from tests.domain import UserJoinedCourse

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]

PARTITION = {"course_name": "c0", "user_id": "u0"}


def joined(**values):
    return store.append(UserJoinedCourse(**PARTITION | values))[0]


@pytest.fixture
def claim():
    """A claim of one message; one failure puts it aside."""
    groups.register(
        "enrolment", partition_by=["course_name", "user_id"], handled_types=HANDLED, retry=Retry(max_attempts=1)
    )
    joined()
    return groups.claim_next("enrolment", worker="w-1")


def losing(task, lost: list[ClaimLost]):
    """A task that notes when it has lost its claim."""

    def run() -> None:
        try:
            task()
        except ClaimLost as error:
            lost.append(error)

    return run


def delivered() -> list[int]:
    found = []
    while claim := groups.claim_next("enrolment", worker="w-2"):
        found += [message.position for message in claim.messages]
        groups.ack(claim)
    return found


@pytest.mark.parametrize("first", ["ack", "stop"])
@pytest.mark.parametrize("waits", [True, False])
def test_a_partition_is_stopped_whatever_its_worker_does(claim, first, waits):
    lost = []
    tasks = {
        "ack": losing(lambda: groups.ack(claim), lost),
        "stop": lambda: groups.stop("enrolment", partition=PARTITION, reason="enough"),
    }
    step(tasks.pop(first), *tasks.values(), waits=waits)
    offset = Offset.objects.get()
    assert (offset.is_stopped, offset.error, offset.claimed_by) == (True, "enough", "")
    assert len(lost) == (1 if first == "stop" else 0)
    joined()
    assert delivered() == []
    groups.start("enrolment", partition=PARTITION)
    assert len(delivered()) == (2 if first == "stop" else 1), "what was not acked comes again"


def test_a_claim_that_nobody_can_see_yet_is_fenced_by_a_stop_of_its_partition(claim):
    groups.release(claim)
    claims, held, done = [], threading.Event(), threading.Event()
    claiming = in_thread(lambda: claims.append(groups.claim_next("enrolment", worker="w-1")), held, done)
    assert done.wait(10)
    stopping = in_thread(lambda: groups.stop("enrolment", partition=PARTITION))
    held.set()
    claiming.join(10)
    stopping.join(10)
    with pytest.raises(ClaimLost):
        groups.ack(claims[0])
    assert Offset.objects.get().is_stopped
    assert groups.claim_next("enrolment", worker="w-2") is None


@pytest.mark.parametrize("first", ["give up", "delete"])
@pytest.mark.parametrize("waits", [True, False])
def test_a_partition_that_is_forgotten_leaves_no_dead_letter_behind(claim, first, waits):
    lost = []
    tasks = {
        "give up": losing(lambda: groups.release(claim, error=ValueError("no")), lost),
        "delete": lambda: groups.delete("enrolment", partition=PARTITION),
    }
    step(tasks.pop(first), *tasks.values(), waits=waits)
    assert len(lost) == (1 if first == "delete" else 0)
    left = [model.objects.count() for model in (Offset, OffsetKeyPair, DeadLetter)]
    assert left == [0, 0, 0]


@pytest.mark.parametrize("first", ["advance", "delete"])
def test_a_partition_is_forgotten_before_or_after_an_advance_and_never_in_between(claim, first):
    """An advance passes by a group that somebody changes; whoever changes a group waits for an advance."""
    groups.ack(claim)
    later = joined()
    tasks = {
        "advance": lambda: groups.advance("enrolment"),
        "delete": lambda: groups.delete("enrolment", partition=PARTITION),
    }
    step(tasks.pop(first), *tasks.values(), waits=first == "advance")
    pairs, offsets = OffsetKeyPair.objects.values_list("offset_id", flat=True), Offset.objects.values_list("pk")
    assert {*pairs} == {pk for (pk,) in offsets}, "no value of a partition that is not there"
    if first == "advance":
        assert not offsets, "it was forgotten with what had just come"
        newest = joined()
        assert delivered() == [claim.position, later.position, newest.position]
    else:
        assert delivered() == [claim.position, later.position], "the advance that passed by comes again"


@pytest.mark.parametrize("first", ["replay", "delete"])
@pytest.mark.parametrize("waits", [True, False])
def test_a_letter_is_replayed_or_forgotten_with_its_partition(claim, first, waits):
    groups.release(claim, error=ValueError("no"))
    letter, replayed = DeadLetter.objects.get(), []
    tasks = {
        "replay": lambda: replayed.append(dead_letters.replay(letter)),
        "delete": lambda: groups.delete("enrolment", partition=PARTITION),
    }
    step(tasks.pop(first), *tasks.values(), waits=waits)
    assert replayed == [1 if first == "replay" else 0]
    assert not DeadLetter.objects.exists()
    assert delivered() == []


@pytest.mark.parametrize("decide", [dead_letters.replay, dead_letters.discard])
def test_whoever_decides_upon_letters_waits_for_whoever_changes_their_group(claim, decide):
    """Groups are locked before offsets, by everybody: an advance marks offsets in any order."""
    groups.release(claim, error=ValueError("no"))
    letter = DeadLetter.objects.get()
    step(lambda: lifecycle.locked("enrolment"), lambda: decide(letter), waits=True)
    letter.refresh_from_db()
    assert letter.status in {"replaying", "discarded"}


def test_two_who_replay_the_same_letters_at_once_deliver_each_once(claim, monkeypatch):
    monkeypatch.setattr(deciding, "BATCH", 3)
    groups.ack(claim)
    store.append([UserJoinedCourse(course_name="c0", user_id=f"u{n % 3}") for n in range(12)])
    while found := groups.claim_next("enrolment", worker="w-1"):
        groups.release(found, error=ValueError("no"))
    letters = list(DeadLetter.objects.order_by("position"))
    assert len(letters) == 12
    replayed = []
    both = [
        in_thread(lambda letters=order: replayed.append(dead_letters.replay(letters)))
        for order in (letters, letters[::-1])
    ]
    for thread in both:
        thread.join(20)
        assert not thread.is_alive()
    assert sum(replayed) == 12
    assert sorted(delivered()) == [letter.position for letter in letters]
