"""Workers that are told to stop, killed, held up or cut off: nothing is lost, nothing is done twice, order is kept."""

import json
import os
import random
import signal
import time
from collections import defaultdict
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection

from ccc_django import dead_letters, groups, store
from ccc_django.consumers import projections
from ccc_django.models import DeadLetter, Offset, StoredMessage, Worker
from tests.concurrency import checker
from tests.postgres.cluster import cluster, on_server
from tests.worker.running import eventually, run, worker
from tests.worker_app.consumers import Announced, Do, Worked
from tests.worker_app.models import Effect

pytestmark = pytest.mark.django_db(transaction=True)

HANDLED = ["worked", "announced"]


def works(count: int, *, courses: int = 2, users: int = 3) -> list:
    dice = random.Random(count)
    one = [Worked(course_name=f"c{dice.randrange(courses)}", user_id=f"u{dice.randrange(users)}") for _ in range(count)]
    return [Announced(course_name=each.course_name) if dice.random() < 0.1 else each for each in one]


def effects(group: str = "batches") -> dict[str, list[int]]:
    """What was done in each partition, in the order of commits."""
    done = defaultdict(list)
    for partition, position in (
        Effect.objects.filter(group_name=group).order_by("id").values_list("partition", "position")
    ):
        done[partition].append(position)
    return done


def assert_done_once_and_in_order(group: str = "batches") -> None:
    log = checker.messages()
    handled = HANDLED if group == "batches" else ["worked"]
    names = ["course_name", "user_id"] if group == "batches" else ["user_id"]
    expected = {
        partition: [
            position
            for position, kind, payload in log
            if kind in handled and checker.belongs(payload, json.loads(partition))
        ]
        for partition in checker.partitions(log, names)
    }
    assert {partition: positions for partition, positions in effects(group).items() if positions} == expected


def assert_everything_done_once() -> None:
    """By functions in batches and one by one, by a decider, by a projector; nobody was blamed for what happened."""
    assert_done_once_and_in_order()
    assert_done_once_and_in_order("singles")
    log = checker.messages()
    commands, done = ([payload for _, kind, payload in log if kind == name] for name in ("do", "done"))
    for course in {payload["course_name"] for payload in commands}:
        count = sum(payload["course_name"] == course for payload in commands)
        numbers = [payload["number"] for payload in done if payload["course_name"] == course]
        assert numbers == list(range(1, count + 1))
    for user in {payload["user_id"] for _, kind, payload in log if kind == "worked"}:
        expected = [position for position, kind, payload in log if kind == "worked" and payload["user_id"] == user]
        assert projections.state("tally", user_id=user) == expected
    assert not DeadLetter.objects.exists()


def stop(process, number: int = signal.SIGTERM, *, within: float = 10) -> int:
    process.send_signal(number)
    return process.wait(within)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_during_a_batch_lets_it_finish(number, tmp_path):
    store.append(works(200, courses=1, users=2))
    with worker("--group", "batches", CCC_TEST_HANDLER_SECONDS="0.02", CCC_TEST_JOURNALS=str(tmp_path)) as process:
        eventually(lambda: any(tmp_path.iterdir()))
        assert stop(process, number) == 0
        out, err = process.communicate()
    assert "finishing what is in hand" in err
    assert f"Ended: {signal.Signals(number).name}" in out
    done = sum(map(len, effects().values()))
    assert 0 < done < len(checker.messages())
    assert not Offset.objects.exclude(claimed_by="").exists(), "nothing is held any more"
    run("--group", "batches", "--until-empty", CCC_TEST_JOURNALS=str(tmp_path))
    assert_done_once_and_in_order()
    checker.check(tmp_path, ["course_name", "user_id"], HANDLED, lease=60, group="batches")


def test_a_signal_between_two_messages_of_a_batch_gives_the_rest_back(tmp_path):
    store.append([Worked(course_name="c", user_id="u") for _ in range(100)])
    given = {"CCC_TEST_JOURNALS": str(tmp_path)}
    with worker("--group", "singles", CCC_TEST_HANDLER_SECONDS="0.1", **given) as process:
        eventually(Effect.objects.exists)
        started = time.monotonic()
        assert stop(process) == 0
        assert time.monotonic() - started < 8, "of ten seconds that the batch takes"
    assert 0 < Effect.objects.count() < 100
    assert not Offset.objects.exclude(claimed_by="").exists()
    run("--group", "singles", "--until-empty", **given)
    assert_done_once_and_in_order("singles")
    checker.check(tmp_path / "singles", ["user_id"], ["worked"], lease=60, group="singles")


def test_a_second_signal_stops_at_once_and_the_lease_brings_it_to_another(tmp_path):
    store.append([Worked(course_name="c", user_id="u") for _ in range(3)])
    given = {"CCC_TEST_LEASE": "2", "CCC_TEST_JOURNALS": str(tmp_path)}
    with worker("--group", "batches", CCC_TEST_HANDLER_SECONDS="20", **given) as process:
        eventually(lambda: Offset.objects.exclude(claimed_by="").exists())
        process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        assert process.poll() is None
        assert stop(process, within=2) == 128 + signal.SIGTERM
    assert not Effect.objects.exists()
    run("--group", "batches", "--until-empty", **given)
    assert_done_once_and_in_order()
    checker.check(tmp_path, ["course_name", "user_id"], HANDLED, lease=2, group="batches")


def test_the_grace_period_ends():
    store.append(Worked(course_name="c", user_id="u"))
    with worker("--group", "batches", "--grace", "0.5", CCC_TEST_HANDLER_SECONDS="20") as process:
        eventually(lambda: Offset.objects.exclude(claimed_by="").exists())
        assert stop(process, within=5) == 1
        assert "did not finish in time" in process.communicate()[1]


def commands(count: int) -> list[Do]:
    return [Do(course_name=f"c{number % 2}") for number in range(count)]


def test_killed_workers_lose_nothing_and_repeat_nothing(tmp_path, proof):
    given = {"CCC_TEST_JOURNALS": str(tmp_path), "CCC_TEST_LEASE": "1", "CCC_TEST_HANDLER_SECONDS": "0.004"}
    given |= {"CCC_TEST_ATTEMPTS": "50"}  # kills use attempts up
    store.append([*works(150), *commands(60)])
    for number in range(20 if proof else 5):
        with worker("--batch-size", "10", **given) as process:
            before = Effect.objects.count() + StoredMessage.objects.count()
            eventually(lambda before=before: Effect.objects.count() + StoredMessage.objects.count() > before)
            time.sleep(random.uniform(0.02, 0.6))
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        store.append([*works(20 + number), *commands(10)])
    run("--until-empty", **given)
    assert_everything_done_once()
    checker.check(tmp_path, ["course_name", "user_id"], HANDLED, lease=1, group="batches")
    checker.check(tmp_path / "singles", ["user_id"], ["worked"], lease=1, group="singles")


def test_a_worker_that_is_held_up_past_its_lease_changes_nothing_any_more(tmp_path):
    store.append([Worked(course_name="c", user_id="u") for _ in range(5)])
    given = {"CCC_TEST_LEASE": "1", "CCC_TEST_JOURNALS": str(tmp_path)}
    with worker("--group", "batches", "--until-empty", CCC_TEST_HANDLER_SECONDS="0.3", **given) as held_up:
        eventually(lambda: any(tmp_path.iterdir()))
        if connection.vendor == "sqlite":  # its transaction is the only one that can write: nobody can take over
            time.sleep(0.3)
        os.kill(held_up.pid, signal.SIGSTOP)
        try:
            if connection.vendor == "postgresql":
                run("--group", "batches", "--until-empty", **given)
                assert Effect.objects.count() == 5
            else:
                time.sleep(1.5)
        finally:
            os.kill(held_up.pid, signal.SIGCONT)
        _, err = held_up.communicate(timeout=20)
        assert held_up.returncode == 0
        if connection.vendor == "postgresql":
            assert "somebody else has it" in err
    assert_done_once_and_in_order()
    checker.check(tmp_path, ["course_name", "user_id"], HANDLED, lease=1, group="batches")


def test_a_long_handler_keeps_its_lease_and_is_reported(tmp_path):
    """Two workers, and a handler that takes three leases: the second one leaves it alone."""
    store.append(Worked(course_name="c", user_id="u"))
    given = {"CCC_TEST_LEASE": "1", "CCC_TEST_HANDLER_SECONDS": "3", "CCC_TEST_TIME_LIMIT": "0.5"}
    given |= {"CCC_TEST_JOURNALS": str(tmp_path)}
    with worker("--group", "batches", **given) as first, worker("--group", "batches", **given) as second:
        eventually(Effect.objects.exists)
        eventually(lambda: Worker.objects.count() == 2)  # both can be told by now
        assert stop(first) == stop(second) == 0
        errs = [process.communicate()[1] for process in (first, second)]
    reports = [err for err in errs if "a handler runs for more than" in err]
    assert len(reports) == 1, "one of them had it, all the time"
    assert "time.sleep(SECONDS)" in reports[0], "and this is where it was"
    assert_done_once_and_in_order()
    [_] = checker.check(tmp_path, ["course_name", "user_id"], HANDLED, lease=1, group="batches")


@pytest.mark.postgres
def test_connections_that_are_cut_lose_nothing(tmp_path):
    given = {"CCC_TEST_JOURNALS": str(tmp_path), "CCC_TEST_LEASE": "1", "CCC_TEST_HANDLER_SECONDS": "0.005"}
    given |= {"CCC_TEST_ATTEMPTS": "10"}  # nobody is to blame, but for claims whose end could not be said
    store.append([*works(150), *commands(60)])
    with worker("--batch-size", "10", "--until-empty", **given) as process:
        eventually(lambda: any(tmp_path.iterdir()))
        for _ in range(12):
            cut_others()
            time.sleep(0.25)
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    assert all(line[:4].isdigit() for line in err.splitlines()), "each is one line"
    assert_everything_done_once()
    checker.check(tmp_path, ["course_name", "user_id"], HANDLED, lease=1, group="batches")
    checker.check(tmp_path / "singles", ["user_id"], ["worked"], lease=1, group="singles")


def cut_others() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )


@pytest.mark.postgres
def test_a_server_that_is_restarted_loses_nothing(tmp_path):
    with cluster(durable=True) as server:
        url = server.start()
        with on_server(url):
            call_command("migrate", verbosity=0, run_syncdb=True)
            store.append([*works(150), *commands(60)])
            given = {
                "CCC_TEST_JOURNALS": str(tmp_path),
                "CCC_TEST_LEASE": "1",
                "CCC_TEST_HANDLER_SECONDS": "0.005",
                "CCC_TEST_ATTEMPTS": "50",  # what cannot be given back uses attempts up
                "CCC_TEST_DATABASE_URL": url,
            }
            with worker("--batch-size", "10", "--until-empty", **given) as process:
                eventually(lambda: any(tmp_path.iterdir()))
                for _ in range(3):
                    time.sleep(0.6)
                    server.crash()
                    time.sleep(0.3)
                    server.start()
                connection.close()
                _, err = process.communicate(timeout=60)
                assert process.returncode == 0, err
            assert "trying again in" in err
            assert_everything_done_once()
            checker.check(tmp_path, ["course_name", "user_id"], HANDLED, lease=1, group="batches")
            checker.check(tmp_path / "singles", ["user_id"], ["worked"], lease=1, group="singles")


def test_four_processes_never_run_two_handlers_of_one_partition_at_once(tmp_path):
    given = {"CCC_TEST_JOURNALS": str(tmp_path), "CCC_TEST_HANDLER_SECONDS": "0.002"}
    with worker("--json", "--group", "batches", "--processes", "4", "--batch-size", "5", **given) as process:
        eventually(lambda: Worker.objects.count() == 4)
        store.append(works(600, courses=4, users=4))
        eventually(lambda: everybody_has_had_some(tmp_path), within=60)
        eventually(lambda: groups.is_empty("batches"), within=60)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=20)
        assert process.returncode == 0, err
    assert json.loads(out)["groups"][0]["handled"] == sum(map(len, effects().values()))
    batches = checker.check(tmp_path, ["course_name", "user_id"], HANDLED, lease=60, group="batches")
    assert len({batch.worker for batch in batches}) == 4
    spans = sorted((batch.claimed_at, batch.ended_at, batch.worker) for batch in batches)
    turns = [(one, two) for one, two in pairwise(spans) if two[2] != one[2]]
    assert turns
    if connection.vendor == "postgresql":  # SQLite has one writer at a time
        assert [one for one, two in turns if two[0] < one[1]], "they were at work at the same time"
    assert_done_once_and_in_order()


def everybody_has_had_some(journals: Path) -> bool:
    """Whether each of four is at work; there is more to do until then, as nobody is promised a turn."""
    if len([*journals.iterdir()]) < 4:
        store.append(works(20, courses=4, users=4))
        return False
    return True


def test_a_poison_message_stops_only_its_own_partition_and_is_replayed_in_order(tmp_path):
    given = {"CCC_TEST_JOURNALS": str(tmp_path)}
    users = [f"u{n}" for n in range(1_000)]
    first = store.append([Worked(course_name="c", user_id=user) for user in users])[500].position
    [second] = store.append(Worked(course_name="c", user_id="u500"))
    run("--group", "singles", "--until-empty", CCC_TEST_POISON="u500", **given)
    assert Effect.objects.count() == 999
    letters = list(DeadLetter.objects.order_by("position"))
    assert [letter.position for letter in letters] == [first, second.position]
    assert 'raise ValueError("this one is poison")' in letters[0].traceback
    assert letters[0].attempts == 3
    assert dead_letters.replay(letters) == 2
    [later] = store.append(Worked(course_name="c", user_id="u500"))
    run("--group", "singles", "--until-empty", **given)
    assert effects("singles")['{"user_id":"u500"}'] == [first, second.position, later.position]
    assert groups.status("singles").dead_letters == 0
    checker.check(tmp_path / "singles", ["user_id"], ["worked"], lease=60, group="singles")


@pytest.mark.postgres
def test_what_is_done_is_acked_although_its_connection_was_cut(tmp_path):
    """The handler writes nothing, so that its ack waits for the next claim; meanwhile the connection is gone."""
    store.append(Worked(course_name="c", user_id="u"))
    given = {"CCC_TEST_JOURNALS": str(tmp_path), "CCC_TEST_HANDLER_SECONDS": "1.5"}
    with worker("--group", "quiet", **given) as process:
        eventually(lambda: Offset.objects.exclude(claimed_by="").exists())
        cut_others()
        eventually(lambda: any(tmp_path.iterdir()))
        eventually(lambda: not Offset.objects.filter(next_position__isnull=False).exists())
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0
    assert not Offset.objects.exclude(claimed_by="").exists()
    [journal] = tmp_path.iterdir()
    assert len(journal.read_text().splitlines()) == 1, "it was called once"


@pytest.mark.postgres
@pytest.mark.parametrize("processes", ["1", "2"])
def test_the_grace_period_ends_also_if_the_database_hangs(processes):
    with cluster() as server:
        url = server.start()
        with on_server(url):
            call_command("migrate", verbosity=0, run_syncdb=True)
            with worker("--processes", processes, "--grace", "1", CCC_TEST_DATABASE_URL=url) as process:
                eventually(lambda: Worker.objects.count() == int(processes))
                with hanging(server):
                    process.send_signal(signal.SIGTERM)
                    assert process.wait(20) == 1
                assert "did not finish in time" in process.communicate()[1]


@contextmanager
def hanging(server):
    """Let a server, and all who serve in it, do nothing for a while."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pid FROM pg_stat_activity")
        pids = [server.server.pid, *(pid for (pid,) in cursor.fetchall())]
    connection.close()
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
