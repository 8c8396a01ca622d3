"""Who prunes, backfills and reads: ours, and plain statements over the same rows."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

RETENTION = timedelta(days=1)
BATCH = 10_000
MESSAGES = """
INSERT INTO ccc_messages (
    message_id, message_type, version, topic, payload, metadata, correlation_id, causation_id, created_at, appended_at
)
SELECT
    gen_random_uuid(), 'benchmark.topic_ordered', 1, CASE WHEN n %% %s = 0 THEN %s ELSE 'others' END,
    '{"course_name": "c1", "user_id": "u1"}', '{}', gen_random_uuid(), gen_random_uuid(), now(), now() - interval '30 days'
FROM generate_series(1, %s) AS s(n)
RETURNING position
"""
ENTRIES = """
INSERT INTO ccc_message_key_pairs (key_pair, shape, position)
SELECT md5(name || n %% size)::uuid, 5, n
FROM generate_series(%s::bigint, %s::bigint) AS s(n), (VALUES ('a', 1000), ('b', 1000000)) AS pair(name, size)
"""


def fill(topic: str, count: int, *, between: int = 0) -> None:
    """So many old messages of a topic with two entries each, and as many others between them."""
    from django.db import connection

    from ccc_django import topics

    topics.configure(topic, semantics=topics.PUB_SUB, retention=RETENTION)
    with connection.cursor() as cursor:
        total = count * (1 + between)
        cursor.execute(
            f"WITH made AS ({MESSAGES}) SELECT min(position), max(position) FROM made", [1 + between, topic, total]
        )
        cursor.execute(ENTRIES, cursor.fetchone())


def finish(topic: str) -> None:
    """A group has done all of it."""
    from ccc_django import topics

    topics.subscribe(topic, group=f"done-{topic}", mode="new")


def prune(topic: str, expected: int) -> float:
    """Prune a topic as a sweep does; the seconds that the longest journey took."""
    from django.db import connection, reset_queries

    from ccc_django import topics

    reset_queries()
    connection.force_debug_cursor = True
    try:
        [said] = topics.prune(topic)
        assert said.count == expected, said
        return max(float(query["time"]) for query in connection.queries)
    finally:
        connection.force_debug_cursor = False


def delete_plainly(topic: str, *, is_lazy: bool, between: int) -> None:
    """The same rows, by the range of positions that they are in; between others, entries by a join with the messages."""
    from django.db import connection, transaction

    with connection.cursor() as cursor:
        cursor.execute("SELECT min(position), max(position) FROM ccc_messages WHERE topic = %s", [topic])
        first, last = cursor.fetchone()
        entries = "DELETE FROM ccc_message_key_pairs WHERE position >= %s AND position < %s"
        if between:
            entries += " AND position IN (SELECT position FROM ccc_messages WHERE topic = %s AND position >= %s AND position < %s)"
        step = BATCH * (1 + between)
        for start in range(first, last + 1, step):
            bounds = [start, start + step]
            with transaction.atomic():
                if is_lazy:
                    cursor.execute("SET LOCAL synchronous_commit = off")
                cursor.execute(entries, [*bounds, topic, *bounds] if between else bounds)
                messages = "DELETE FROM ccc_messages WHERE topic = %s AND position >= %s AND position < %s"
                cursor.execute(messages, [topic, *bounds])


def empty() -> None:
    """Nothing is left of a round."""
    from ccc_django import testing

    testing.clear()


def plain_deliveries(topic: str) -> Callable[[int], None]:
    """Deliveries of a topic by INSERT … SELECT, so many a commit."""
    from django.db import connection

    def work(size: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute("DROP TABLE IF EXISTS plain_deliveries")
            cursor.execute("CREATE TABLE plain_deliveries (LIKE ccc_deliveries INCLUDING ALL)")
            after = 0
            while after is not None:
                cursor.execute(
                    "WITH made AS (INSERT INTO plain_deliveries (group_topic_id, position) SELECT 1, position FROM ccc_messages"
                    " WHERE topic = %s AND position > %s ORDER BY position LIMIT %s RETURNING position)"
                    " SELECT max(position) FROM made",
                    [topic, after, size],
                )
                [after] = cursor.fetchone()

    return work


def check_deliveries(group: str, expected: int) -> None:
    """Each message has one."""
    from ccc_django.models import Delivery

    assert Delivery.objects.filter(group_topic__group__name=group).count() == expected


def raw_reader(cursor: Any, topic: str, limit: int) -> Callable[[], None]:
    """Select what comes next, parse it, update an offset; each statement is a commit."""
    cursor.execute("CREATE TABLE IF NOT EXISTS raw_sessions (id int PRIMARY KEY, position bigint NOT NULL)")
    cursor.execute("INSERT INTO raw_sessions VALUES (%s, 0) ON CONFLICT (id) DO UPDATE SET position = 0", [limit])
    select = (
        "SELECT position, message_id, message_type, payload::text, metadata::text, appended_at FROM ccc_messages"
        " WHERE topic = %s AND position > %s ORDER BY position LIMIT %s"
    )
    at = [0]

    def work() -> None:
        rows = cursor.execute(select, [topic, at[0], limit]).fetchall()
        assert len(rows) == limit
        found = [(row[0], json.loads(row[3]), json.loads(row[4])) for row in rows]
        at[0] = found[-1][0]
        cursor.execute("UPDATE raw_sessions SET position = %s WHERE id = %s", [at[0], limit])

    return work


def session_reader(topic: str, commit: str, limit: int) -> Callable[[], None]:
    """Poll, and commit."""
    from ccc_django import sessions

    session = sessions.open(topic, consumer_id=f"reader-{commit}-{limit}", commit=commit)

    def work() -> None:
        assert len(session.poll_many(limit)) == limit
        session.commit()

    return work
