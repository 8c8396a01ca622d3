"""Sessions with real processes and connections: killed between poll and commit, fenced, waiting, beside pruning."""

import os
import signal
import time
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connections

from ccc_django import groups, sessions, testing, topics
from ccc_django.errors import ClaimLost
from ccc_django.models import StoredMessage
from tests.concurrency.acting import actor
from tests.concurrency.processes import assert_overlapped, fork, together
from tests.retaining import age
from tests.topics.orders import TOPIC, channel, published

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def first_day(transactional_db) -> None:
    """A log as it was on its first day."""
    testing.clear()
    channel()


def opened(commit: str = "manual", **options) -> sessions.Session:
    return sessions.open(TOPIC, consumer_id="worker-1", commit=commit, **options)


def _read_and_wait(commit: str, done: int, file: Path) -> None:
    """Poll some, commit them, poll one more, say so, and wait to be killed."""
    session = opened(commit)
    for _ in range(done):
        session.poll()
        session.commit()
    file.write_text(str(session.poll().offset))
    time.sleep(60)


@pytest.mark.parametrize(("commit", "expected"), [("manual", 3), ("auto", 4)])
def test_whoever_is_killed_between_poll_and_commit_gets_the_same_record_again(tmp_path, commit, expected):
    """With auto commit it was done when it was polled."""
    published(*"abcde")
    file = tmp_path / "polled"
    connections.close_all()
    process = fork.Process(target=_read_and_wait, args=(commit, 2, file))
    process.start()
    deadline = time.monotonic() + 30
    while not (file.exists() and file.read_text()) and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert file.read_text() == "3"
    with opened(commit) as session:
        assert session.committed_offset == expected - 1
        assert session.poll().offset == expected


def _follow(stop: int, journal: Path, turn: int) -> None:
    """Poll, note what was polled, commit; until somebody kills us or everything is read."""
    with opened() as session, journal.open("a", buffering=1) as notes:
        while session.committed_offset < stop:
            record = session.poll(timeout=1)
            if record is not None:
                notes.write(f"{turn} {record.offset}\n")
                session.commit()


def test_a_consumer_that_is_killed_again_and_again_reads_everything_at_least_once_and_in_order(tmp_path):
    published(*map(str, range(300)))
    journal, turn = tmp_path / "journal", 0
    while True:
        turn += 1
        connections.close_all()
        process = fork.Process(target=_follow, args=(300, journal, turn))
        process.start()
        process.join(0.15 if turn < 8 else 60)
        if process.exitcode == 0:
            break
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    seen = [(int(number), int(offset)) for number, offset in map(str.split, journal.read_text().splitlines())]
    assert {offset for _, offset in seen} == {*range(1, 301)}
    assert len(seen) - 300 < turn, "each death repeats one at most"
    for number in range(1, turn + 1):
        offsets = [offset for each, offset in seen if each == number]
        assert offsets == [*range(offsets[0], offsets[0] + len(offsets))] if offsets else True


def _race() -> list[int]:
    """Poll and commit for a while; whoever is fenced opens it again."""
    stop, committed = time.monotonic() + 1.5, []
    session = opened()
    while time.monotonic() < stop:
        try:
            if (record := session.poll()) is not None:
                session.commit()
                committed.append(record.offset)
        except ClaimLost:
            time.sleep(0.01)
            session = opened()
    return committed


def test_of_several_sessions_with_one_id_each_commit_is_one_ones():
    """Nobody moves back what another has committed, and nothing is committed twice."""
    published(*map(str, range(3_000)))
    reports = together(*[_race] * 3)
    assert_overlapped(reports)
    committed = [offset for report in reports for offset in report.result]
    assert len(committed) == len({*committed})
    with opened() as session:
        assert session.committed_offset == max(committed)
        assert {*committed} == {*range(1, max(committed) + 1)}


def test_poll_waits_until_something_comes():
    with actor() as publishing, opened() as session:
        session.poll(timeout=0.01)  # it listens from now on
        started = time.monotonic()
        publishing.start(lambda: (time.sleep(0.5), published("a")))
        record = session.poll(timeout=20)
        taken = time.monotonic() - started
    assert record.offset == 1
    assert 0.4 < taken < 3


def test_poll_waits_no_longer_than_it_is_told():
    with opened() as session:
        started = time.monotonic()
        assert session.poll(timeout=0.4) is None
        assert 0.4 <= time.monotonic() - started < 2


def test_waiting_is_no_busy_loop(django_assert_max_num_queries):
    with opened() as session, django_assert_max_num_queries(40):
        session.poll(timeout=2)


def test_waiting_takes_hardly_any_time_of_the_processor():
    with opened() as session:
        session.poll(timeout=0.1)
        before = time.process_time()
        session.poll(timeout=1.5)
        assert time.process_time() - before < 0.2


@pytest.mark.postgres
def test_a_slower_append_holds_back_what_comes_behind_it():
    with actor() as slow, opened() as session:
        slow.begin()
        slow.do(published, "slow")
        published("fast")
        assert session.poll() is None
        slow.commit()
        assert [record.value.order_id for record in session] == ["slow", "fast"]


@pytest.mark.postgres
def test_seek_to_end_leaves_out_nothing_that_is_not_final():
    with actor() as slow, opened() as session:
        slow.begin()
        slow.do(published, "slow")
        published("fast")
        session.seek_to_end()
        slow.commit()
        assert [record.value.order_id for record in session] == ["slow", "fast"]


@pytest.mark.postgres
@pytest.mark.parametrize("first", ["commit", "seek"])
def test_a_commit_and_an_operator_who_seeks_lock_in_one_order(first):
    published("a", "b", "c")
    session = None
    with actor() as consuming, actor() as operating:
        session = consuming.do(opened)
        consuming.do(session.poll_many, 2)
        (consuming if first == "commit" else operating).begin()
        tasks = {
            "commit": (consuming, session.commit),
            "seek": (operating, lambda: groups.seek(f"worker-1@{TOPIC}", to=1)),
        }
        one, task = tasks.pop(first)
        one.do(task)
        [(other, second)] = tasks.values()
        waiting = other.start(second)
        time.sleep(0.2)
        assert not waiting.done()
        one.commit()
        if first == "seek":
            with pytest.raises(ClaimLost):
                waiting.result(30)
        else:
            waiting.result(30)
    with opened() as session:
        assert session.poll().offset == 1


@pytest.mark.postgres
def test_a_seek_back_that_nobody_can_see_yet_keeps_what_it_needs():
    topics.configure(TOPIC, retention=timedelta(days=1))
    published("a", "b", "c")
    with actor() as reading, actor() as pruning:
        session = reading.do(lambda: opened(hold=True))
        reading.do(session.poll_many, 3)
        reading.do(session.commit)
        age()
        reading.begin()
        assert reading.do(session.seek, 2) == 2
        assert not pruning.do(topics.prune)[0].is_complete
        reading.commit()
        assert pruning.do(topics.prune)[0].count == 1
        assert [record.offset for record in reading.do(session.poll_many, 5)] == [2, 3]


@pytest.mark.parametrize("hold", [True, False])
def test_only_a_session_that_holds_keeps_what_it_has_not_committed(hold):
    topics.configure(TOPIC, retention=timedelta(days=1))
    published("a", "b", "c")
    with opened(hold=hold) as session:
        session.poll()
        session.commit()
        session.poll()
        age()
        [said] = topics.prune()
        assert (said.count, said.held_by) == ((1, (f"worker-1@{TOPIC}",)) if hold else (3, ()))
        session.seek(2)
        assert [record.offset for record in session] == ([2, 3] if hold else [])
    assert StoredMessage.objects.count() == (2 if hold else 0)
