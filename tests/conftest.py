"""What every test has."""

import pytest
from hypothesis import HealthCheck, settings

slow_machines = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile("short", max_examples=60, deadline=None, suppress_health_check=slow_machines)
settings.register_profile("proof", max_examples=5_000, deadline=None, suppress_health_check=slow_machines)
settings.load_profile("short")


@pytest.fixture
def proof(request) -> bool:
    """Whether the full sizes of the long proofs are wanted."""
    return request.config.option.proof
