"""A server of a test's own, that it can stop, start again, or make into something else."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from django.db import connection

from tests.postgres import keeper
from tests.postgres.binaries import find_server
from tests.settings import postgres

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path


class Cluster:
    """A database cluster, and the server that runs on it, if one does."""

    def __init__(self, *, durable: bool) -> None:
        self.durable = durable
        self.account = keeper.server_account()
        self.folder: Path = keeper.private_folder(self.account)
        self.programs = keeper.reachable(find_server(), self.folder, self.account)
        self.server: subprocess.Popen[bytes] | None = None
        keeper.create_cluster(self.programs, self.folder, self.account)

    def start(self) -> str:
        """Start the server; its URL."""
        self.server = keeper.start(self.programs, self.folder, self.account, durable=self.durable)
        keeper.wait_until_ready(self.server, self.folder)
        return f"postgresql://postgres@/postgres?host={self.folder}"

    def stop(self) -> None:
        """Stop it in order."""
        keeper.stop(self.server)

    def crash(self) -> None:
        """Stop it as if the power had failed: nobody is told."""
        self.server.send_signal(signal.SIGQUIT)
        self.server.wait(timeout=20)


@contextmanager
def cluster(*, durable: bool = False) -> Iterator[Cluster]:
    """A cluster that is gone afterwards."""
    made = Cluster(durable=durable)
    try:
        yield made
    finally:
        made.stop()
        keeper.shutil.rmtree(made.folder, ignore_errors=True)


@contextmanager
def on_server(url: str) -> Iterator[None]:
    """Let this process, and the workers that it starts, use another server."""
    before = dict(connection.settings_dict)
    connection.close()
    connection.settings_dict.update({name: value for name, value in postgres(url).items() if name != "OPTIONS"})
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict.update(before)
