"""A pytest plugin: no test remembers another, and what a test begins to check it finishes."""

import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from ccc_django.testing import unfinished

if TYPE_CHECKING:
    from ccc_django.testing.draining import Drained

MEMORIES = ("ccc_django.declared", "ccc_django.groups.looking", "ccc_django.consumers.declaring")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Forget what this process knows of groups and indexes, which were perhaps rolled back."""
    for name in MEMORIES:
        if module := sys.modules.get(name):  # nobody has used it otherwise, and Django may not be ready
            module.forget()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """A scenario without a then, or an assertion without its block, fails the test that has begun it."""
    unfinished.forget()
    yield
    if complaint := unfinished.taken():
        pytest.fail(complaint, pytrace=False)


@pytest.fixture
def ccc_drain(db: None) -> "Callable[..., Drained]":  # noqa: ARG001 - pytest-django's, which opens the database
    """``drain`` for a test that uses the database."""
    from ccc_django.testing import drain  # noqa: PLC0415 - models are not ready before

    return drain


@pytest.fixture
def ccc_frozen_log() -> Iterator[None]:
    """The log is frozen for the whole test."""
    from ccc_django.testing import freeze_log  # noqa: PLC0415 - models are not ready before

    with freeze_log():
        yield
