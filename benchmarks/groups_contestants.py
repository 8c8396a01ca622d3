"""Who consumes: our groups, the seed's own SQL, and raw loops over a table of jobs and over offsets."""

import json
from collections.abc import Callable
from typing import Any

from benchmarks.measuring import say
from ccc_django import Event

HANDLED = ("benchmark.group_joined", "benchmark.group_closed")
NAMES = ["course_name", "user_id"]
USERS = 10  # partitions of a course


class Joined(Event, type="benchmark.group_joined"):
    """Names its partition in full."""

    course_name: str
    user_id: str


class Closed(Event, type="benchmark.group_closed"):
    """Concerns all partitions of a course."""

    course_name: str


def joined(number: int) -> Joined:
    """The message of one partition."""
    return Joined(course_name=f"c{number // USERS}", user_id=f"u{number}")


def fill(group: str, first: int, upto: int) -> None:
    """A message for each partition, and all of them open work."""
    from ccc_django import groups, store

    for start in range(first, upto, 10_000):
        store.append([joined(number) for number in range(start, min(start + 10_000, upto))])
        while groups.advance(group):
            pass
        if start % 100_000 == 0:
            say(f"filled {start:,}")


def cycle(group: str) -> None:
    """Claim, fetch, ack."""
    from ccc_django import groups

    claim = groups.claim_next(group, worker="w")
    assert claim is not None
    groups.ack(claim)


def merged_cycle(group: str) -> Callable[[], None]:
    """The ack of one claim travels with the next."""
    from ccc_django import groups

    held: list[Any] = [None]

    def work() -> None:
        held[0] = groups.claim_next(group, worker="w", ack=held[0])
        assert held[0] is not None

    return work


def raw_loop(cursor: Any, rows: int) -> Callable[[], None]:
    """Claim one row, commit, mark it done, commit."""
    skip = "" if is_sqlite(cursor) else "FOR UPDATE SKIP LOCKED"
    cursor.execute("DROP TABLE IF EXISTS raw_jobs")
    cursor.execute("CREATE TABLE raw_jobs (id bigint PRIMARY KEY, state int NOT NULL)")
    cursor.execute("CREATE INDEX raw_jobs_ready ON raw_jobs (id) WHERE state = 0")
    cursor.execute(f"INSERT INTO raw_jobs SELECT n, 0 FROM {series(cursor, rows)}")
    claim = f"UPDATE raw_jobs SET state = 1 WHERE id = (SELECT id FROM raw_jobs WHERE state = 0 ORDER BY id LIMIT 1 {skip}) RETURNING id"
    done = f"UPDATE raw_jobs SET state = 2 WHERE id = {mark(cursor)}"

    def work() -> None:
        [(id,)] = cursor.execute(claim).fetchall()
        cursor.execute(done, [id])

    return work


def raw_offset_loop(cursor: Any, rows: int, batch: int) -> Callable[[], None]:
    """The next messages of a partition by its offset, each payload as a dictionary; then the offset moves on."""
    at = mark(cursor)
    cursor.execute("DROP TABLE IF EXISTS raw_messages")
    cursor.execute("DROP TABLE IF EXISTS raw_offsets")
    cursor.execute(
        "CREATE TABLE raw_messages (position bigint PRIMARY KEY, partition text NOT NULL, payload text NOT NULL)"
    )
    cursor.execute("CREATE INDEX raw_messages_partition ON raw_messages (partition, position)")
    cursor.execute("CREATE TABLE raw_offsets (partition text PRIMARY KEY, last bigint NOT NULL)")
    payload = json.dumps({"course_name": "c1", "user_id": "u1"})
    cursor.execute(f"INSERT INTO raw_messages SELECT n, 'p', {at} FROM {series(cursor, rows)}", [payload])
    cursor.execute("INSERT INTO raw_offsets VALUES ('p', 0)")
    read = f"""
        SELECT position, payload FROM raw_messages
        WHERE partition = {at} AND position > (SELECT last FROM raw_offsets WHERE partition = {at})
        ORDER BY position LIMIT {batch}
    """
    move = f"UPDATE raw_offsets SET last = {at} WHERE partition = {at}"

    def work() -> None:
        found = [(position, json.loads(text)) for position, text in cursor.execute(read, ["p", "p"]).fetchall()]
        cursor.execute(move, [found[-1][0] if len(found) == batch else 0, "p"])

    return work


SEED_TABLES = """
CREATE TABLE seed_messages (position bigint PRIMARY KEY, message_id text, message_type text, payload text, metadata text, created_at text);
CREATE TABLE seed_key_pairs (id bigint PRIMARY KEY, name text NOT NULL, value text NOT NULL, UNIQUE (name, value));
CREATE TABLE seed_message_key_pairs (message_position bigint, key_pair_id bigint, PRIMARY KEY (message_position, key_pair_id));
CREATE INDEX seed_by_key_pair ON seed_message_key_pairs (key_pair_id, message_position);
CREATE TABLE seed_offsets (
    id bigint PRIMARY KEY, consumer_group_id bigint, partition_key text, last_position bigint DEFAULT 0, claimed int DEFAULT 0,
    claimed_at text, claimed_by text, UNIQUE (consumer_group_id, partition_key)
);
CREATE TABLE seed_offset_key_pairs (offset_id bigint, key_pair_id bigint, PRIMARY KEY (offset_id, key_pair_id));
"""
SEED_ROWS = """
INSERT INTO seed_messages SELECT n, 'id' || n, 'benchmark.group_joined', '{{}}', '{{}}', '' FROM {series};
INSERT INTO seed_key_pairs SELECT n, 'user_id', 'u' || n FROM {series};
INSERT INTO seed_key_pairs SELECT 10000000 + n, 'course_name', 'c' || n FROM {courses};
INSERT INTO seed_message_key_pairs SELECT n, n FROM {series};
INSERT INTO seed_message_key_pairs SELECT n, 10000000 + (n - 1) / 10 + 1 FROM {series};
INSERT INTO seed_offsets (id, consumer_group_id, partition_key) SELECT n, 1, 'p' || n FROM {series};
INSERT INTO seed_offset_key_pairs SELECT n, n FROM {series};
INSERT INTO seed_offset_key_pairs SELECT n, 10000000 + (n - 1) / 10 + 1 FROM {series}
"""
SEED_FIND = """
SELECT o.id AS offset_id, o.partition_key, o.last_position, MIN(m.position) AS next_position
FROM seed_offsets o
JOIN seed_offset_key_pairs okp ON o.id = okp.offset_id
JOIN seed_message_key_pairs mkp ON okp.key_pair_id = mkp.key_pair_id
JOIN seed_messages m ON mkp.message_position = m.position
WHERE o.consumer_group_id = 1 AND o.claimed = 0 AND m.position > o.last_position
  AND m.message_type IN ('benchmark.group_joined', 'benchmark.group_closed')
GROUP BY o.id, o.partition_key, o.last_position
ORDER BY next_position ASC
LIMIT 1
"""
SEED_FETCH = """
SELECT DISTINCT m.position, m.message_id, m.message_type, m.payload, m.metadata, m.created_at
FROM seed_messages m
WHERE m.position > {last} AND m.message_type IN ('benchmark.group_joined', 'benchmark.group_closed')
  AND EXISTS (
    SELECT 1 FROM seed_message_key_pairs mkp WHERE mkp.message_position = m.position AND mkp.key_pair_id IN ({first}, {second})
  )
  AND (
    SELECT COUNT(*) FROM seed_message_key_pairs mkp WHERE mkp.message_position = m.position AND mkp.key_pair_id IN ({first}, {second})
  ) = (
    SELECT COUNT(DISTINCT kp_part.name)
    FROM seed_message_key_pairs mkp2
    JOIN seed_key_pairs kp_msg ON mkp2.key_pair_id = kp_msg.id
    JOIN seed_key_pairs kp_part ON kp_part.id IN ({first}, {second}) AND kp_part.name = kp_msg.name
    WHERE mkp2.message_position = m.position
  )
ORDER BY m.position ASC
"""


def seed_cycle(cursor: Any, partitions: int) -> Callable[[], None]:
    """The seed's own statements over tables of its own; its discovery, which runs at every claim, is left out."""
    for text in SEED_TABLES.split(";")[:-1]:
        cursor.execute(text)
    rows = SEED_ROWS.format(series=series(cursor, partitions), courses=series(cursor, partitions // 10 + 1))
    for text in rows.split(";"):
        cursor.execute(text)
    cursor.execute("ANALYZE")
    at = mark(cursor)

    def work() -> None:
        [(offset, _, last, _)] = cursor.execute(SEED_FIND).fetchall()
        cursor.execute(
            f"UPDATE seed_offsets SET claimed = 1, claimed_at = 'now', claimed_by = 'w' WHERE id = {at} AND claimed = 0",
            [offset],
        )
        pairs = [
            row[0]
            for row in cursor.execute(
                f"SELECT key_pair_id FROM seed_offset_key_pairs WHERE offset_id = {at}", [offset]
            ).fetchall()
        ]
        fetch = SEED_FETCH.format(last=last, first=pairs[0], second=pairs[1])
        found = cursor.execute(fetch).fetchall()
        position = found[-1][0] if found else last + partitions
        cursor.execute(
            f"UPDATE seed_offsets SET last_position = {at}, claimed = 0, claimed_at = NULL, claimed_by = NULL WHERE consumer_group_id = 1 AND id = {at}",
            [position, offset],
        )

    return work


def is_sqlite(cursor: Any) -> bool:
    """Whether this is a cursor of Python's own SQLite."""
    return type(cursor).__module__.startswith("sqlite3")


def mark(cursor: Any) -> str:
    """A place for a parameter."""
    return "?" if is_sqlite(cursor) else "%s"


def series(cursor: Any, upto: int) -> str:
    """Numbers from 1 on, as n."""
    if is_sqlite(cursor):
        return (
            f"(WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < {upto}) SELECT n FROM s) AS s"
        )
    return f"generate_series(1, {upto}) AS s(n)"
