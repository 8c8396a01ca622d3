"""What Spark is measured against: psql, the best single statement, and the best single Python process."""

import json
import os
import subprocess
from collections import defaultdict
from typing import Any

TYPES = {"joined": "bench.joined", "capacity": "bench.capacity_changed", "renamed": "bench.renamed"}

# Nine of ten messages name a course and a user; a fifth of all is about one hot course. One of twenty names a course
# alone, and belongs to each of its some ten partitions; one of twenty a user alone, with five.
FILL = """
INSERT INTO ccc_messages (
    position, message_id, message_type, version, topic, payload, metadata, correlation_id, causation_id, created_at,
    appended_at, shape
)
SELECT
    n, id, CASE WHEN kind < 18 THEN %(joined)s WHEN kind = 18 THEN %(capacity)s ELSE %(renamed)s END, 1,
    CASE WHEN n %% 4 = 0 THEN 'courses' ELSE '' END,
    CASE
        WHEN kind < 18 THEN jsonb_build_object(
            'course_name', CASE WHEN luck %% 9 < 2 THEN 'the hot one' ELSE 'course ' || (u * 7 + luck %% 4) %% courses END,
            'user_id', u, 'amount', n %% 100, 'note', 'some text that is a little longer'
        )
        WHEN kind = 18 THEN jsonb_build_object('course_name', 'course ' || luck %% courses, 'capacity', n %% 100)
        ELSE jsonb_build_object('user_id', u, 'name', 'name ' || n)
    END,
    '{}', id, id, now(), timestamptz '2026-01-01' + n * interval '1 second',
    CASE WHEN kind < 18 THEN %(both)s WHEN kind = 18 THEN %(course)s ELSE %(user)s END::bigint
FROM (
    SELECT
        n, gen_random_uuid() AS id, users, courses, abs(hashint8(n)::bigint) %% users AS u,
        abs(hashint8extended(n, 1) %% 20) AS kind, abs(hashint8extended(n, 2) %% 1000000007) AS luck
    FROM generate_series(%(first)s::bigint, %(last)s::bigint) AS n,
        (SELECT %(total)s::bigint / 40 AS users, %(total)s::bigint / 100 AS courses) AS size
) AS message
"""

ASSIGN = """
WITH carried AS MATERIALIZED (
    SELECT position, payload ->> 'course_name' AS course, payload ->> 'user_id' AS member FROM ccc_messages
), partition AS MATERIALIZED (
    SELECT course, member, count(*) AS messages, max(position) AS position
    FROM carried WHERE course IS NOT NULL AND member IS NOT NULL GROUP BY course, member
), of_course AS (
    SELECT course, count(*) AS messages, max(position) AS position
    FROM carried WHERE course IS NOT NULL AND member IS NULL GROUP BY course
), of_member AS (
    SELECT member, count(*) AS messages, max(position) AS position
    FROM carried WHERE course IS NULL AND member IS NOT NULL GROUP BY member
), folded AS (
    SELECT
        partition.messages + coalesce(of_course.messages, 0) + coalesce(of_member.messages, 0) AS messages,
        greatest(partition.position, of_course.position, of_member.position) AS position
    FROM partition
    LEFT JOIN of_course USING (course)
    LEFT JOIN of_member USING (member)
)
SELECT count(*), sum(messages)::bigint, sum(position)::bigint FROM folded
"""


def fill(total: int, say: Any) -> None:
    """The same kind of log in any size, with shapes, as appends write them."""
    from django.db import connection

    from ccc_django.entries import shape_of
    from ccc_django.models import Shape
    from ccc_django.testing import clear

    clear()
    shapes = {
        "both": shape_of(TYPES["joined"], frozenset({"course_name", "user_id", "amount", "note"})),
        "course": shape_of(TYPES["capacity"], frozenset({"course_name", "capacity"})),
        "user": shape_of(TYPES["renamed"], frozenset({"user_id", "name"})),
    }
    Shape.objects.bulk_create(
        Shape(digest=shape.id, message_type=shape.message_type, names=json.loads(shape.names))
        for shape in shapes.values()
    )
    ids = {name: shape.id for name, shape in shapes.items()}
    with connection.cursor() as cursor:
        for first in range(1, total + 1, 1_000_000):
            last = min(first + 999_999, total)
            cursor.execute(FILL, {**TYPES, **ids, "first": first, "last": last, "total": total})
            say(f"filled {last:,}")
        cursor.execute("SELECT setval('ccc_messages_position_seq', %s)", [total])
        cursor.execute("VACUUM ANALYZE ccc_messages")


def copy() -> None:
    """What everything is a multiple of."""
    command = ["psql", os.environ["CCC_TEST_DATABASE_URL"], "-qc", "COPY ccc_messages TO STDOUT"]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)


def assign_in_sql() -> tuple[int, ...]:
    """Partitions, messages in them, and a sum that tells whether their last positions are right."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SET work_mem = '1GB'")
        cursor.execute(ASSIGN)
        return tuple(cursor.fetchone())


def assign_in_python() -> tuple[int, ...]:
    """The same in one process: rows by COPY, JSON by C, dictionaries."""
    from django.db import connection
    from pydantic_core import from_json

    full: dict[tuple[Any, Any], list[int]] = {}
    of_course: dict[Any, list[int]] = defaultdict(lambda: [0, 0])
    of_user: dict[Any, list[int]] = defaultdict(lambda: [0, 0])
    connection.ensure_connection()
    wanted = "COPY (SELECT position, payload FROM ccc_messages ORDER BY position) TO STDOUT"
    with connection.connection.cursor() as cursor, cursor.copy(wanted) as rows:
        rows.set_types(["int8", "text"])
        for position, payload in rows.rows():
            values = from_json(payload)
            course, user = values.get("course_name"), values.get("user_id")
            if course is None:
                found = of_user[user]
            elif user is None:
                found = of_course[course]
            else:
                found = full.setdefault((course, user), [0, 0])
            found[0] += 1
            found[1] = position
    messages = positions = 0
    for (course, user), (count, position) in full.items():
        by_course, by_user = of_course.get(course, (0, 0)), of_user.get(user, (0, 0))
        messages += count + by_course[0] + by_user[0]
        positions += max(position, by_course[1], by_user[1])
    return len(full), messages, positions


def export_in_python(folder: str) -> None:
    """Parquet by one process, from Arrow to Arrow."""
    import pyarrow.parquet as pq

    from ccc_django.spark.connecting import database
    from ccc_django.spark.ranges import Range
    from ccc_django.spark.schema import arrow_schema
    from ccc_django.spark.source import RangeToRead, read_range
    from ccc_django.spark.wanted import Part

    place = database()
    with pq.ParquetWriter(f"{folder}/log.parquet", arrow_schema(), compression="zstd") as writer:
        for batch in read_range(place, Part(), RangeToRead(Range(0, place.head()))):
            writer.write_batch(batch)
