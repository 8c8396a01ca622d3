"""The project that django-q2 runs in."""

import os

from benchmarks.consume_peers import POLL
from benchmarks.consume_peers.django_settings import *  # noqa: F403

INSTALLED_APPS = ["django_q"]
Q_CLUSTER = {
    "name": "benchmark",
    "orm": "default",
    "workers": int(os.environ.get("CCC_BENCH_PROCESSES", "1")),
    "bulk": 50,
    "queue_limit": 100,
    "poll": POLL,
    "recycle": 10_000_000,
    "save_limit": -1,
    "retry": 3600,
    "timeout": 600,
    "scheduler": False,
    "log_level": "ERROR",
}
