"""What Spark says in a hundred lines is told in one."""

import errno

import pytest

from ccc_django.errors import ArchiveBroken, LogUnreachable, SparkFailed
from ccc_django.spark.failures import told_in_a_line, understood

OF_A_WORKER = """An error occurred while calling o79.save.
: org.apache.spark.SparkException: [TASK_FAILED] Job aborted due to stage failure: Task 0 in stage 2.0 failed 1 times:
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "source.py", line 12, in read
    raise {kind}("{text}")
ccc_django.errors.bulk.{kind}: {text}

\tat org.apache.spark.api.python.BasePythonRunner(PythonRunner.scala:572)
\t... 1 more SQLSTATE: 38000
"""


@pytest.mark.parametrize("kind", [LogUnreachable, ArchiveBroken])
def test_an_error_of_ours_comes_through_as_it_was(kind):
    problem = understood("The export", OF_A_WORKER.format(kind=kind.__name__, text="it is gone"))
    assert (type(problem), str(problem)) == (kind, "it is gone")


def test_an_error_of_others_is_told_by_its_last_words():
    said = OF_A_WORKER.replace("ccc_django.errors.bulk.", "").format(kind="ZeroDivisionError", text="division by zero")
    problem = understood("The report", said)
    assert str(problem) == "The report has failed: division by zero"


def test_a_text_without_any_error_is_told_by_its_last_line():
    assert str(understood("The export", "[SOMETHING] is wrong. SQLSTATE: 38000")).startswith(
        "The export has failed: [SOMETH"
    )
    assert str(understood("The export", "")) == "The export has failed: Spark ended"


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_no_room_is_said_wherever_it_shows(number):
    with pytest.raises(SparkFailed, match="there is no room"), told_in_a_line("The export"):
        raise OSError(number, "No space left on device")
    assert "there is no room" in str(understood("The export", "java.io.IOException: No space left on device"))


def test_other_errors_of_the_system_stay_as_they_are():
    with pytest.raises(PermissionError), told_in_a_line("The export"):
        raise PermissionError(errno.EACCES, "no")
