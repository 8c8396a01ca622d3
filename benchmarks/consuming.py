"""Consuming: how fast workers in processes of their own empty a backlog, and how soon an idle one begins."""

import os
import random
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count as counter
from pathlib import Path

from benchmarks.consume_peers import Contestant

ROOT = Path(__file__).parent.parent
TICK = os.sysconf("SC_CLK_TCK")
WARM, WARM_JOBS = 0.05, 500  # of the backlog, or so many jobs, are done before anything is measured
LONGEST_START = 60.0
SETTLING = 2.0
SHORTEST_PAUSE, LONGEST_PAUSE = 0.05, 1.0
SHORTEST_DRAIN, LONGEST_BACKLOG = 1.0, 400_000  # one that is emptied sooner is made five times as long
LOAD_OF_LOOKING = 0.05  # of one processor, at most

numbers = counter(1)


@dataclass(frozen=True, slots=True)
class Figures:
    """Jobs a second of all processes together, and milliseconds of their processor time for a job."""

    rate: float
    cpu_per_job_ms: float


@dataclass(frozen=True, slots=True)
class Sample:
    """How things are at a moment."""

    at: float
    remaining: int
    cpu: float


def drain(contestant: Contestant, *, backlog: int, processes: int, cap: float) -> Figures:
    """Empty a backlog, or work at it for so many seconds."""
    contestant.prepare()
    contestant.enqueue(backlog)
    settle()
    with working(contestant, processes) as workers:
        first = warmed_up(contestant, workers, backlog)
        last = emptied(contestant, workers, first, cap)
    done = first.remaining - last.remaining
    if last.at - first.at < SHORTEST_DRAIN and backlog < LONGEST_BACKLOG:
        return drain(contestant, backlog=min(5 * backlog, LONGEST_BACKLOG), processes=processes, cap=cap)
    if done <= 0:
        raise RuntimeError(f"{contestant.NAME}: nothing was done in {cap} s\n{said(workers)}")
    return Figures(done / (last.at - first.at), (last.cpu - first.cpu) / done * 1e3)


def idle_latency(contestant: Contestant, *, count: int = 30) -> float:
    """Milliseconds from before a job is enqueued until its handler runs in an idle worker, the median."""
    contestant.prepare()
    settle()
    with tempfile.TemporaryDirectory() as folder, working(contestant, 1) as workers:
        path, taken = Path(folder, "ran"), []
        path.touch()
        until_connected(workers)
        time.sleep(SETTLING)
        for number in range(count):
            time.sleep(random.uniform(0.2, 0.6))
            started_at = contestant.enqueue_report(str(path))
            taken.append(ran_at(path, number, workers) - started_at)
    return statistics.median(taken) * 1e3


def ran_at(path: Path, number: int, workers: list["Worker"]) -> float:
    """When the handler of a job ran, which is what it wrote."""
    deadline = time.monotonic() + LONGEST_START
    while len(lines := path.read_text().split()) <= number:
        check(workers, deadline)
        time.sleep(0.005)
    return float(lines[number])


def settle() -> None:
    """What autovacuum and the checkpointer would have done by then."""
    from django.db import DatabaseError, connection

    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
        with suppress(DatabaseError):  # not everyone may
            cursor.execute("CHECKPOINT")


def warmed_up(contestant: Contestant, workers: list["Worker"], backlog: int) -> Sample:
    """Every process is at work, or those that are have done half of it already."""
    deadline = time.monotonic() + LONGEST_START
    for sample in samples(contestant, workers):
        done = backlog - sample.remaining
        if done >= backlog / 2 or (done >= min(backlog * WARM, WARM_JOBS) and connected(workers)):
            return sample
        check(workers, deadline)
    raise AssertionError("samples never end")


def emptied(contestant: Contestant, workers: list["Worker"], first: Sample, cap: float) -> Sample:
    """The last moment at which there was work to do."""
    last = first
    for sample in samples(contestant, workers):
        if sample.remaining == 0:
            return sample if last is first else last
        last = sample
        if sample.at - first.at >= cap:
            break
        check(workers)
    return last


def samples(contestant: Contestant, workers: list["Worker"]) -> Iterator[Sample]:
    """One after the other, with pauses so long that looking costs little."""
    while True:
        at = time.perf_counter()
        sample = Sample(at, contestant.remaining(), processor_time(workers))
        took = time.perf_counter() - at
        yield sample
        time.sleep(min(max(SHORTEST_PAUSE, took / LOAD_OF_LOOKING), LONGEST_PAUSE))


class Worker:
    """A worker process and its children: a session of their own."""

    def __init__(self, contestant: Contestant, processes: int, log: Path) -> None:
        self.name, self.log = f"bench-{os.getpid()}-{next(numbers)}", log
        names = {"PGAPPNAME": self.name, "CCC_BENCH_PROCESSES": str(processes)}
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                contestant.command(),
                env=environment(contestant) | names,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def kill(self) -> None:
        """All of them, at once."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def environment(contestant: Contestant) -> dict[str, str]:
    """Ours, and what the contestant adds; what it sets to nothing is left out."""
    given = os.environ | {"PYTHONUNBUFFERED": "1"} | contestant.ENVIRONMENT
    return {name: value for name, value in given.items() if value}


@contextmanager
def working(contestant: Contestant, processes: int) -> Iterator[list[Worker]]:
    """So many worker processes, which are killed in the end."""
    with tempfile.TemporaryDirectory() as folder:
        workers: list[Worker] = []
        try:
            for number in range(1 if contestant.TOGETHER else processes):
                log = Path(folder, str(number))
                workers.append(Worker(contestant, processes, log))  # one by one, so that those that started are killed
            yield workers
        finally:
            for worker in workers:
                worker.kill()


def check(workers: list[Worker], deadline: float = float("inf")) -> None:
    """Fail if a worker has died, or when it takes too long."""
    if any(worker.process.poll() is not None for worker in workers):
        raise RuntimeError(f"A worker died:\n{said(workers)}")
    if time.monotonic() > deadline:
        raise RuntimeError(f"The workers do nothing:\n{said(workers)}")


def said(workers: list[Worker]) -> str:
    """The last that the workers wrote."""
    return "\n".join(worker.log.read_text(errors="replace")[-3_000:] for worker in workers if worker.log.exists())


def until_connected(workers: list[Worker]) -> None:
    """Wait until every worker has opened its database."""
    deadline = time.monotonic() + LONGEST_START
    while not connected(workers):
        check(workers, deadline)
        time.sleep(SHORTEST_PAUSE)


def connected(workers: list[Worker]) -> bool:
    """Whether every worker has opened its database: PostgreSQL knows them by name, SQLite's is an open file."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT application_name FROM pg_stat_activity WHERE application_name LIKE 'bench-%%'")
        names = {name for (name,) in cursor.fetchall()}
    return all(worker.name in names or has_sqlite(worker.process.pid) for worker in workers)


def has_sqlite(pid: int) -> bool:
    """Whether a process has a SQLite database open."""
    with suppress(FileNotFoundError):
        return any(str(file.readlink()).endswith(".sqlite3") for file in Path(f"/proc/{pid}/fd").iterdir())
    return False


def processor_time(workers: list[Worker]) -> float:
    """Seconds that the workers, their children and those that they have waited for took until now."""
    sessions, ticks = {worker.process.pid for worker in workers}, 0
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) in sessions:
                ticks += sum(int(field) for field in fields[11:15])
    return ticks / TICK
