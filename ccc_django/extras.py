"""Extras: optional packages, and what to install when one is needed."""

from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from ccc_django.errors import ExtraMissing

EXTRA_OF = {
    "psycopg": "postgres",
    "rest_framework": "api",
    "drf_spectacular": "api",
    "admin_interface": "admin",
    "pyspark": "spark",
    "adbc_driver_postgresql": "spark",
    "adbc_driver_sqlite": "spark",
    "rich": "cli",
    "prometheus_client": "metrics",
    "opentelemetry": "tracing",
    "factory": "test",
}


def is_installed(package: str) -> bool:
    """Whether an optional package is there."""
    return find_spec(package) is not None


def require(package: str) -> ModuleType:
    """An optional package, or an error that names the extra to install."""
    try:
        return import_module(package)
    except ModuleNotFoundError:
        raise ExtraMissing(package, EXTRA_OF[package]) from None
