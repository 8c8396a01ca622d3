"""The project that the tests run in, on the database that ``--database`` names."""

import os
from urllib.parse import parse_qsl, unquote, urlsplit

SECRET_KEY = "tests only"
USE_TZ = True
TIME_ZONE = "Europe/Lisbon"  # not UTC, so that a forgotten conversion shows
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "django.contrib.messages",
    "ccc_django",
    "tests.worker_app",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
ROOT_URLCONF = "tests.urls"
STATIC_URL = "static/"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

FOLDER = os.environ.get("CCC_TEST_FOLDER")  # a file, so that several processes can use the database


def sqlite() -> dict[str, object]:
    """A SQLite database as our own checks ask for it."""
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": ":memory:",
        "TEST": {"NAME": f"{FOLDER}/tests.sqlite3"} if FOLDER else {},
        "OPTIONS": {"transaction_mode": "IMMEDIATE", "timeout": 20, "init_command": "PRAGMA journal_mode=WAL"},
    }


def postgres(url: str) -> dict[str, object]:
    """A PostgreSQL database by URL; ``?host=/folder`` names a Unix socket."""
    parts = urlsplit(url)
    query = dict(parse_qsl(parts.query))
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path.lstrip("/") or "postgres",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": query.pop("host", parts.hostname or ""),
        "PORT": str(query.pop("port", parts.port or "")),
        "OPTIONS": query,
    }


DATABASE = os.environ.get("CCC_TEST_DATABASE", "sqlite")
DATABASES = {"default": postgres(os.environ["CCC_TEST_DATABASE_URL"]) if DATABASE == "postgres" else sqlite()}
