"""A real PgBouncer in transaction mode in front of the test server."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.postgres.binaries import one_at_a_time
from tests.postgres.keeper import identity, private_folder, server_account
from tests.settings import postgres

PORT = 6432
CONFIGURATION = """
[databases]
* = {server}
[pgbouncer]
listen_addr =
listen_port = {port}
unix_socket_dir = {folder}
auth_type = any
pool_mode = transaction
default_pool_size = 4
ignore_startup_parameters = extra_float_digits,options
pidfile = {folder}/pid
logfile = {folder}/log
"""


@contextmanager
def running(url: str) -> Iterator[dict[str, object]]:
    """The settings of a database behind a pooler, which has four connections for everybody."""
    program, account = find(), server_account()
    folder = private_folder(account)
    server = postgres(url)
    parts = {"host": server["HOST"], "port": server["PORT"], "user": server["USER"], "password": server["PASSWORD"]}
    words = " ".join(f"{name}='{value}'" for name, value in parts.items() if value)
    (folder / "ini").write_text(CONFIGURATION.format(server=words, port=PORT, folder=folder))
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([program, folder / "ini"], cwd=folder, **quiet, **identity(account))
    try:
        wait_for(folder / f".s.PGSQL.{PORT}", process, folder / "log")
        yield {**server, "HOST": str(folder), "PORT": str(PORT)}
    finally:
        process.terminate()
        process.wait(20)
        shutil.rmtree(folder, ignore_errors=True)


def find() -> str:
    """The program: of this machine, or from the Debian registry where we may."""
    with one_at_a_time():
        if program := installed():
            return program
        if os.geteuid() == 0 and shutil.which("apt-get"):
            subprocess.run(["apt-get", "install", "-qy", "pgbouncer"], check=False, stdout=subprocess.DEVNULL)
        if program := installed():
            return program
    pytest.skip("there is no PgBouncer on this machine: install it (Debian: apt-get install pgbouncer)")


def installed() -> str | None:
    return shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")


def wait_for(socket: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 20
    while not socket.exists():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.02)
