"""What every test has."""

import pytest
from hypothesis import HealthCheck, settings

from ccc_django import registry, store
from tests.consuming import Seating, SeatsOffered

# As projects get it by installing us; named here, and not found, so that coverage sees what it imports.
pytest_plugins = ["ccc_django.testing.plugin", "pytester"]

slow_machines = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("short", max_examples=60, deadline=None, suppress_health_check=slow_machines)
settings.register_profile("proof", max_examples=5_000, deadline=None, suppress_health_check=slow_machines)
settings.load_profile("short")


@pytest.fixture
def proof(request) -> bool:
    """Whether the full sizes of the long proofs are wanted."""
    return request.config.option.proof


@pytest.fixture
def no_consumers(monkeypatch) -> None:
    """A project without any consumer yet; those that a test declares, and its messages, go with it."""
    monkeypatch.setattr("ccc_django.consumers.registry._consumers", {})
    monkeypatch.setattr("ccc_django.consumers.declaring._declared", set())
    monkeypatch.setattr("ccc_django.registry._classes", {**registry._classes})


@pytest.fixture
def seating(no_consumers):
    """Decides who gets a seat in a course."""
    return type("CourseSeating", (Seating,), {}, group="seating", partition_by=["course_name"])


@pytest.fixture
def offered(seating):
    """The same, with two seats."""
    store.append(SeatsOffered(course_name="Algebra", seats=2))
    return seating
