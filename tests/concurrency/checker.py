"""Checker: whether every partition got what belongs to it, from the tables and the workers' own journals alone.

It shares no code with the package: the rule of what belongs where is written here once more.
"""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from django.db import connection


@dataclass(frozen=True)
class Batch:
    """What a worker wrote down: before and after it claimed, and just before it acked."""

    worker: str
    backend: int
    partition: str
    positions: list[int]
    asked_at: float
    claimed_at: float
    ended_at: float
    is_acked: bool


def check(folder: Path, names: Iterable[str], handled: Iterable[str], *, lease: float, group: str = "") -> list[Batch]:
    """Fail with the first rule that was broken; all batches, if none was."""
    batches, log = journals(folder), messages()
    by_partition = defaultdict(list)
    for batch in sorted(batches, key=lambda batch: batch.claimed_at):
        by_partition[batch.partition].append(batch)
    progress = offsets(group)
    assert {*partitions(log, sorted(names))} == {*progress}, "every partition was found, and no other"
    for partition, last in progress.items():
        expected = [
            position
            for position, message_type, payload in log
            if message_type in {*handled} and belongs(payload, json.loads(partition))
        ]
        _check_partition(partition, by_partition[partition], expected, last)
        _check_one_at_a_time(by_partition[partition], lease)
    return batches


def _check_partition(partition: str, batches: list[Batch], expected: list[int], last: int) -> None:
    delivered = {position for batch in batches for position in batch.positions}
    assert delivered == {*expected}, f"{partition}: all that belongs to it, and nothing else"
    assert not expected or last >= expected[-1], f"{partition}: everything was acked"
    acked = [position for batch in batches if batch.is_acked for position in batch.positions]
    assert acked == sorted({*acked}), f"{partition}: in order, and none acked twice"
    for batch in batches:
        first = expected.index(batch.positions[0])
        assert batch.positions == expected[first : first + len(batch.positions)], f"{partition}: nothing was skipped"
    for before, after in pairwise([batch for batch in batches if batch.is_acked]):
        between = [batch for batch in batches if before.ended_at < batch.claimed_at <= after.claimed_at]
        assert all(batch.positions[0] > before.positions[-1] for batch in between), f"{partition}: never after its ack"


def _check_one_at_a_time(batches: list[Batch], lease: float) -> None:
    """Who claims after another does so after the other's ack, or after its lease, whoever of them was killed."""
    for before, after in pairwise(batches):
        over = before.asked_at + lease
        free_at = before.ended_at if before.is_acked else min(over, before.ended_at or over)
        assert after.claimed_at >= free_at, f"{before} and {after} held it at one time"


def journals(folder: Path) -> list[Batch]:
    """All batches of all workers; a worker that was killed may have left half a line."""
    batches = []
    for path in filter(Path.is_file, folder.iterdir()):
        lines = [json.loads(line) for line in path.read_text().splitlines() if line.endswith("]")]
        acked = {number for kind, number, *_ in lines if kind == "acked"}
        ended = {number: rest[0] for kind, number, *rest in lines if kind == "acking"}
        for kind, number, *rest in lines:
            if kind == "claimed":
                batches.append(Batch(path.name, *rest, ended.get(number, 0.0), number in acked))
    return batches


def belongs(payload: dict[str, Any], values: dict[str, Any]) -> bool:
    """For every attribute that the message carries its value is the partition's, and it carries one at least."""
    carried = [name for name in values if name in payload]
    return bool(carried) and all(payload[name] == values[name] for name in carried)


def partitions(log: list[tuple[int, str, dict[str, Any]]], names: list[str]) -> set[str]:
    """The partitions that messages with all attributes make."""
    full = [payload for _, _, payload in log if all(name in payload for name in names)]
    return {json.dumps({name: payload[name] for name in names}, separators=(",", ":")) for payload in full}


def messages() -> list[tuple[int, str, dict[str, Any]]]:
    """The log, by plain SQL."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT position, message_type, payload FROM ccc_messages ORDER BY position")
        rows = cursor.fetchall()
    return [(position, kind, json.loads(text) if isinstance(text, str) else text) for position, kind, text in rows]


def offsets(group: str) -> dict[str, int]:
    """How far each partition of a group is, or of the only one, by plain SQL."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT partition_key, last_position
            FROM ccc_offsets JOIN ccc_consumer_groups ON ccc_consumer_groups.id = group_id
            WHERE name = %s OR %s = ''
            """,
            [group, group],
        )
        return dict(cursor.fetchall())
