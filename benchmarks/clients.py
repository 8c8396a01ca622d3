"""Clients: processes with a connection of their own that do one thing for a while, and what it cost."""

import multiprocessing
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import connection, connections

fork = multiprocessing.get_context("fork")

Work = Callable[[int], object]  # does one operation; the number never repeats
Contestant = Callable[
    [int], tuple[Work, Callable[[], int]]
]  # for a client: its work, and the pid of its server process


@dataclass(frozen=True)
class Figures:
    """Medians over rounds: operations a second of all clients, and microseconds of processor time for each."""

    rate: float
    client: float
    server: float


def take_turns(contestants: dict[str, Contestant], *, clients: int, rounds: int, seconds: float) -> dict[str, Figures]:
    """Every contestant in turn, several times, so that a noisy machine is noisy for all of them."""
    runs: dict[str, list[tuple[float, float, float]]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, contestant in contestants.items():
            runs[name].append(run(contestant, clients=clients, seconds=seconds))
    return {name: Figures(*(statistics.median(column) for column in zip(*taken))) for name, taken in runs.items()}


def run(contestant: Contestant, *, clients: int, seconds: float) -> tuple[float, float, float]:
    """One slice: rate, client's and server's time for an operation."""
    connections.close_all()
    barrier, queue = fork.Barrier(clients), fork.Queue()
    processes = [fork.Process(target=client, args=(contestant, n, seconds, barrier, queue)) for n in range(clients)]
    for process in processes:
        process.start()
    reports = [queue.get(timeout=seconds + 120) for _ in processes]
    for process in processes:
        process.join()
    rates, client_times, server_times = zip(*reports)
    return sum(rates), statistics.mean(client_times), statistics.mean(server_times)


def client(contestant: Contestant, number: int, seconds: float, barrier: Any, queue: Any) -> None:
    """Warm up, start with the others, work, report."""
    work, server_pid = contestant(number)
    numbers = fresh_numbers(number)
    for _ in range(20):
        work(next(numbers))
    pid = server_pid()
    barrier.wait(60)
    started, own, theirs, count = time.perf_counter(), time.process_time(), processor_time(pid), 0
    while time.perf_counter() - started < seconds:
        work(next(numbers))
        count += 1
    elapsed = time.perf_counter() - started
    spent = (time.process_time() - own, processor_time(pid) - theirs)
    queue.put((count / elapsed, spent[0] / count * 1e6, spent[1] / count * 1e6))
    connections.close_all()


def fresh_numbers(client_number: int) -> Iterator[int]:
    """Numbers that no other client and no other slice uses."""
    number = (time.time_ns() // 1_000_000) * 1_000_000 + client_number * 100_000
    while True:
        yield number
        number += 1


def processor_time(pid: int) -> float:
    """Seconds of processor time of another process."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def django_backend() -> int:
    """The server process of Django's connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])
