"""Run every benchmark: ``python -m benchmarks [NAME …]``."""

import sys
from importlib import import_module

NAMES = ("messages",)

for name in sys.argv[1:] or NAMES:
    import_module(f"benchmarks.{name}").main()
