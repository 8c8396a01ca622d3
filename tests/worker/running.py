"""Real worker processes on the test's own database."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from django.db import connection, connections

ROOT = Path(__file__).parents[2]


def command(*arguments: str, reload: bool = False) -> list[str]:
    """The command line of a worker."""
    return [sys.executable, "-m", "django", "consume", *([] if reload else ["--no-reload"]), *arguments]


def environment(**more: str) -> dict[str, str]:
    """What a worker needs to know: our database, and what its handlers are to do."""
    name = str(connection.settings_dict["NAME"])
    return {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.worker_settings",
        "CCC_WORKER_DATABASE": name,
        "PYTHONPATH": os.pathsep.join([str(ROOT), more.pop("EXTRA_PATH", "")]),
        **more,
    }


@contextmanager
def worker(
    *arguments: str, reload: bool = False, log: Path | None = None, **more: str
) -> Iterator["subprocess.Popen[str]"]:
    """A worker process that is gone afterwards; its output is kept for who asks, or its log lines are in a file."""
    connections.close_all()
    with nullcontext(subprocess.PIPE) if log is None else log.open("w") as lines:
        process = subprocess.Popen(
            command(*arguments, reload=reload),
            env=environment(**more),
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=lines,
            text=True,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def run(*arguments: str, timeout: float = 60, **more: str) -> dict[str, Any]:
    """Run a worker to its end; its summary."""
    with worker("--json", *arguments, **more) as process:
        out, err = process.communicate(timeout=timeout)
        assert process.returncode == 0, err
    return json.loads(out)


def eventually(condition: Callable[[], Any], *, within: float = 20) -> Any:
    """What a condition says once it is true."""
    deadline = time.monotonic() + within
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
    return found
