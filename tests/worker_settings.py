"""The settings of worker processes that tests start: the same project, on the test's own database."""

import os

from tests import spans
from tests.settings import *  # noqa: F403
from tests.settings import DATABASES, INSTALLED_APPS, sqlite

DATABASES["default"]["NAME"] = os.environ["CCC_WORKER_DATABASE"]
if "CCC_TEST_PASSWORD" in os.environ:  # which the server does not ask for
    DATABASES["default"]["PASSWORD"] = os.environ["CCC_TEST_PASSWORD"]
CCC_BEAT_EVERY = float(os.environ.get("CCC_TEST_BEAT_EVERY", "0.5"))
CCC_SWEEP_EVERY = 0.5
CCC_LISTEN = os.environ.get("CCC_TEST_LISTEN") != "no"
if "CCC_TEST_POOL" in os.environ:
    size = int(os.environ["CCC_TEST_POOL"])
    DATABASES["default"]["OPTIONS"]["pool"] = {"min_size": size, "max_size": size, "timeout": 2}
if "CCC_TEST_APP" in os.environ:
    INSTALLED_APPS.append(os.environ["CCC_TEST_APP"])
DEBUG = os.environ.get("CCC_TEST_DEBUG") == "yes"
if "CCC_TEST_SPANS" in os.environ:
    spans.write_to(os.environ["CCC_TEST_SPANS"])
if "CCC_TEST_LOG" in os.environ:  # the log in a database of its own
    DATABASES["log"] = {**sqlite(), "NAME": os.environ["CCC_TEST_LOG"]}
    DATABASE_ROUTERS = ["ccc_django.router.LogRouter"]
    CCC_DATABASE = "log"
