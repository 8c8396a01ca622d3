"""Run every benchmark, or some: ``python -m benchmarks [NAME …]``."""

import os
import subprocess
import sys
from importlib import import_module

NAMES = ("messages", "reads", "append", "append_sqlite", "indexes", "groups", "topics", "retention", "spark", "consume")


def main(names: list[str]) -> int:
    """Each on a PostgreSQL that syncs to disk, which is started for all of them."""
    if "CCC_TEST_DATABASE_URL" not in os.environ:
        command = [sys.executable, "-m", "tests.postgres", "--durable", sys.executable, "-m", "benchmarks", *names]
        environment = {**os.environ, "CCC_TEST_DATABASE": "postgres", "DJANGO_SETTINGS_MODULE": "tests.settings"}
        return subprocess.run(command, env=environment, check=False).returncode
    import django

    django.setup()
    for name in names or NAMES:
        import_module(f"benchmarks.{name}").main()
    return 0


sys.exit(main(sys.argv[1:]))
