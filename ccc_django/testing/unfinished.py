"""Unfinished: what a test has begun to check and never checked fails it, instead of passing for nothing."""

import inspect
import unittest
from contextlib import suppress
from dataclasses import dataclass


@dataclass(eq=False, slots=True)
class Check:
    """Something that a test has begun, and that is worth nothing before it is made."""

    what: str

    def is_made(self) -> None:
        """The test has checked it."""
        with suppress(ValueError):
            _open.remove(self)


_open: list[Check] = []


def begin(what: str) -> Check:
    """A check that is to be made before the running test ends; where no test runs, nobody waits for it."""
    check = Check(what)
    _open.append(check)
    if (test := _running_test()) is not None:
        test.addCleanup(refuse)
    return check


def refuse() -> None:
    """Fail if something was begun and not checked."""
    if complaint := taken():
        raise AssertionError(complaint)


def taken() -> str:
    """What was begun and not checked, in words; it is not complained about twice."""
    left = [check.what for check in _open]
    forget()
    return "\n".join(["This test has checked nothing by:", *left]) if left else ""


def forget() -> None:
    """Another test begins."""
    _open.clear()


def _running_test() -> unittest.TestCase | None:
    """The test case that has called us, with or without pytest; pytest's own functions are left to the plugin."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code is not unittest.TestCase.run.__code__:
        frame = frame.f_back
    test: unittest.TestCase | None = None if frame is None else frame.f_locals["self"]
    return test
