"""The example project's apps, with registries of their own: some of their types are those of tests/domain.py."""

import sys
from pathlib import Path

import pytest

from ccc_django import CommandRejected, registry
from ccc_django.consumers import declaring
from ccc_django.consumers import registry as consumers_registry

EXAMPLE = Path(__file__).parents[1] / "example_project"
classes, consumers = {CommandRejected.type: CommandRejected}, {}

with pytest.MonkeyPatch.context() as patch:
    patch.setattr(registry, "_classes", classes)
    patch.setattr(consumers_registry, "_consumers", consumers)
    sys.path.insert(0, str(EXAMPLE))
    import accounts.consumers
    import courses.consumers
    import feedback.consumers
    import shop.consumers

    sys.path.remove(str(EXAMPLE))


@pytest.fixture
def portal(monkeypatch):
    """The log belongs to the portal."""
    monkeypatch.setattr(registry, "_classes", classes)
    monkeypatch.setattr(consumers_registry, "_consumers", consumers)
    monkeypatch.setattr(declaring, "_declared", set())


__all__ = ["accounts", "courses", "feedback", "portal", "shop"]
