"""The keeper: owns one server and ends it when its parent ends, however that happens.

    python -I keeper.py FOLDER_OF_PROGRAMS fast|durable

Prints the server's URL when it is ready, then waits for the end of its standard input. Standard library
only, and no import of ours, so that any Python can run it.
"""

import ctypes
import os
import pwd
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

LONGEST_SOCKET_FOLDER = 80  # the path of a Unix socket may have about 100 bytes
PR_SET_PDEATHSIG = 1
FAST = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


def main(programs: Path, *, durable: bool) -> None:
    """Start a server, say where it is, and end it with our parent."""
    parent = os.getppid()
    on_signals(lambda *_: sys.exit(1))
    account = server_account()
    folder = private_folder(account)
    server = None
    try:
        programs = reachable(programs, folder, account)
        create_cluster(programs, folder, account)
        server = start(programs, folder, account, durable=durable)
        wait_until_ready(server, folder)
        print(f"postgresql://postgres@/postgres?host={quote(str(folder))}", flush=True)
        wait_for_end_of(parent)
    except BrokenPipeError:
        pass  # our parent is gone already
    finally:
        on_signals(signal.SIG_IGN)
        stop(server)
        shutil.rmtree(folder, ignore_errors=True)


def on_signals(action: Any) -> None:
    """What to do when somebody wants us to end."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, action)


def server_account() -> pwd.struct_passwd | None:
    """Who runs the server: ourselves, or, because PostgreSQL refuses root, somebody harmless."""
    if os.geteuid() != 0:
        return None
    known = {account.pw_name: account for account in pwd.getpwall()}
    for name in ("postgres", "nobody"):
        if name in known:
            return known[name]
    sys.exit("PostgreSQL does not run as root, and there is neither a user 'postgres' nor 'nobody' to run it.")


def private_folder(account: pwd.struct_passwd | None) -> Path:
    """A folder for data and socket that the server's user can reach, with a path that a socket can have."""
    for place in (tempfile.gettempdir(), "/tmp", "/var/tmp"):
        if len(os.fsencode(place)) > LONGEST_SOCKET_FOLDER - 20 or not Path(place).is_dir():
            continue
        folder = Path(tempfile.mkdtemp(prefix="ccc-postgres-", dir=place))
        with suppress(OSError):  # root of a container that may not become somebody else: said below
            if account:
                os.chown(folder, account.pw_uid, account.pw_gid)
            if may(account, folder, os.W_OK | os.X_OK):
                return folder
        folder.rmdir()
    sys.exit("Found no temporary folder that PostgreSQL's user may enter. Set TMPDIR to one, with a short path.")


def may(account: pwd.struct_passwd | None, path: Path, mode: int) -> bool:
    """Whether an account may use a path, parents included: asked in a child that has become that account."""
    if account is None:
        return os.access(path, mode)
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(account.pw_gid)
            os.setuid(account.pw_uid)
            os._exit(0 if os.access(path, mode) else 1)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def reachable(programs: Path, folder: Path, account: pwd.struct_passwd | None) -> Path:
    """The programs, copied if they lie where the server's user may not go; nobody's permissions change."""
    if account is None or may(account, programs / "postgres", os.X_OK):
        return programs
    package = programs.parent.parent
    copy = folder / "programs" / package.name / programs.parent.name
    shutil.copytree(programs.parent, copy, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")  # where a Python wheel keeps shared libraries
    if libraries.is_dir():
        shutil.copytree(libraries, folder / "programs" / libraries.name, symlinks=True)
    for parent, _, files in os.walk(folder / "programs"):
        for path in (parent, *(f"{parent}/{file}" for file in files)):
            os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)
    return copy / programs.name


def create_cluster(programs: Path, folder: Path, account: pwd.struct_passwd | None) -> None:
    """An empty database cluster. Everyone who can reach the socket is trusted: the folder is private."""
    command = [programs / "initdb", "-D", folder / "data", "-U", "postgres", "--auth=trust"]
    run = subprocess.run(
        [*command, "--encoding=UTF8", "--no-locale", "--no-sync"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        **identity(account),
    )
    if run.returncode:
        sys.exit(f"initdb failed:\n{run.stdout}{run.stderr}")


def start(programs: Path, folder: Path, account: pwd.struct_passwd | None, *, durable: bool) -> subprocess.Popen[bytes]:
    """The server itself, on a Unix socket only."""
    settings = ["listen_addresses=", "unix_socket_permissions=0700", *(() if durable else FAST)]
    options = [part for setting in settings for part in ("-c", setting)]
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [programs / "postgres", "-D", folder / "data", "-k", folder, *options],
            preexec_fn=end_with_parent,  # noqa: PLW1509 - the keeper has no threads
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            **identity(account),
        )


def end_with_parent() -> None:
    """On Linux the server is told when the keeper is killed, and then ends at once."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)


def identity(account: pwd.struct_passwd | None) -> dict[str, object]:
    """How a child becomes the server's user."""
    return {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []} if account else {}


def wait_until_ready(server: subprocess.Popen[bytes], folder: Path) -> None:
    """The server writes its state into the eighth line of its pid file."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and server.poll() is None:
        try:
            lines = (folder / "data" / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            lines = []
        if len(lines) >= 8 and lines[7].strip() == "ready":
            return
        time.sleep(0.02)
    sys.exit(f"PostgreSQL did not start:\n{(folder / 'log').read_text()}")


def wait_for_end_of(parent: int) -> None:
    """Until our standard input ends, or, should a grandchild hold it open, our parent is another."""
    while os.getppid() == parent:
        readable, _, _ = select.select([sys.stdin], [], [], 0.5)
        if readable and not os.read(sys.stdin.fileno(), 1024):
            return


def stop(server: subprocess.Popen[bytes] | None) -> None:
    """Ask politely, then firmly."""
    if server is None:
        return
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        if server.poll() is None:
            server.send_signal(number)
            try:
                server.wait(timeout=10)
            except subprocess.TimeoutExpired:
                continue


if __name__ == "__main__":
    main(Path(sys.argv[1]), durable=sys.argv[2] == "durable")
