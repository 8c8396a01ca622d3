"""What tests of sessions have: a log whose positions begin at 1, so that they can be named."""

import pytest

from ccc_django import testing


@pytest.fixture(autouse=True)
def fresh_log(transactional_db):
    testing.clear()
