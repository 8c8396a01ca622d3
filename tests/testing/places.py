"""Where the helpers are used: inside of a test's own transaction, and in tests that commit."""

import pytest

IN_A_TRANSACTION = pytest.param("in a transaction", marks=pytest.mark.django_db)
COMMITTING = pytest.param("committing", marks=pytest.mark.django_db(transaction=True))

everywhere = pytest.mark.parametrize("place", [IN_A_TRANSACTION, COMMITTING])
