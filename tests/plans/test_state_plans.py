"""Plans: states are found by their key among many, and progress within a batch costs no index entry."""

import json

import pytest
from django.db import connection, transaction

from ccc_django import groups, store
from ccc_django.consumers import states
from ccc_django.models import ProjectionState
from ccc_django.partitions import partition_of
from tests.domain import CourseClosed
from tests.plans.test_group_plans import explained, planned

pytestmark = pytest.mark.django_db(transaction=True)

ROWS = 20_000
KEY = "ccc_projection_states_partition"


def fill() -> None:
    partitions = [partition_of({"user_id": f"u{n}"}) for n in range(ROWS)]
    ProjectionState.objects.bulk_create(
        ProjectionState(
            projection="p", version=1, partition_id=each.uuid, partition_key=each.key, state=[n], position=n + 1
        )
        for n, each in enumerate(partitions)
    )


def calls() -> dict[str, dict[str, object]]:
    partition = partition_of({"user_id": f"u{ROWS // 2}"})
    named = {"projection": "p", "version": 1, "partition": partition.id}
    return {"stored_state": named, "save_state": {**named, "key": partition.key, "state": "[]", "position": ROWS * 2}}


@pytest.mark.postgres
@pytest.mark.parametrize("statistics", ["none", "fresh"])
def test_states_are_found_by_their_key(statistics):
    fill()
    if statistics == "fresh":
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE ccc_projection_states")
    for name, parameters in calls().items():
        plan = explained(name, parameters)
        text = json.dumps(plan)
        assert KEY in text, text
        assert "Seq Scan" not in text
        assert plan["Shared Hit Blocks"] + plan["Shared Read Blocks"] < 50, text


@pytest.mark.sqlite
def test_states_are_found_by_their_key_on_sqlite():
    fill()
    assert any("projection=? AND version=? AND partition_id=?" in line for line in planned("stored_state"))
    assert states.read("p", 1, partition_of({"user_id": "u7"})).state == [7]


def updates(cursor) -> tuple[int, int]:
    cursor.execute("SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables WHERE relname = 'ccc_offsets'")
    return cursor.fetchone()


@pytest.mark.postgres
def test_progress_within_a_batch_changes_the_row_where_it_stands():
    groups.register("g", partition_by=["course_name"], handled_types=[CourseClosed])
    store.append([CourseClosed(course_name="c0") for _ in range(20)])
    claim = groups.claim_next("g", worker="w")
    with transaction.atomic(), connection.cursor() as cursor:
        before = updates(cursor)
        for _ in range(10):
            claim = groups.go_on(claim, position=claim.messages[0].position)
        after = updates(cursor)
    assert (after[0] - before[0], after[1] - before[1]) == (10, 10)
