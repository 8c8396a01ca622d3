"""Testing: what tests of a project need: scenarios without a database, and the log within a test's own transaction."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ccc_django.testing.asserting import assert_appended, assert_nothing_appended
    from ccc_django.testing.clearing import clear
    from ccc_django.testing.draining import Drained, drain
    from ccc_django.testing.freezing import freeze_log
    from ccc_django.testing.scenarios import given

HOMES = {
    "Drained": "draining",
    "assert_appended": "asserting",
    "assert_nothing_appended": "asserting",
    "clear": "clearing",
    "drain": "draining",
    "freeze_log": "freezing",
    "given": "scenarios",
}

__all__ = [
    "Drained",
    "assert_appended",
    "assert_nothing_appended",
    "clear",
    "drain",
    "freeze_log",
    "given",
]


def __getattr__(name: str) -> Any:
    """The pytest plugin is imported before Django's models are ready, and these need them."""
    if name in HOMES:
        return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
