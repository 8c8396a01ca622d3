"""The project that django-tasks runs in."""

from benchmarks.consume_peers.django_settings import *  # noqa: F403

INSTALLED_APPS = ["django_tasks_db"]
TASKS = {"default": {"BACKEND": "django_tasks_db.DatabaseBackend"}}
