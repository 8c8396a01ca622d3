"""A PostgreSQL server of our own for tests, benchmarks and demos: it starts by itself and stops by itself.

``running()`` gives the URL of a server that lives as long as the ``with`` block, or as long as this process
if that is killed. It listens on a Unix socket in a private temporary folder, so no port can be busy, and
runs as another user when we are root. CCC_TEST_DATABASE_URL names an existing server instead.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.postgres.binaries import find_server

KEEPER = Path(__file__).with_name("keeper.py")


@contextmanager
def running(*, durable: bool = False) -> Iterator[str]:
    """The URL of a server to use; a durable one syncs to disk, as benchmarks need it."""
    if url := os.environ.get("CCC_TEST_DATABASE_URL"):
        yield url
        return
    keeper = start_keeper(find_server(), durable=durable)
    try:
        yield ready_url(keeper)
    finally:
        keeper.stdin.close()  # this is what tells the keeper to stop
        keeper.wait(timeout=60)
        keeper.stdout.close()


def start_keeper(server: Path, *, durable: bool = False, python: str = sys.executable) -> subprocess.Popen[str]:
    """The process that owns the server; a session of its own, so that our Ctrl-C does not reach it first."""
    command = [python, "-I", str(KEEPER), str(server), "durable" if durable else "fast"]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)


def ready_url(keeper: subprocess.Popen[str]) -> str:
    """Wait until the server answers."""
    url = keeper.stdout.readline().strip()
    if not url:
        raise RuntimeError("PostgreSQL did not start: see the lines above")
    return url
