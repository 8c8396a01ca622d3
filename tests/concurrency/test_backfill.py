"""Backfills with real processes: killed in the middle, beside workers and publishers."""

import os
import signal
import time
from pathlib import Path

import pytest
from django.db import connections

from ccc_django import groups, testing, topics
from ccc_django.models import Delivery
from tests.concurrency.processes import fork, in_background
from tests.topics.orders import TOPIC, channel, published

pytestmark = pytest.mark.django_db(transaction=True)


def _work(journal: Path, worker: str) -> None:
    """Claim, note in the same moment as the ack, and go on until killed; nobody is killed between the two here."""
    with journal.open("a", buffering=1) as notes:
        while True:
            found = groups.claim_next("late", worker=worker, limit=500)
            if found is None:
                time.sleep(0.01)
                continue
            groups.ack(found)
            notes.write(" ".join(str(message.position) for message in found.messages) + "\n")


def _publish(count: int) -> None:
    for number in range(count):
        published(f"new-{number}")
        time.sleep(0.005)


def test_a_backfill_that_is_killed_three_times_delivers_each_message_once(tmp_path, proof):
    """Workers consume and somebody publishes meanwhile; in full it has 300,000 messages."""
    testing.clear()
    channel()
    size, new = (300_000, 300) if proof else (12_000, 30)
    for first in range(0, size, 10_000):
        published(*map(str, range(first, min(first + 10_000, size))))
    topics.subscribe(TOPIC, group="late", mode="all")
    journals = [tmp_path / f"w-{number}" for number in range(2)]
    reached = [0]
    connections.close_all()
    publisher = fork.Process(target=_publish, args=(new,))
    publisher.start()
    with in_background(_work, journals[0], "w-0"), in_background(_work, journals[1], "w-1"):
        for part in (0.2, 0.4, 0.6):
            process = fork.Process(target=topics.backfill, args=(TOPIC,), kwargs={"group": "late"})
            connections.close_all()
            process.start()
            while topics.backfill_status(TOPIC, group="late").fraction < part and process.is_alive():
                time.sleep(0.001)
            os.kill(process.pid, signal.SIGKILL)
            process.join()
            reached.append(topics.backfill_status(TOPIC, group="late").position)
        assert topics.backfill(TOPIC, group="late").is_complete
        publisher.join(120)
        deadline = time.monotonic() + 300
        while not groups.is_empty("late") and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.2)  # until the last ack is noted
    assert reached == sorted(reached)
    seen = [int(each) for journal in journals for each in journal.read_text().split()]
    assert len(seen) == len({*seen}), "none twice"
    assert {*seen} == {*range(1, size + new + 1)}, "and none is missing"
    assert not Delivery.objects.exists()


def test_several_who_backfill_at_once_share_the_work(proof):
    testing.clear()
    channel()
    published(*map(str, range(10_000)))
    topics.subscribe(TOPIC, group="late", mode="all")
    connections.close_all()
    processes = [fork.Process(target=topics.backfill, args=(TOPIC,), kwargs={"group": "late"}) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert Delivery.objects.count() == 10_000
