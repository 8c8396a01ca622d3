"""Killed exports: whatever moment it was, run again the archive has every message once, late ones too."""

import os
import random
import signal
import subprocess
import threading
import time
from contextlib import contextmanager

import pyarrow.parquet as pq
from django.db import connection, connections, transaction

from ccc_django import store
from ccc_django.models import StoredMessage
from ccc_django.spark.archives import Archive
from ccc_django.spark.exporting import export
from ccc_django.spark.verifying import verify
from tests.commands.driving import MORE, ROOT, command_line
from tests.spark.portable import Joined
from tests.worker.running import environment

FOLLOW = ("--follow", "--every", "0 seconds", "--max-messages", "40", "--conf", "spark.driver.memory=1g")


def appending(ended: threading.Event, *, slowly: bool) -> None:
    """Appends of one message each; the slow ones stay open for a while, so that they commit late."""
    try:
        while not ended.is_set():
            with transaction.atomic():
                store.append(Joined(course_name=random.choice("abc"), user_id=random.randint(1, 9)))
                if slowly:
                    time.sleep(random.uniform(0.1, 1.5))
            time.sleep(0.02)
    finally:
        connections.close_all()


@contextmanager
def appends_running():
    """One who is quick, and on PostgreSQL two who are slow; SQLite has one writer at a time."""
    ended = threading.Event()
    kinds = [False, True, True] if connection.vendor == "postgresql" else [False]
    threads = [threading.Thread(target=appending, args=(ended,), kwargs={"slowly": slowly}) for slowly in kinds]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def test_an_export_that_is_killed_again_and_again_has_everything_once(spark, tmp_path, proof):
    reached = []
    with appends_running():
        for _ in range(10 if proof else 3):
            arguments = command_line("ccc_spark", "export", "--to", str(tmp_path), *FOLLOW)
            job = subprocess.Popen(
                arguments, env=environment(**MORE), cwd=ROOT, start_new_session=True, stderr=subprocess.DEVNULL
            )
            wait_for_segments(tmp_path, 1 + len(Archive(tmp_path).segments()), job)
            time.sleep(random.uniform(0, 2))
            os.killpg(job.pid, signal.SIGKILL)
            job.wait()
            reached.append(len(Archive(tmp_path).segments()))
    assert reached == sorted({*reached}), "each of them has added something"
    export(spark, tmp_path)
    stored = [*StoredMessage.objects.order_by("position").values_list("position", flat=True)]
    assert archived(tmp_path) == stored
    assert verify(spark, tmp_path).problems == []


def wait_for_segments(path, count: int, job: subprocess.Popen) -> None:
    deadline = time.monotonic() + 90
    while len(Archive(path).segments()) < count:
        assert job.poll() is None, "it has ended by itself"
        assert time.monotonic() < deadline, "it has exported nothing"
        time.sleep(0.05)


def archived(path) -> list[int]:
    files = [path / file.path for segment in Archive(path).segments() for file in segment.files]
    return sorted(position for file in files for position in pq.read_table(file)["position"].to_pylist())
