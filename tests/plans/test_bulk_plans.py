"""Plans of bulk reads: a range by its key, without a sort; types and topics by their indexes; nothing by the time."""

import re
from contextlib import nullcontext

import pytest
from django.db import connection

from ccc_django import Event, store
from ccc_django.spark.database import PREFIX, _for_postgres, _for_sqlite
from ccc_django.spark.ranges import Range
from ccc_django.spark.wanted import Part
from tests.plans.statistics import forgotten

pytestmark = pytest.mark.django_db(transaction=True)

RANGES = {
    "log_range": (Part(), "ccc_messages_pkey"),
    "log_contents": (Part(columns=("position", "payload")), "ccc_messages_pkey"),
    "log_range_of_types": (Part(types=("bulk.rare",)), "ccc_messages_type"),
    "log_range_of_topics": (Part(topics=("rare",)), "ccc_messages_topic"),
}
IN_ORDER = ("log_range", "log_contents")


class Common(Event, type="bulk.common"):
    number: int


class Rare(Event, type="bulk.rare"):
    number: int


@pytest.fixture(params=["empty", "grown", "analysed"])
def log(request):
    """A log without rows and statistics, one that has grown since, and one with statistics."""
    is_postgres = connection.vendor == "postgresql"
    with forgotten(["ccc_messages"]) if is_postgres else nullcontext():
        if request.param != "empty":
            store.append([*(Common(number=n) for n in range(10_000)), Rare(number=1, topic="rare")])
        if request.param == "analysed":
            with connection.cursor() as cursor:
                cursor.execute("ANALYZE ccc_messages" if is_postgres else "ANALYZE")
        yield


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.postgres
def test_a_range_is_read_by_its_index(log, name):
    part, index = RANGES[name]
    assert part.statement == name
    with connection.cursor() as cursor:
        cursor.execute(_for_postgres("by_indexes"))
        for key, value in part.parameters(Range(100, 5_000), is_sqlite=False).items():
            cursor.execute("SELECT set_config(%s, %s, false)", [f"{PREFIX}.{key}", str(value)])
        cursor.execute(f"EXPLAIN {_for_postgres(name)}")
        plan = "\n".join(row[0] for row in cursor.fetchall())
    connection.close()  # what was set is this test's alone
    assert re.search(rf"Index Scan using {index}\b|Bitmap Index Scan on {index}\b", plan), plan
    assert "ccc_messages_appended" not in plan
    assert name not in IN_ORDER or "Sort" not in plan


@pytest.mark.parametrize("name", RANGES)
@pytest.mark.sqlite
def test_a_range_is_read_by_its_index_on_sqlite(log, name):
    part, index = RANGES[name]
    text, names = _for_sqlite(name)
    given = part.parameters(Range(100, 5_000), is_sqlite=True)
    with connection.cursor() as cursor:
        raw = cursor.connection.execute(f"EXPLAIN QUERY PLAN {text}", [given[each] for each in names])
        plan = "\n".join(row[3] for row in raw.fetchall())
    assert (index if name not in IN_ORDER else "INTEGER PRIMARY KEY") in plan, plan
    assert "TEMP B-TREE FOR ORDER BY" not in plan
