"""Commands as people and scripts run them: in a real terminal, and in a pipe; what they print becomes documentation."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from typing import NamedTuple

from django.db import connections

from tests.worker.running import ROOT, environment

EXAMPLES = ROOT / "docs" / "examples"
REFRESH = "CCC_REFRESH_EXAMPLES" in os.environ
ESCAPES = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|[()][A-Z0-9])")
MORE = {"COLUMNS": "120", "LINES": "40", "TERM": "xterm-256color", "PYTHONWARNINGS": "ignore"}


class Ran(NamedTuple):
    """What a command did: its exit code, and what it wrote; a terminal has one output only."""

    code: int
    out: str
    err: str = ""


def command_line(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "django", *arguments]


def in_pipe(*arguments: str, given: str | None = None, timeout: float = 30, **more: str) -> Ran:
    """Run a command whose output is read by a program, and whose input is nothing, or a text."""
    return in_python("-m", "django", *arguments, given=given, timeout=timeout, **more)


def in_python(*arguments: str, given: str | None = None, timeout: float = 30, **more: str) -> Ran:
    """The same of any other module or text that Python runs in the environment of commands."""
    connections.close_all()
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment(**MORE, **more),
        input=given or "",
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def in_terminal(*arguments: str, keys: str = "", until: str = "", timeout: float = 30, **more: str) -> Ran:
    """Run a command in a terminal of its own, type something, and read what was shown, without colours.

    ``until`` is a text after which Ctrl-C is pressed, for commands that go on.
    """
    connections.close_all()
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.execve(sys.executable, command_line(*arguments), environment(**MORE, **more))
    os.write(terminal, keys.encode())
    shown, deadline, pressed = b"", time.monotonic() + timeout, False
    while True:
        assert time.monotonic() < deadline, f"it goes on, and has shown: {shown.decode(errors='replace')}"
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                chunk = os.read(terminal, 65_536)
            except OSError:  # Linux says so when the other side has closed it
                break
            if not chunk:
                break
            shown += chunk
        if until and not pressed and until in plain(shown):
            os.write(terminal, b"\x03")
            pressed = True
    os.close(terminal)
    return Ran(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), plain(shown))


def plain(shown: bytes) -> str:
    """What a person reads, without colours and movements."""
    return ESCAPES.sub("", shown.decode(errors="replace")).replace("\r\n", "\n")


def example(name: str, call: str, output: str) -> None:
    """Let an output be the one that the documentation shows; what differs from run to run must be replaced before.

    With CCC_REFRESH_EXAMPLES set, the file is written.
    """
    text = f"$ python manage.py {call}\n{output.rstrip()}\n"
    path = EXAMPLES / f"{name}.txt"
    if REFRESH:
        path.write_text(text)
    assert path.exists(), "write it: CCC_REFRESH_EXAMPLES=1 make test"
    assert path.read_text() == text, "the documentation shows something else: CCC_REFRESH_EXAMPLES=1 writes it anew"
