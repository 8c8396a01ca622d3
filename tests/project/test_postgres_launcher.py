"""The launcher: a real server that starts anywhere and never stays behind."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from tests.postgres import KEEPER, ready_url, running, start_keeper
from tests.postgres.binaries import find_server
from tests.settings import postgres

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def no_server_given(monkeypatch):
    """These tests start their own, also while the suite runs on an existing one."""
    monkeypatch.delenv("CCC_TEST_DATABASE_URL", raising=False)


def connect(url: str) -> psycopg.Connection:
    settings = postgres(url)
    return psycopg.connect(host=settings["HOST"], user=settings["USER"], dbname=settings["NAME"])


def ask(url: str, question: str) -> str:
    with connect(url) as connection:
        return connection.execute(question).fetchone()[0]


def folder_of(url: str) -> Path:
    return Path(postgres(url)["HOST"])


def gone(process: int, folder: Path, *, within: float = 20) -> bool:
    """Whether a server has ended and taken its folder with it."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if not folder.exists() and not is_alive(process):
            return True
        time.sleep(0.05)
    return False


def is_alive(process: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(process, 0)
        return True
    return False


def server_pid(folder: Path) -> int:
    return int((folder / "data" / "postmaster.pid").read_text().splitlines()[0])


def test_a_server_starts_answers_and_is_gone_afterwards():
    with running() as url:
        assert ask(url, "SHOW fsync") == "off"
        assert ask(url, "SHOW listen_addresses") == ""
        assert ask(url, "SHOW server_encoding") == "UTF8"
        folder = folder_of(url)
        process = server_pid(folder)
        assert folder.stat().st_mode & 0o777 == 0o700
        owner = folder.stat().st_uid
        assert owner != 0, "PostgreSQL does not run as root"
    assert gone(process, folder)


def test_a_durable_server_syncs_to_disk():
    with running(durable=True) as url:
        assert ask(url, "SHOW fsync") == "on"
        assert ask(url, "SHOW synchronous_commit") == "on"


def test_an_existing_server_is_used_if_one_is_named(monkeypatch):
    monkeypatch.setenv("CCC_TEST_DATABASE_URL", "postgresql://me@example.org/db")
    with running() as url:
        assert url == "postgresql://me@example.org/db"


def test_busy_ports_do_not_matter():
    with socket.socket() as busy:
        with suppress(OSError):  # busy already: as good
            busy.bind(("127.0.0.1", 5432))
            busy.listen()
        with running() as first, running() as second:
            assert ask(first, "SELECT 1") == ask(second, "SELECT 1") == 1
            assert first != second


def test_paths_with_spaces_and_quotes_and_letters(public_folder, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(public_folder))
    with running() as url:
        assert folder_of(url).parent == public_folder
        assert ask(url, "SELECT 1") == 1


def test_a_temporary_folder_whose_path_is_too_long_for_a_socket(tmp_path, monkeypatch):
    place = tmp_path / ("long" * 30)
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    with running() as url:
        assert ask(url, "SELECT 1") == 1


def test_programs_that_the_servers_user_cannot_reach_are_copied(tmp_path):
    """As with a virtual environment in root's home; nobody's permissions are changed for it."""
    hidden = tmp_path / "home of root"
    server = copied(bundled_server(), hidden)
    hidden.chmod(0o700)
    with kept(server) as url:
        assert ask(url, "SELECT 1") == 1
    assert hidden.stat().st_mode & 0o777 == 0o700


@contextmanager
def kept(server: Path) -> Iterator[str]:
    with start_keeper(server) as keeper:
        yield ready_url(keeper)


def copied(server: Path, place: Path) -> Path:
    """A server's programs in another place, with the libraries that a wheel keeps beside its package."""
    package = server.parent.parent
    for folder in (package, package.with_name(f"{package.name}.libs")):
        shutil.copytree(folder, place / folder.name, symlinks=True)
    return place / package.name / server.parent.name / "bin"


def bundled_server() -> Path:
    environment = {**os.environ, "CCC_TEST_POSTGRES": "bundled"}
    program = "from tests.postgres.binaries import find_server; print(find_server())"
    found = subprocess.check_output([sys.executable, "-c", program], env=environment, cwd=ROOT, text=True)
    return Path(found.strip())


def test_the_bundled_server_runs_too():
    with kept(bundled_server()) as url:
        assert ask(url, "SELECT 1") == 1


@contextmanager
def a_run(first: str = "pass") -> Iterator[tuple[subprocess.Popen[str], Path]]:
    """A process that uses a server, and the server's folder."""
    # It is neither where a suite runs in background, or under nohup.
    interruptible = "signal.signal(signal.SIGINT, signal.default_int_handler)"
    ending = "signal.signal(signal.SIGHUP, signal.SIG_DFL)"
    lines = [
        f"import signal; {interruptible}; {ending}",
        "from tests.postgres import running",
        "with running() as url:",
    ]
    program = "\n".join([*lines, f" {first}", " print(url, flush=True)", " input()"])
    command = [sys.executable, "-c", program]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, text=True, stdin=pipe, stdout=pipe, start_new_session=True) as run:
        yield run, folder_of(run.stdout.readline().strip())


@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("kill", [os.kill, os.killpg])
def test_a_killed_run_leaves_no_server_behind(signal_number, kill):
    with a_run() as (run, folder):
        process = server_pid(folder)
        assert is_alive(process)
        kill(run.pid, signal_number)
        assert run.wait(timeout=20) != 0
        assert gone(process, folder)


def test_a_killed_run_leaves_no_server_behind_even_if_a_child_of_it_lives_on():
    """A forked child holds the pipe open that would tell the keeper."""
    with a_run(first="import os, time\n if not os.fork(): time.sleep(60)") as (run, folder):
        process = server_pid(folder)
        os.kill(run.pid, signal.SIGKILL)
        run.wait(timeout=20)
        assert gone(process, folder)
        os.killpg(run.pid, signal.SIGKILL)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a child that its parent was killed")
def test_a_killed_keeper_leaves_no_server_running():
    with start_keeper(find_server()) as keeper:
        folder = folder_of(ready_url(keeper))
        process = server_pid(folder)
        keeper.kill()
        keeper.wait()
        assert ended(process)
    shutil.rmtree(folder)


def ended(process: int, *, within: float = 20) -> bool:
    deadline = time.monotonic() + within
    while is_alive(process) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_alive(process)


def test_a_second_signal_does_not_interrupt_the_cleaning_up():
    with start_keeper(find_server()) as keeper:
        folder = folder_of(ready_url(keeper))
        process = server_pid(folder)
        for _ in range(3):
            keeper.terminate()
            time.sleep(0.03)
        assert gone(process, folder)


def test_a_command_ends_with_the_launcher_that_runs_it(tmp_path):
    program = f"import time; open('{tmp_path}/started', 'w'); time.sleep(8); open('{tmp_path}/late', 'w')"
    with subprocess.Popen([sys.executable, "-m", "tests.postgres", sys.executable, "-c", program], cwd=ROOT) as run:
        while not (tmp_path / "started").exists():
            time.sleep(0.05)
        run.terminate()
        assert run.wait(timeout=7) == 143
    assert not (tmp_path / "late").exists()


def test_a_server_that_cannot_start_says_why(tmp_path, capfd):
    broken = tmp_path / "bin"
    broken.mkdir(mode=0o755)
    for program in ("initdb", "postgres"):
        (broken / program).write_text("#!/bin/sh\necho the disk is on fire; exit 1\n")
        (broken / program).chmod(0o755)
    with pytest.raises(RuntimeError, match="did not start"), kept(broken):
        pass
    assert "the disk is on fire" in capfd.readouterr().err


def test_it_runs_for_an_ordinary_user(public_folder):
    """As root we become nobody first; otherwise every other test has shown it already."""
    if os.geteuid() != 0:
        with running() as url:
            assert folder_of(url).stat().st_uid == os.geteuid()
        return
    nobody = pwd.getpwnam("nobody")
    command = [
        python_for_everyone(),
        "-I",
        shutil.copy(KEEPER, public_folder),
        server_for_everyone(public_folder),
        "fast",
    ]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, text=True, start_new_session=True, cwd="/",
        user=nobody.pw_uid, group=nobody.pw_gid, extra_groups=[],
    ) as keeper:  # fmt: skip
        url = ready_url(keeper)
        assert folder_of(url).stat().st_uid == nobody.pw_uid
        assert ask(url, "SELECT 1") == 1
        keeper.stdin.close()
        assert keeper.wait(timeout=20) == 0
        assert not folder_of(url).exists()


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that everybody may read, with a space and other letters in its name."""
    place = Path(tempfile.mkdtemp(prefix="ccc d'été ", dir="/tmp"))
    place.chmod(0o755)
    yield place
    shutil.rmtree(place)


def server_for_everyone(place: Path) -> Path:
    server = find_server()
    return server if nobody_can_run(server / "postgres") else copied(server, place)


def nobody_can_run(program: Path) -> bool:
    silent = subprocess.DEVNULL
    command = ["/bin/sh", "-c", '"$0" --version', program]
    return subprocess.run(command, user="nobody", cwd="/", stdout=silent, stderr=silent, check=False).returncode == 0


def python_for_everyone() -> Path:
    """A Python that another user may run: ours, unless it lies in root's home, else the system's."""
    for program in (Path(sys.executable).resolve(), Path("/usr/bin/python3")):
        if nobody_can_run(program):
            return program
    pytest.skip("root's Python cannot be run by anybody else, and there is no other on this machine")


def test_the_command_line_runs_a_command_beside_a_server():
    command = [sys.executable, "-m", "tests.postgres", sys.executable, "-c"]
    program = "import os, sys; print(os.environ['CCC_TEST_DATABASE_URL']); sys.exit(7)"
    run = subprocess.run([*command, program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 7
    assert run.stdout.startswith("postgresql://")
    assert not folder_of(run.stdout.strip()).exists()
