"""django-tasks: the tasks of Django 6, with the database backend of django-tasks-db."""

import sys
import time

from django.core.management import call_command
from django.db import connection

from benchmarks.consume_peers import POLL
from benchmarks.consume_peers import report as report_to

try:
    from django.tasks import task
except ModuleNotFoundError:  # before Django 6
    from django_tasks import task

NAME = "django-tasks"
CONFIGURATION = f"The database backend (`django-tasks-db`), `db_worker` with `--interval {POLL}` (1 by default), connections kept open, no log lines; it cannot run without storing results; filled by SQL with copies of one enqueued row, because it has no bulk means."
TABLE = "django_tasks_database_dbtaskresult"


@task()
def nothing(number: int) -> None:
    """The job."""


@task()
def report(path: str) -> None:
    """The job that says when it ran."""
    report_to(path)


def prepare() -> None:
    """Its migrations."""
    call_command("migrate", verbosity=0)
    execute(f"TRUNCATE {TABLE}")


def enqueue(count: int) -> None:
    """One by its API, and copies of it that came later, a microsecond each."""
    nothing.enqueue(1)
    columns = "status, args_kwargs, priority, task_path, worker_ids, queue_name, backend_name, run_after, return_value, exception_class_path, traceback"
    execute(f"""
        INSERT INTO {TABLE} (id, enqueued_at, {columns})
        SELECT gen_random_uuid(), enqueued_at + n * interval '1 microsecond', {columns}
        FROM {TABLE}, generate_series(2, {count}) AS n
    """)


def enqueue_report(path: str) -> float:
    """As an application does."""
    started_at = time.time()
    report.enqueue(path)
    return started_at


def remaining() -> int:
    """Those that did not succeed yet."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {TABLE} WHERE status <> 'SUCCESSFUL'")
        return cursor.fetchone()[0]


def command() -> list[str]:
    """Its own worker."""
    options = ["--interval", str(POLL), "--no-startup-delay", "--verbosity", "0"]
    return [sys.executable, "-m", "django", "db_worker", *options]


def execute(statement: str) -> None:
    """One statement."""
    with connection.cursor() as cursor:
        cursor.execute(statement)
