"""manage.py ccc_spark: a door with a bar, a summary, JSON, a dry run, and one line for what goes wrong."""

import json
import os
import random
import resource
import signal
import subprocess
import time
from datetime import UTC, datetime
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from ccc_django import store
from ccc_django.consumers import registry
from ccc_django.models import StoredMessage
from ccc_django.spark.archives import Archive
from ccc_django.testing import drain
from tests.commands.driving import MORE, ROOT, command_line, example, in_pipe, in_terminal
from tests.spark.portable import Announced, Attendance, Joined
from tests.worker.running import environment

SMALL = ("--conf", "spark.driver.memory=1g")


def run(*arguments: str) -> str:
    """In this process, whose Spark runs already."""
    out = StringIO()
    call_command("ccc_spark", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_export_and_verify_tell_what_they_did(spark, tmp_path):
    store.append([Joined(), Joined()])
    archive = str(tmp_path)
    assert run("export", "--to", archive).startswith(f"2 messages up to 2 are in {archive} (1 files,")
    assert run("export", "--to", archive) == f"Nothing is new: {archive} has everything up to 2.\n"
    assert run("verify", "--from", archive) == f"{archive} is whole: 2 messages up to 2 in 1 files.\n"
    found = json.loads(run("verify", "--from", archive, "--json"))
    assert (found["rows"], found["problems"]) == (2, [])


def test_a_report_is_shown_and_written_as_a_page(spark, tmp_path, no_consumers):
    """What it shows is the example of the documentation."""
    registry.register(Attendance)
    store.append([Joined(course_name=f"course {n % 3 // 2}", user_id=n % 2, topic="news") for n in range(12)])
    StoredMessage.objects.update(appended_at=datetime(2026, 1, 31, 12, tzinfo=UTC))
    drain(Attendance)
    page = tmp_path / "report.html"
    shown = run("report", "--html", str(page))
    assert "<svg" in page.read_text(encoding="utf-8")
    figures = json.loads(run("report", "--json"))
    assert figures["throughput"]["messages"] == 12
    size = figures["throughput"]["bytes"]  # each database writes JSON in its own way
    example("ccc_spark", "ccc_spark report --html report.html", shown.replace(f"{size} B", "640 B"))


def test_a_part_of_the_log_is_exported(spark, tmp_path):
    store.append([Joined() for _ in range(5)])
    done = json.loads(run("export", "--to", str(tmp_path), "--after", "1", "--upto", "3", "--json"))
    assert (done["after"], done["upto"], done["rows"]) == (1, 3, 2)
    with pytest.raises(CommandError, match="ends at 3: exports go on there"):
        run("export", "--to", str(tmp_path), "--after", "1")


def test_an_empty_log_is_said_to_be(spark, tmp_path):
    assert run("export", "--to", str(tmp_path)) == "There is nothing to archive yet.\n"


def test_a_place_that_cannot_be_written_is_named(spark, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandError, match="file"):
        run("export", "--to", str(tmp_path / "file" / "archive"))


def test_an_archive_that_is_not_whole_is_an_error(spark, tmp_path):
    store.append([Joined(), Joined()])
    run("export", "--to", str(tmp_path))
    StoredMessage.objects.filter(position=1).delete()
    with pytest.raises(CommandError, match="not whole"):
        run("verify", "--from", str(tmp_path))


def test_a_dry_run_changes_nothing_and_starts_no_spark(spark, tmp_path):
    store.append([Joined(), Joined()])
    archive = tmp_path / "archive"
    told = in_pipe("ccc_spark", "export", "--to", str(archive), "--dry-run")
    assert told.out == "export would read about 2 messages from 1 to 2.\n"
    assert not archive.exists()
    assert "WARNING" not in told.err, "Java says that, when it starts"


def test_what_a_job_would_read_is_told(spark, tmp_path):
    store.append([Joined(), Joined()])
    archive = str(tmp_path / "archive")
    assert run("export", "--to", archive, "--dry-run") == "export would read about 2 messages from 1 to 2.\n"
    run("export", "--to", archive)
    assert run("export", "--to", archive, "--dry-run") == "export would read nothing: no message is new.\n"
    assert run("verify", "--from", archive, "--dry-run").startswith(
        "verify would read about 2 messages from 1 to 2, and 1"
    )
    assert json.loads(run("report", "--dry-run", "--json"))["messages"] == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["export"], "required: --to"),
        (["export", "--to", "x", "--after", "-1"], "a position, 0 or more"),
        (["export", "--to", "x", "--conf", "nonsense"], "a setting such as"),
        (["export", "--to", "x", "--follow", "--upto", "5"], "--follow has no end"),
        (["export", "--to", "x", "--every", "1 second"], "are for --follow"),
        (["report", "--html", "/no/such/folder/x.html"], "There is no folder"),
        (["bake"], "invalid choice"),
    ],
)
def test_what_cannot_be_understood_is_said(arguments, said):
    with pytest.raises(CommandError, match=said):
        run(*arguments)


def test_a_job_shows_a_bar_and_leaves_no_java_behind(spark, tmp_path):
    store.append([Joined(course_name="a", user_id=n) for n in range(10)])
    told = in_terminal("ccc_spark", "export", "--to", str(tmp_path / "archive"), *SMALL, timeout=90)
    assert told.code == 0, told.out
    assert "tasks" in told.out
    assert "10 messages up to 10 are in" in told.out
    assert "Traceback" not in told.out


def test_ctrl_c_ends_a_job_and_java_and_leaves_nothing_half_done(spark, tmp_path):
    store.append([Joined() for _ in range(3)])
    job = subprocess.Popen(
        command_line("ccc_spark", "export", "--to", str(tmp_path), "--follow", "--every", "1 second", *SMALL),
        env=environment(**MORE),
        cwd=ROOT,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 90
    while not Archive(tmp_path).segments() and time.monotonic() < deadline:
        time.sleep(0.1)
    os.killpg(job.pid, signal.SIGINT)
    out, err = job.communicate(timeout=60)
    assert job.returncode == 0, err
    assert "3 messages up to 3 are in" in out
    wait_until_gone(job.pid)
    assert not (tmp_path / "_staging").exists()


def wait_until_gone(group: int) -> None:
    """Java, which was in the same group, ends, and the system takes note of it."""
    deadline = time.monotonic() + 30
    with pytest.raises(ProcessLookupError):
        while time.monotonic() < deadline:
            os.killpg(group, 0)
            time.sleep(0.1)


def test_a_full_disk_is_told_in_a_line_and_the_archive_stays_as_it_was(spark, tmp_path):
    store.append(Joined())
    run("export", "--to", str(tmp_path))
    store.append([Announced(text=random.randbytes(200_000).hex()) for _ in range(3)])
    limit = 300_000  # bytes a file may have: the system refuses to write more, as a full disk does
    unmeasured = {key: value for key, value in environment(**MORE).items() if not key.startswith("COV")}
    job = subprocess.run(
        command_line("ccc_spark", "export", "--to", str(tmp_path), *SMALL),
        env=unmeasured,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert job.returncode == 1
    assert "there is no room: File too large" in job.stderr
    assert "Traceback" not in job.stderr
    assert len(Archive(tmp_path).segments()) == 1
    assert json.loads(run("export", "--to", str(tmp_path), "--json"))["rows"] == 3


def test_a_database_that_cannot_be_reached_is_told_in_a_line(tmp_path, db):
    name = "nothing" if connection.vendor == "postgresql" else str(tmp_path / "nothing" / "log.sqlite3")
    settings = {"CCC_WORKER_DATABASE": name}
    told = subprocess.run(
        command_line("ccc_spark", "export", "--to", str(tmp_path / "archive"), *SMALL),
        env={**environment(**MORE), **settings},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=90,
    )
    assert told.returncode == 1
    assert "Traceback" not in told.stderr
    assert "CommandError: The database" in told.stderr
    assert "WARNING" not in told.stderr, "Java says that, when it starts"
