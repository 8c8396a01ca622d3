"""Who delivers: shared groups of topics, and a raw loop that takes rows of a table of jobs and deletes them."""

import json
from collections.abc import Callable
from typing import Any

from benchmarks.measuring import say
from ccc_django import Event

BATCH = 50
PAYLOAD = {"course_name": "c1", "user_id": "u1"}
TAKE = """
UPDATE {table} SET state = 1
WHERE id = ANY (ARRAY(
    SELECT id FROM {table} WHERE state = 0 ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
))
RETURNING id, payload
"""


class Ordered(Event, type="benchmark.topic_ordered"):
    """A message that is found by two attributes, as those of the other benchmarks."""

    course_name: str
    user_id: str


def ordered() -> Ordered:
    """A new message, always with the same values."""
    return Ordered(**PAYLOAD)


def fill(topic: str, count: int) -> None:
    """Publish so many."""
    from ccc_django import topics

    for first in range(0, count, 10_000):
        topics.publish(topic, [ordered() for _ in range(min(10_000, count - first))])
        if first % 100_000 == 0:
            say(f"published {first:,} of {topic}")


def expand(group: str, *, most: int | None = None) -> None:
    """All that is in the log becomes deliveries, or so many batches of it."""
    from ccc_django.groups.expanding import expand as one_batch

    while most != 0 and one_batch(group):
        most = None if most is None else most - 1


def separate_cycle(group: str) -> Callable[[], None]:
    """Claim some messages; ack them."""
    from ccc_django import groups

    def work() -> None:
        claim = groups.claim_next(group, worker="w", limit=BATCH)
        assert claim is not None
        assert len(claim.messages) == BATCH
        groups.ack(claim)

    return work


def merged_cycle(group: str) -> Callable[[], None]:
    """The ack of one claim travels with the next, as a worker does it."""
    from ccc_django import groups

    held: list[Any] = [None]

    def work() -> None:
        held[0] = groups.claim_next(group, worker="w", limit=BATCH, ack=held[0])
        assert held[0] is not None
        assert len(held[0].messages) == BATCH

    return work


def drain(group: str) -> int:
    """Claim and ack until nothing is left; how many messages it was."""
    from ccc_django import groups

    claim, count = None, 0
    while (claim := groups.claim_next(group, worker="w", limit=BATCH, ack=claim)) is not None:
        count += len(claim.messages)
    return count


def raw_loop(table: str, rows: int, *, taker: Any, deleter: Any) -> Callable[[], None]:
    """Take some rows, commit; delete them, commit. They are two connections where one does not wait for the disk."""
    deleter.execute(f"DROP TABLE IF EXISTS {table}")
    deleter.execute(f"CREATE TABLE {table} (id bigint PRIMARY KEY, payload text NOT NULL, state int NOT NULL)")
    deleter.execute(f"CREATE INDEX {table}_ready ON {table} (id) WHERE state = 0")
    series = f"generate_series(1, {rows}) AS s(n)"
    deleter.execute(f"INSERT INTO {table} SELECT n, %s, 0 FROM {series}", [json.dumps(PAYLOAD)])
    deleter.execute(f"VACUUM ANALYZE {table}")
    take, delete = TAKE.format(table=table), f"DELETE FROM {table} WHERE id = ANY (%s)"

    def work() -> None:
        found = [(id, json.loads(payload)) for id, payload in taker.execute(take, [BATCH]).fetchall()]
        assert len(found) == BATCH
        deleter.execute(delete, [[id for id, _ in found]])

    return work
