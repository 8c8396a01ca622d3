"""A contestant in a process of its own, so that each has its own Django, settings and imports."""

import json
import os
import subprocess
import sys
from importlib import import_module
from typing import Any

from benchmarks.consuming import environment


class Client:
    """The contestant of a module of this package, which another process imports."""

    def __init__(
        self,
        module: str,
        *packages: str,
        settings: str = "",
        needs: str = "",
        together: bool = False,
        python: str = sys.executable,
        **more: str,
    ) -> None:
        self.module, self.PACKAGES, self.needs = f"benchmarks.{module}", packages, needs
        self.ENVIRONMENT = {"DJANGO_SETTINGS_MODULE": f"benchmarks.{settings}" if settings else ""} | more
        self.python = python
        self.TOGETHER = together
        self.process: subprocess.Popen[str] | None = None

    NAME = property(lambda self: self.ask("NAME"), doc="As its module says.")
    CONFIGURATION = property(lambda self: self.ask("CONFIGURATION"), doc="As its module says.")

    def missing(self) -> str:
        """Why it cannot be measured here, if it cannot."""
        for package in self.PACKAGES:
            if not self.version(package):
                return f"{package} is not installed{self.needs and ': ' + self.needs}"
        return ""

    def version(self, package: str) -> str:
        """Of a package in the Python that it runs in; nothing if it is not there."""
        command = [self.python, "-c", f"from importlib.metadata import version; print(version({package!r}))"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    def prepare(self) -> None:
        """See ``Contestant``."""
        self.ask("prepare", [])

    def enqueue(self, count: int) -> None:
        """See ``Contestant``."""
        self.ask("enqueue", [count])

    def enqueue_report(self, path: str) -> float:
        """See ``Contestant``."""
        return self.ask("enqueue_report", [path])

    def remaining(self) -> int:
        """See ``Contestant``."""
        return self.ask("remaining", [])

    def command(self) -> list[str]:
        """See ``Contestant``."""
        return self.ask("command", [])

    def ask(self, name: str, arguments: list[Any] | None = None) -> Any:
        """The value of a name of the module, or what it returns for arguments."""
        if self.process is None:
            command = [self.python, "-m", f"{__package__}.client", self.module]
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, env=environment(self))
        print(json.dumps([name, arguments]), file=self.process.stdin, flush=True)
        if not (line := self.process.stdout.readline()):
            raise RuntimeError(f"{self.module} failed at {name}: see the lines above")
        return json.loads(line)

    def close(self) -> None:
        """End the other process."""
        if self.process:
            self.process.stdin.close()
            self.process.wait(timeout=10)
            self.process.stdout.close()
            self.process = None


def serve(name: str) -> None:
    """The other process: answer until nobody asks."""
    answers, sys.stdout = sys.stdout, sys.stderr  # whatever a peer prints is no answer
    if os.environ.get("DJANGO_SETTINGS_MODULE"):
        import django

        django.setup()
    module = import_module(name)
    for line in sys.stdin:
        asked, arguments = json.loads(line)
        value = getattr(module, asked)
        print(json.dumps(value if arguments is None else value(*arguments)), file=answers, flush=True)


if __name__ == "__main__":
    serve(sys.argv[1])
