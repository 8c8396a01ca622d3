"""Run a command beside a PostgreSQL server: ``python -m tests.postgres [--durable] COMMAND …``.

The command finds the server's URL in CCC_TEST_DATABASE_URL.
"""

import argparse
import os
import signal
import subprocess
import sys

from tests.postgres import running


def main() -> int:
    """Run the command and return what it returns."""
    parser = argparse.ArgumentParser(prog="python -m tests.postgres", description=__doc__)
    parser.add_argument("--durable", action="store_true", help="sync to disk, as benchmarks need it")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="what to run; without it, print the URL and wait")
    arguments = parser.parse_args()
    with running(durable=arguments.durable) as url:
        if not arguments.command:
            print(url, flush=True)
            sys.stdin.read()
            return 0
        environment = {**os.environ, "CCC_TEST_DATABASE_URL": url}
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        with subprocess.Popen(arguments.command, env=environment) as command:
            try:
                return command.wait()
            finally:
                command.terminate()


if __name__ == "__main__":
    sys.exit(main())
