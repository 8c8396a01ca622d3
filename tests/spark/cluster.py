"""A Spark standalone cluster on this machine: a master and two workers, each a process of its own."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from ccc_django.spark.java import use_java

SPARK = Path(pyspark.__file__).parent
MASTER, WORKER = "org.apache.spark.deploy.master.Master", "org.apache.spark.deploy.worker.Worker"


@contextmanager
def cluster(folder: Path) -> Iterator[str]:
    """The master's URL; everything is gone afterwards."""
    use_java()
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    with ExitStack() as running:
        running.enter_context(process(folder, "master", MASTER, "--host", "127.0.0.1", "--port", str(port)))
        wait_for(port)
        for number in (1, 2):
            options = [
                "--cores",
                "1",
                "--memory",
                "900m",
                "--host",
                "127.0.0.1",
                "--work-dir",
                str(folder / f"w{number}"),
            ]
            running.enter_context(process(folder, f"worker-{number}", WORKER, *options, url))
        yield url


@contextmanager
def process(folder: Path, name: str, main: str, *arguments: str) -> Iterator[None]:
    """One of Spark's own processes, with its web page on any port that is free."""
    environment = {**os.environ, "SPARK_HOME": str(SPARK), "SPARK_DAEMON_MEMORY": "256m"}
    command = [str(SPARK / "bin" / "spark-class"), main, "--webui-port", "0", *arguments]
    with (folder / f"{name}.log").open("w") as log:
        started = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True, cwd=folder)
    try:
        yield
    finally:
        os.killpg(started.pid, signal.SIGTERM)
        started.wait(30)


def wait_for(port: int) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            assert time.monotonic() < deadline, "the master does not answer"
            time.sleep(0.2)
        else:
            return


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
