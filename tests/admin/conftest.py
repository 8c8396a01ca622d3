"""Who looks at the admin in tests."""

import pytest

from tests.admin.pages import client_of


@pytest.fixture
def viewer(db):
    """A client of somebody who may look, and no more."""
    return client_of("view")


@pytest.fixture
def operator(db):
    """A client of somebody who may change, and is no superuser."""
    return client_of("view", "change")
