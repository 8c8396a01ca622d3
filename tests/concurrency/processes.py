"""Real processes with connections of their own, that start together and report what they did and when."""

import multiprocessing
import os
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection, connections

fork = multiprocessing.get_context("fork")


@dataclass
class Report:
    """What one process did."""

    result: Any
    backend: int
    started: float
    ended: float


def together(*tasks: Callable[[], Any], timeout: float = 120) -> list[Report]:
    """Run each task in a process of its own, all at once; a task that raises fails the test."""
    connections.close_all()
    barrier, queue = fork.Barrier(len(tasks)), fork.Queue()
    processes = [fork.Process(target=_child, args=(n, task, barrier, queue)) for n, task in enumerate(tasks)]
    for process in processes:
        process.start()
    reports = dict(queue.get(timeout=timeout) for _ in processes)
    for process in processes:
        process.join(timeout)
    for report in reports.values():
        assert isinstance(report, Report), report
    return [reports[n] for n in range(len(tasks))]


def _child(number: int, task: Callable[[], Any], barrier: Any, queue: Any) -> None:
    try:
        backend = backend_id()
        barrier.wait(60)
        started = time.monotonic()
        result = task()
        queue.put((number, Report(result, backend, started, time.monotonic())))
    except BaseException:  # noqa: BLE001 - the parent shows it
        queue.put((number, traceback.format_exc()))
    finally:
        connections.close_all()


def backend_id() -> int:
    """Who we are for the database: its own process on PostgreSQL, ours on SQLite."""
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        return os.getpid()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return cursor.fetchone()[0]


def assert_overlapped(reports: list[Report]) -> None:
    """They were different connections, and each was at work while another was; a busy machine may start one late."""
    assert len({report.backend for report in reports}) == len(reports)
    assert_at_once(reports)


def assert_at_once(reports: list[Report]) -> None:
    """Each was at work while another was."""
    ended = float("-inf")
    for number, report in enumerate(sorted(reports, key=lambda report: report.started)):
        assert number == 0 or report.started < ended
        ended = max(ended, report.ended)


@contextmanager
def in_background(task: Callable[..., Any], *args: Any) -> Iterator[Any]:
    """A process that goes on while the test does."""
    connections.close_all()
    process = fork.Process(target=_alone, args=(task, args))
    process.start()
    try:
        yield process
    finally:
        process.kill()
        process.join()


def _alone(task: Callable[..., Any], args: tuple[Any, ...]) -> None:
    try:
        task(*args)
    finally:
        connections.close_all()
