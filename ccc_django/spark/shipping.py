"""Shipping: the modules of a project that executors need, sent to them if they can be imported without Django."""

import atexit
import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ccc_django.errors import NotPortable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOOK = """
import importlib, json, sys

class NoDjango:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "django":
            raise ModuleNotFoundError("No module named 'django'", name="django")

sys.meta_path.insert(0, NoDjango())
for wanted in sys.argv[1:]:
    module, _, name = wanted.partition(":")
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
print(json.dumps({name: getattr(each, "__file__", None) for name, each in sys.modules.items()}))
"""


def reference(kind: type) -> str:
    """The name by which executors import a class."""
    if "<locals>" in kind.__qualname__ or kind.__module__ == "__main__":
        raise NotPortable(f"{kind.__qualname__} is not in a module: executors cannot import it. Put it into one.")
    return f"{kind.__module__}:{kind.__qualname__}"


def ship(session: "SparkSession", kind: type, *others: type) -> str:
    """Send the modules of classes, and what they need of the project, to the executors; the first one's name there."""
    names = tuple(reference(each) for each in (kind, *others))
    paths = tuple(path or str(Path.cwd()) for path in sys.path if Path(path or ".").is_dir())
    if modules := _own_modules(names, paths):
        session.sparkContext.addPyFile(str(_zipped(modules)))
    return names[0]


@cache
def _own_modules(names: tuple[str, ...], paths: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    """Modules of the project that are imported with classes, as a process without Django finds them."""
    environment = {key: value for key, value in os.environ.items() if key != "DJANGO_SETTINGS_MODULE"}
    environment["PYTHONPATH"] = os.pathsep.join(paths)
    looked = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", LOOK, *names], capture_output=True, text=True, check=False, env=environment
    )
    if looked.returncode:
        modules = ", ".join(dict.fromkeys(name.partition(":")[0] for name in names))
        said = (looked.stderr.strip().splitlines() or ["it ended"])[-1]
        raise NotPortable(
            f"{modules} cannot be imported by executors, which have no Django: {said}. Split it: put the class and its "
            "messages into a module that imports neither models nor settings."
        )
    found: dict[str, str | None] = json.loads(looked.stdout.splitlines()[-1])
    return tuple(sorted((each, file) for each, file in found.items() if file and _is_own(each, file)))


def _is_own(name: str, file: str) -> bool:
    """Whether a module belongs to the project, and not to Python, to an installed package or to us."""
    installed = {sysconfig.get_path(each) for each in ("stdlib", "platstdlib", "purelib", "platlib")}
    is_installed = any(Path(file).is_relative_to(folder) for folder in installed)
    return file.endswith(".py") and not is_installed and name.partition(".")[0] not in {"ccc_django", "__main__"}


def _zipped(modules: tuple[tuple[str, str], ...]) -> Path:
    """One archive for the same modules, in a folder that is this process's own."""
    contents = {_path_of(name, file): Path(file).read_bytes() for name, file in modules}
    digest = hashlib.sha256(b"".join(path.encode() + content for path, content in contents.items())).hexdigest()[:16]
    target = _folder() / f"ccc-modules-{digest}.zip"
    if not target.exists():
        with zipfile.ZipFile(target, "w") as archive:
            for path, content in contents.items():
                archive.writestr(path, content)
    return target


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="ccc-modules-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _path_of(name: str, file: str) -> str:
    folders = name.replace(".", "/")
    return f"{folders}/__init__.py" if Path(file).name == "__init__.py" else f"{folders}.py"
