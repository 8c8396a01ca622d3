"""What the projects of all Django peers have in common."""

import os

from tests.settings import postgres

SECRET_KEY = "benchmarks only"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# Their workers call close_old_connections() for every job: without an age, each would connect anew.
DATABASES = {"default": postgres(os.environ["CCC_TEST_DATABASE_URL"]) | {"CONN_MAX_AGE": None}}
