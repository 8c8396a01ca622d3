"""manage.py consume, as a process and as a command."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection, connections
from django.utils import timezone

from ccc_django import Decider, Projector, Retry, consumer, db, evolves, groups, maintenance, reacts, store
from ccc_django.consumers import projections, registry
from ccc_django.groups import counting
from ccc_django.models import DeadLetter, Offset, Sample, ScheduledMessage, StoredMessage, Worker
from ccc_django.worker import Limits
from ccc_django.worker import Worker as Process
from ccc_django.worker.loop import unique_name
from ccc_django.worker.stopping import Stopping
from tests.worker.running import environment, eventually, run, worker
from tests.worker_app.consumers import Announced, Worked
from tests.worker_app.models import Effect

pytestmark = pytest.mark.django_db(transaction=True)


def works(count: int, *, users: int = 4) -> list[Worked]:
    return [Worked(course_name=f"c{n % 2}", user_id=f"u{n % users}") for n in range(count)]


def test_until_empty_does_everything_and_says_what():
    store.append(works(30))
    summary = run("--until-empty")
    assert summary["reason"] == "everything is done"
    assert {row["group"]: row["handled"] for row in summary["groups"]} == {
        "batches": 30, "singles": 30, "quiet": 30, "tally": 30, "deciding": 0
    }  # fmt: skip
    assert Effect.objects.count() == 60
    assert groups.status("batches").lag == 0
    assert not Worker.objects.exists(), "it has said goodbye"


def test_until_empty_waits_for_what_pauses_and_not_for_what_was_stopped():
    store.append(works(4))
    groups.register("quiet", partition_by=["user_id"], handled_types=[Worked])
    claim = groups.claim_next("quiet", worker="other", lease=timedelta(seconds=1))
    stopped = groups.claim_next("quiet", worker="other")
    Offset.objects.filter(pk=stopped.offset_id).update(blocked_until=timezone.now() + timedelta(days=36_000))
    assert run("--until-empty", "--group", "quiet")["handled"] == 3
    assert not Offset.objects.filter(pk=claim.offset_id).exclude(next_position=None).exists()
    groups.stop("quiet", reason="for a test")
    store.append(works(4))
    assert run("--until-empty", "--group", "quiet")["handled"] == 0


def test_limits_end_a_worker():
    store.append(works(30, users=1))
    summary = run("--max-messages", "7", "--group", "singles")
    assert (summary["handled"], summary["reason"]) == (7, "7 messages are done")
    assert Effect.objects.count() == 7
    summary = run("--max-messages", "9", "--processes", "2", "--group", "singles", "--max-seconds", "50")
    assert Effect.objects.count() == 7 + summary["handled"]
    assert summary["handled"] == 9
    assert run("--max-seconds", "0.5", "--group", "quiet")["reason"] == "0.5 seconds are over"


def test_what_cannot_be_consumed_is_said(monkeypatch):
    with pytest.raises(CommandError, match="Declared are: batches, deciding, quiet, singles, tally"):
        call_command("consume", "--group", "nobody")
    groups.register("quiet", partition_by=["course_name"], handled_types=[Worked])
    groups.seek("quiet", to=1, partition={"course_name": "Algebra"})
    with pytest.raises(CommandError, match="quiet is partitioned by course_name and has progress by it"):
        call_command("consume", "--group", "quiet")
    with monkeypatch.context() as patch, pytest.raises(CommandError, match=r"manage\.py migrate\): gone"):
        patch.setattr("ccc_django.management.consuming.declare", gone)
        call_command("consume", "--group", "quiet")
    with pytest.raises(CommandError, match="argument --processes: invalid positive value: '0'"):
        call_command("consume", "--processes", "0")
    monkeypatch.setattr(registry, "_consumers", {})
    with pytest.raises(CommandError, match="declare consumers in an app"):
        call_command("consume")


def gone(_consumer) -> None:
    raise OperationalError("gone")


def test_names_are_unique_also_in_containers_that_look_the_same():
    names = {unique_name("w") for _ in range(100)}
    assert len(names) == 100
    assert all(name.startswith(f"w-{os.getpid()}-") for name in names)


def test_a_worker_is_called_or_looks_by_itself(tmp_path):
    journals = {"CCC_TEST_JOURNALS": str(tmp_path)}
    for more in ({}, {"CCC_TEST_LISTEN": "no"}):
        with worker("--group", "quiet", **journals, **more):
            eventually(Worker.objects.exists)
            time.sleep(0.5)
            before = StoredMessage.objects.count()
            store.append(works(1))
            eventually(lambda before=before: Offset.objects.filter(last_position__gt=before), within=5)
        groups.delete("quiet")
        Worker.objects.all().delete()


@pytest.mark.postgres
def test_what_a_worker_does_beside_its_handlers_needs_no_place_in_a_pool():
    """The pool has one connection, which a handler holds for longer than its lease."""
    store.append(Worked(course_name="c", user_id="u"))
    given = {"CCC_TEST_LEASE": "1", "CCC_TEST_HANDLER_SECONDS": "3", "CCC_TEST_POOL": "1"}
    with worker("--group", "batches", **given) as process:
        [offset] = eventually(lambda: Offset.objects.exclude(claimed_by=""))
        first = offset.blocked_until
        eventually(lambda: Offset.objects.get().blocked_until > first + timedelta(seconds=0.5), within=3)
        assert eventually(Worker.objects.first).name == offset.claimed_by
        eventually(Effect.objects.exists)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=10)
    assert process.returncode == 0, err
    assert "not renewed" not in err
    assert "Cannot listen" not in err
    assert "could not beat" not in err


def test_processes_that_die_are_replaced_and_all_stop_together():
    with worker("--processes", "2", "--group", "quiet") as supervisor:
        first = eventually(lambda: len(pids := living()) == 2 and pids)
        os.kill(first[0], signal.SIGKILL)
        second = eventually(lambda: len(pids := living()) == 3 and pids)
        assert {*second} > {*first}, "the dead one is not forgotten yet, and there is another"
        supervisor.send_signal(signal.SIGTERM)
        assert supervisor.wait(15) == 0
        assert "has died (-9): starting another" in supervisor.communicate()[1]
    eventually(lambda: not any(map(is_alive, second)))


def living() -> list[int]:
    return sorted(Worker.objects.values_list("pid", flat=True))


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_processes_end_when_their_supervisor_is_killed():
    with worker("--processes", "2", "--group", "quiet") as supervisor:
        pids = eventually(lambda: len(pids := living()) == 2 and pids)
        os.kill(supervisor.pid, signal.SIGKILL)
        supervisor.wait()
        eventually(lambda: not any(map(is_alive, pids)))
        eventually(lambda: not Worker.objects.exists())


def test_one_worker_sweeps_and_another_takes_over():
    with worker("--group", "quiet") as first, worker("--group", "quiet") as second:
        eventually(lambda: Worker.objects.count() == 2)
        sweeping = eventually(lambda: Worker.objects.filter(sweeps_until__isnull=False).first())
        assert Worker.objects.filter(sweeps_until__gt=timezone.now()).count() == 1
        os.kill(sweeping.pid, signal.SIGKILL)
        store.schedule(works(1), at=timezone.now() + timedelta(seconds=0.2))
        eventually(lambda: not ScheduledMessage.objects.exists())
        [other] = {first.pid, second.pid} - {sweeping.pid}
        eventually(lambda: Worker.objects.get(pid=other).sweeps_until is not None)
        eventually(lambda: Sample.objects.filter(group_name="quiet").exists())


def test_a_scheduled_message_is_on_time(tmp_path):
    with worker("--group", "quiet", CCC_TEST_JOURNALS=str(tmp_path)):
        eventually(lambda: Worker.objects.filter(sweeps_until__isnull=False).exists())
        due = timezone.now() + timedelta(seconds=1)
        store.schedule(works(1), at=due)
        eventually(lambda: any(tmp_path.iterdir()))
        assert timezone.now() >= due
        assert timezone.now() - due < timedelta(seconds=10)


def test_a_sweep_by_hand(monkeypatch):
    groups.register("quiet", partition_by=["user_id"], handled_types=[Worked])
    store.schedule(works(3), at=timezone.now() - timedelta(minutes=1))
    store.schedule(works(1), at=timezone.now() + timedelta(hours=1))
    Sample.objects.create(
        group_name="old", taken_at=timezone.now() - timedelta(days=8), lag=0, pending=0, claims=0, failures=0, rate=0
    )
    Worker.objects.create(name="gone", host="h", pid=1, beaten_at=timezone.now() - timedelta(hours=1))
    rate = {"quiet": {"handled": 9, "failed": 0, "lost": 0, "rate": 4.5}}
    Worker.objects.create(name="there", host="h", pid=2, progress=rate, beaten_at=timezone.now())
    call_command("ccc_sweep")
    assert StoredMessage.objects.count() == 3
    assert ScheduledMessage.objects.count() == 1
    [sample] = Sample.objects.all()
    assert (sample.group_name, sample.lag, sample.rate) == ("quiet", groups.status("quiet").lag, 4.5)
    assert [each.name for each in Worker.objects.all()] == ["there"]
    maintenance.sweep()
    assert Sample.objects.count() == 1, "not again so soon"


@pytest.mark.parametrize("listen", [True, False])
def test_an_idle_worker_asks_little(monkeypatch, settings, listen):
    """Less than one query a second for each group on PostgreSQL, less than ten on SQLite; beats and sweeps included."""
    settings.CCC_LISTEN = listen
    counting.forget()  # what other tests have counted, and this worker would write down
    queries, seconds, settled = [], 12, 3
    run_statement = db._run

    def counted(database, calls, needed):
        queries.extend((time.monotonic(), name) for name, _ in calls)
        return run_statement(database, calls, needed)

    monkeypatch.setattr(db, "_run", counted)
    store.append(works(4))
    process = Process(registry.consumers(["quiet"]), stopping=Stopping(1), limits=Limits(max_seconds=seconds))
    process.run()
    idle = Counter(name for at, name in queries if at > process.started_at + settled)
    assert idle["look_at_group"] > 0
    assert idle.total() / (seconds - settled) < (1 if connection.vendor == "postgresql" else 10), idle


def test_a_terminal_shows_what_is_going_on(tmp_path):
    """In a real terminal, of which a program reads what was written."""
    pty = pytest.importorskip("pty", reason="there are no terminals to try on this system")
    store.append(works(50))
    pid, terminal = pty.fork()
    if pid == 0:
        from tests.worker.running import command  # noqa: PLC0415

        os.execve(sys.executable, command("--until-empty"), environment(COLUMNS="120", TERM="xterm"))
    output = b""
    while True:
        try:
            chunk = os.read(terminal, 4096)
        except OSError:
            break
        if not chunk:
            break
        output += chunk
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    text = output.decode()
    assert "in flight" in text
    assert "━" in text, "a bar"
    assert "200 messages in" in text
    assert "everything is done" in text


RELOADED = """
from ccc_django import consumer
from tests.worker_app.models import Effect

@consumer(group="reloaded", partition_by=["user_id"], handles=["worked"])
def handle(message):
    Effect.objects.create(group_name="{version}", partition="", position=message.position, worker="")
"""


def test_a_worker_starts_over_when_code_changes_unless_it_is_broken(tmp_path):
    app = tmp_path / "reloaded_app"
    app.mkdir()
    (app / "__init__.py").touch()
    code = app / "consumers.py"

    def write(text: str) -> None:
        code.write_text(text)
        os.utime(code, times=(time.time() + write.number, time.time() + write.number))
        write.number += 10

    write.number = 10
    write(RELOADED.format(version="one"))
    given = {"CCC_TEST_APP": "reloaded_app", "CCC_TEST_DEBUG": "yes", "PYTHONDONTWRITEBYTECODE": "1"}
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    steps = [
        ("one", "", ""),
        ("one", "this is no Python", "cannot be run; the worker goes on as it was"),
        ("two", RELOADED.format(version="two"), "consumers.py has changed: starting over"),
    ]
    log = tmp_path / "log"
    with worker("--group", "reloaded", reload=True, log=log, EXTRA_PATH=path, **given) as process:
        for version, text, said in steps:
            if text:
                write(text)
            eventually(lambda said=said: said in log.read_text())
            before = Effect.objects.filter(group_name=version).count()
            store.append(works(1))
            eventually(lambda v=version, b=before: Effect.objects.filter(group_name=v).count() == b + 1)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    assert set(Effect.objects.values_list("group_name", flat=True)) == {"one", "two"}


def test_projections_by_command(no_consumers):
    out = StringIO()
    call_command("ccc_projections", stdout=out)
    assert out.getvalue() == "There are none.\n"
    with pytest.raises(CommandError, match="has no version 2"):
        call_command("ccc_projections", "switch", "roster", "--to", "2")
    with pytest.raises(CommandError, match="is live"):
        call_command("ccc_projections", "drop", "roster", "--version-number", "1", "--yes")
    with pytest.raises(CommandError, match="There is no projector"):
        call_command("ccc_projections", "rebuild", "roster", "--yes")


def test_a_stopped_group_is_left_alone(monkeypatch):
    """Also if one of its partitions pauses, and its pause is over."""
    store.append(works(1))
    groups.register("quiet", partition_by=["user_id"], handled_types=[Worked], retry=Retry(first_pause=timedelta(0)))
    groups.release(groups.claim_next("quiet", worker="w"), error=ValueError("no"))
    groups.stop("quiet")
    looks = []
    run_statement = db._run
    monkeypatch.setattr(db, "_run", lambda *args: looks.append(args[1][0][0]) or run_statement(*args))
    Process(registry.consumers(["quiet"]), stopping=Stopping(1), limits=Limits(max_seconds=2)).run()
    assert 2 <= looks.count("look_at_group") < 15


def test_handlers_may_print_and_exit_codes_tell_the_truth():
    store.append(works(40))
    with worker("--processes", "2", "--group", "quiet", "--until-empty", CCC_TEST_PRINT="5") as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    assert out.partition("group")[0].count("5") == 40, "two processes print into one another"
    assert "40 messages in" in out
    with worker("--processes", "2", "--group", "quiet") as process:
        time.sleep(0.7)  # while its processes still import
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) in {0, -signal.SIGTERM}


def test_limits_are_looked_at_between_two_messages_of_a_batch():
    store.append(works(100, users=1))
    summary = run("--group", "singles", "--max-seconds", "1", CCC_TEST_HANDLER_SECONDS="0.1")
    assert summary["handled"] < 30


def test_sweeps_again_and_again_until_a_signal():
    connections.close_all()
    command = [sys.executable, "-m", "django", "ccc_sweep", "--every", "0.2"]
    with subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True) as sweeping:
        for _ in range(2):
            store.schedule(works(1), at=timezone.now())
            eventually(lambda: not ScheduledMessage.objects.exists())
        sweeping.send_signal(signal.SIGINT)
        assert sweeping.wait(10) == 0
        assert sweeping.communicate()[1] == ""


def test_without_a_terminal_there_are_log_lines(monkeypatch, caplog):
    store.append(works(40))
    monkeypatch.setattr("ccc_django.management.display.LINES", 0.1)
    caplog.set_level("INFO", logger="ccc_django")
    call_command("consume", "--group", "quiet", "--max-seconds", "1", stdout=StringIO())
    lines = [record.getMessage() for record in caplog.records]
    assert any(line.endswith("consumes quiet.") for line in lines)
    assert any(line.startswith("quiet: 40 handled, ") and "lag 0" in line for line in lines)


class Panic(BaseException):
    """As extensions raise them that are not written in Python."""


class Speechless(Exception):
    def __str__(self):
        raise RuntimeError("not even that")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (SystemExit(3), "SystemExit: 3"),
        (asyncio.CancelledError(), "CancelledError: "),
        (Panic("of an extension"), "Panic: of an extension"),
        (Speechless(), "Speechless: (it cannot say what it is)"),
        (
            OperationalError("no such table: of another database"),
            "OperationalError: no such table: of another database",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_whatever_a_handler_raises_is_a_failure_of_its_message(no_consumers, error, said):
    """A command that a handler calls may exit, too. No worker ends, and the others are done."""

    @consumer(group="exits", partition_by=["user_id"], handles=[Worked], retry=Retry(max_attempts=1))
    def exits(message):
        if message.user_id == "u0":
            raise error

    store.append(works(4))
    out = StringIO()
    call_command("consume", "--group", "exits", "--until-empty", "--json", stdout=out)
    assert json.loads(out.getvalue())["groups"][0] | {"rate": 0} == {
        "group": "exits", "status": "active", "lag": 0, "in_flight": 0, "failures": 1, "handled": 3, "failed": 1,
        "lost": 0, "rate": 0,
    }  # fmt: skip
    assert DeadLetter.objects.get().error == said


@pytest.mark.parametrize("kind", [Projector, Decider])
def test_whatever_an_evolving_consumer_raises_is_a_failure_of_that_message(no_consumers, kind):
    def on_worked(self, *_):
        raise Panic("here")

    def on_announced(self, *_):
        return None

    react = {"on_worked": reacts(Worked)(on_worked), "on_announced": reacts(Announced)(on_announced)}
    type("Panics", (kind,), react, group="panics", partition_by=["course_name"], retry=Retry(max_attempts=1))
    store.append([Announced(course_name="c"), Worked(course_name="c", user_id="u"), Announced(course_name="c")])
    out = StringIO()
    call_command("consume", "--group", "panics", "--until-empty", "--json", stdout=out)
    assert json.loads(out.getvalue())["handled"] == 2
    assert DeadLetter.objects.get().message_type == "worked"


@pytest.mark.postgres
def test_a_handler_that_ends_its_connection_again_and_again_is_to_blame_in_the_end(no_consumers):
    calls = []
    often = Retry(max_attempts=2, first_pause=timedelta(0), longest_pause=timedelta(0))

    @consumer(group="closes", partition_by=["user_id"], handles=[Worked], retry=often)
    def closes(message):
        calls.append(message.position)
        Effect.objects.create(group_name="closes", partition="", position=message.position, worker="")
        connection.connection.close()
        Effect.objects.exists()

    store.append(works(1))
    call_command("consume", "--group", "closes", "--until-empty", stdout=StringIO())
    assert len(calls) == 5 + 2, "a few times nobody was to blame"
    assert DeadLetter.objects.get().attempts == 2


def test_a_projection_is_switched_rebuilt_and_dropped_by_command(no_consumers):
    """From the first version to the second, as an operator does."""

    def version(number: int):
        def worked(self, state, event):
            return (state or 0) + number

        body = {"worked": evolves(Worked)(worked)}
        return type(f"Sum{number}", (Projector,), body, group="sum", partition_by=["user_id"], version=number)

    version(1), version(2)
    store.append(works(4, users=1))
    call_command("consume", "--until-empty", stdout=StringIO())
    assert projections.state("sum", user_id="u0") == 4
    call_command("ccc_projections", "switch", "sum", stdout=StringIO())
    assert projections.state("sum", user_id="u0") == 8
    call_command("ccc_projections", "drop", "sum", "--version-number", "1", "--yes", stdout=StringIO())
    call_command("ccc_projections", "rebuild", "sum", "--yes", stdout=StringIO())
    assert projections.state("sum", user_id="u0") is None
    call_command("consume", "--group", "sum@2", "--until-empty", stdout=StringIO())
    assert projections.state("sum", user_id="u0") == 8
