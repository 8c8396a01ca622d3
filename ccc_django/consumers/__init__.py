"""Consumers: deciders, projectors and functions handle the messages of groups; handle() runs one command at once."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ccc_django.consumers.handling import handle

__all__ = ["handle"]


def __getattr__(name: str) -> Any:
    """The vocabulary is imported before Django's models are ready, and handle() needs them."""
    if name == "handle":
        return import_module("ccc_django.consumers.handling").handle
    raise AttributeError(name)
