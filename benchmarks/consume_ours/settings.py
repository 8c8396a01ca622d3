"""The project of our own consumers, on PostgreSQL, or on SQLite if that is asked for."""

import os

from benchmarks.sqlite_settings import DATABASES as SQLITE
from tests.settings import postgres

SECRET_KEY = "benchmarks only"
USE_TZ = True
INSTALLED_APPS = ["ccc_django", "benchmarks.consume_ours"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
if "CCC_BENCH_ON_SQLITE" in os.environ:
    DATABASES = {"default": SQLITE["default"] | {"NAME": f"{os.environ['CCC_BENCH_FOLDER']}/ours.sqlite3"}}
else:
    DATABASES = {"default": postgres(os.environ["CCC_TEST_DATABASE_URL"])}
