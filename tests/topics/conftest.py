"""What tests of topics have: a log whose positions begin at 1, so that they can be named."""

import pytest

from ccc_django import testing


@pytest.fixture(autouse=True)
def first_day(transactional_db) -> None:
    """A log as it was on its first day."""
    testing.clear()
