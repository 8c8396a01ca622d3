"""The project that the SQLite benchmark runs in."""

import os

USE_TZ = True
INSTALLED_APPS = ["ccc_django"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ.get("CCC_BENCH_SQLITE", ":memory:"),
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL",
        },
    }
}
