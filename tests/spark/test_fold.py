"""Folds: what travels to executors, what is refused, and how a fold fails."""

import subprocess
import sys
from datetime import UTC, datetime
from importlib import import_module

import pyarrow as pa
import pytest

from ccc_django import Projector, evolves, store
from ccc_django import spark as ccc
from ccc_django.errors import NotPortable
from ccc_django.models import StoredMessage
from ccc_django.spark.folding import COLUMNS, Fold, _states
from ccc_django.spark.shipping import ship
from tests.spark.by_name import ByName
from tests.spark.portable import Attendance, Joined


def test_executors_need_no_django():
    code = """
import sys
class NoDjango:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "django":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, NoDjango())
import ccc_django.spark, ccc_django.spark.source, ccc_django.spark.streaming, ccc_django.spark.folding
import ccc_django.spark.exporting, ccc_django.spark.verifying
assert not any(name.partition(".")[0] == "django" for name in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_module_that_needs_django_is_refused_with_advice(spark):
    Members = import_module("tests.spark.needs_django").Members  # noqa: N806 - a class
    with pytest.raises(NotPortable, match=r"tests.spark.needs_django cannot be imported .* no Django.* Split it"):
        ship(spark, Members)


def test_a_class_that_is_in_no_module_is_refused(spark):
    class Local(Projector):
        @evolves(Joined)
        def joined(self, state, event): ...

    with pytest.raises(NotPortable, match="is not in a module"):
        ship(spark, Local)


def test_only_projectors_are_folded():
    with pytest.raises(TypeError, match="is no projector"):
        ccc.fold(Joined)


def test_what_was_assigned_by_other_attributes_is_refused(spark):
    assigned = ccc.read(spark).transform(ccc.assign(["course_name"]))
    with pytest.raises(ValueError, match=r"has partitions by course_name, user_id.*assigned by \['course_name'\]"):
        assigned.transform(ccc.fold(Attendance))


def test_a_message_that_cannot_be_folded_is_named(spark):
    store.append(Joined(course_name="a", user_id="b"))
    StoredMessage.objects.update(payload={"course_name": "a", "user_id": "b", "paid": "much"})
    assignment = ccc.assign(["course_name", "user_id"])
    with pytest.raises(Exception, match=r"Attendance cannot be folded over spark.joined at 1, in the partition"):
        ccc.read(spark).transform(assignment).transform(ccc.fold(Attendance)).collect()
    assignment.forget()


def test_one_state_is_in_memory_at_a_time():
    """States come out while rows go in: the next partition is not looked at before the one before it is done."""
    taken = []

    def rows():
        for number in range(1, 5):
            taken.append(number)
            key = f'{{"course_name":"c{number // 2}","user_id":"u"}}'
            yield (str(number // 2), key, number, *envelope())

    states = _states(Attendance, rows())
    next(states)
    assert taken == [1, 2], "one row beyond the first partition"


def envelope() -> tuple:
    id = "0190a6a0-0000-7000-8000-000000000000"
    time = datetime(2026, 1, 31, tzinfo=UTC)
    return (id, "spark.joined", 1, "", "{}", "{}", id, id, time, time)


def test_large_states_leave_earlier(monkeypatch):
    monkeypatch.setattr("ccc_django.spark.folding.BYTES_A_BATCH", 200)
    rows = [(f"{n:08}", '{"course_name":"c","user_id":"u"}', n, *envelope()) for n in range(1, 31)]
    batch = pa.RecordBatch.from_pylist([dict(zip(COLUMNS, row, strict=True)) for row in rows])
    sizes = [each.num_rows for each in Fold("tests.spark.portable:Attendance")(iter([batch]))]
    assert len(sizes) > 3
    assert sum(sizes) == 30


def test_a_projector_that_knows_its_messages_by_name_is_folded(spark):
    store.append([Joined(course_name="a", user_id=1, paid=2)])
    folded = ccc.read(spark).transform(ccc.assign(["user_id"])).transform(ccc.fold(ByName)).collect()
    assert [(row.partition_key, row.state) for row in folded] == [('{"user_id":1}', "2")]


def test_other_limits_than_those_of_the_assignment_are_refused(spark):
    assigned = ccc.read(spark).transform(ccc.assign(["user_id"], most_partitions=7))
    with pytest.raises(ValueError, match="most_partitions=100, and the log was assigned with 7"):
        assigned.transform(ccc.fold(ByName))


def test_many_states_leave_in_batches():
    rows = [(f"{n:08}", '{"course_name":"c","user_id":"u"}', n, *envelope()) for n in range(1, 12_001)]
    batch = pa.RecordBatch.from_pylist([dict(zip(COLUMNS, row, strict=True)) for row in rows])
    sizes = [each.num_rows for each in Fold("tests.spark.portable:Attendance")(iter([batch]))]
    assert sizes == [5_000, 5_000, 2_000]
