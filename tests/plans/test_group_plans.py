"""Plans: what groups do reads bounded ranges of indexes, among many partitions, whatever statistics there are."""

import json
import re
from itertools import count

import pytest
from django.db import connection, transaction

from ccc_django import Event, db, groups, store
from ccc_django.models import ConsumerGroup, Offset, Shape
from ccc_django.postgres import parameter
from ccc_django.sql import numbered, statement

pytestmark = pytest.mark.django_db(transaction=True)

ROWS = 100_000
BOUND = 150  # pages; a statement that walks over all partitions touches thousands
ADVANCE = {"carried_values", "mark_partitions", "partial_ranges", "woken_offsets", "mark_offsets"}
TABLES = "ccc_messages, ccc_message_key_pairs, ccc_key_pairs, ccc_shapes, ccc_offsets, ccc_offset_key_pairs"


class Joined(Event, type="group_plans.joined"):
    course_name: str
    user_id: str


class Closed(Event, type="group_plans.closed"):
    course_name: str


def fill(numbers, upto: int) -> None:
    """Ten partitions to a course, each with open work, and a message that concerns all of a course."""
    while (first := next(numbers)) < upto:
        rows = [Joined(course_name=f"c{n // 10}", user_id=f"u{n}") for n in range(first, first + 1_000)]
        store.append([*rows, Closed(course_name=f"c{first // 10}")])
    while groups.advance("g"):
        pass


def register() -> None:
    groups.register("g", partition_by=["course_name", "user_id"], handled_types=[Joined, Closed])


def calls() -> dict[str, dict[str, object]]:
    """Every statement of a group's flow, as it is called for one partition or a few in the middle of all of them."""
    group = ConsumerGroup.objects.get()
    offset = Offset.objects.filter(next_position__isnull=False).order_by("id")[Offset.objects.count() // 2]
    pairs = [pair.hex for pair in offset.key_pairs]
    shape = Shape.objects.filter(message_type=Closed.type).first().digest
    fence = {"id": offset.pk, "token": offset.token, "epoch": group.epoch}
    floor = {"floor_epoch": group.epoch, "floor_position": offset.next_position, "floor_id": offset.pk}
    claim = {"name": "g", "worker": "w", "lease": 60.0}
    ids = list(Offset.objects.filter(pk__gte=offset.pk).order_by("pk").values_list("pk", flat=True)[:5])
    middle = offset.next_position
    return {
        "look_at_group": {"name": "g", **floor},
        "claim_partition": {**claim, **floor, "look_for_late": False, "lazy": False},
        "claim_partition from the beginning": {
            **claim, "floor_epoch": 0, "floor_position": 0, "floor_id": 0, "look_for_late": True, "lazy": True,
        },
        "fetch_partition": {
            "types": group.handled_types, "names": group.partition_by, "pairs": pairs,
            "after": offset.last_position, "upto": offset.head_position, "most": 101,
        },
        "fetch_types": {"types": [Closed.type], "after": middle, "upto": 10**9, "most": 11},
        "ack_claim": {**fence, "position": middle, "known_next": None},
        "pass_claim": {**fence, "position": middle},
        "keep_claim": {**fence, "position": middle},
        "claim_named_partition": {**claim, "partition": offset.partition_id.hex, "upto": 10**9},
        "release_claim": {**fence, "paused": True, "pause": 1.0, "attempts": 1, "error": "no"},
        "renew_claim": {**fence, "lease": 60.0},
        "carried_values": {
            "after": middle - 1, "upto": 10**9, "most": 5, "names": group.partition_by, "every": True, "types": [],
            "topics": None,
        },
        "mark_partitions": {
            "group": group.pk, "last": 0, "ids": [offset.partition_id.hex], "keys": [offset.partition_key],
            "pairs": ["{" + ",".join(pairs) + "}"], "lows": [10**9], "highs": [10**9],
        },
        "partial_ranges": {"ids": ids, "shapes": [shape], "numbers": [1], "upto": 10**9},
        "woken_offsets": {
            "group": group.pk, "pairs": ["{" + pairs[0] + "}", "{" + ",".join(pairs) + "}"], "lows": [1, 1],
            "highs": [10**9, 10**9], "afters": [0, 0], "most": 10_000,
        },
        "mark_offsets": {"ids": ids, "lows": [10**9] * 5, "highs": [10**9] * 5},
    }  # fmt: skip


def explained(name: str, parameters: dict[str, object]) -> dict:
    """The generic plan with what it did, which is then undone."""
    text, names = numbered(name)
    placeholders = ", ".join(["%s"] * len(names))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        if name in ADVANCE:
            db.rows("lock_group", name="g", lazy=False)
        cursor.execute(f"PREPARE explained AS {text.replace('%', '%%')}")
        given = [None if value is None else value.decode() for value in (parameter(parameters[each]) for each in names)]
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE explained ({placeholders})", given)
        [(plan,)] = cursor.fetchall()
        cursor.execute("DEALLOCATE explained")
        transaction.set_rollback(True)
    [explanation] = json.loads(plan) if isinstance(plan, str) else plan
    assert "JIT" not in explanation, name
    return explanation["Plan"]


def assert_bounded(state: str) -> None:
    for title, parameters in calls().items():
        plan = explained(title.split()[0], parameters)
        text = json.dumps(plan, indent=1)
        scanned = re.findall(r'"Node Type": "Seq Scan",[^}]*?"Relation Name": "(\w+)"', text)
        big = {"ccc_messages", "ccc_message_key_pairs", "ccc_key_pairs", "ccc_offsets", "ccc_offset_key_pairs"}
        assert not big.intersection(scanned), f"{state}, {title}: {text}"
        touched = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        assert touched < BOUND, f"{state}, {title}: {touched} pages: {text}"
        if title.startswith("claim_partition"):
            assert "ccc_offsets_ready" in text, f"{state}: {text}"


@pytest.mark.postgres
def test_every_statement_of_a_group_reads_bounded_ranges():
    numbers = count(0, 1_000)
    with connection.cursor() as cursor:
        for table in TABLES.split(", "):
            cursor.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
        register()
        fill(numbers, 1_000)
        cursor.execute(f"ANALYZE {TABLES}")
        fill(numbers, ROWS)
        assert Offset.objects.count() >= ROWS * 0.97
        assert_bounded("stale statistics")
        cursor.execute(f"ANALYZE {TABLES}")
        assert_bounded("fresh statistics")
        cursor.execute("DELETE FROM pg_statistic WHERE starelid::regclass::text LIKE 'ccc_%'")
        cursor.execute(
            "UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE relname = ANY (%s)", [TABLES.split(", ")]
        )
        assert_bounded("no statistics")
        for table in TABLES.split(", "):
            cursor.execute(f"ALTER TABLE {table} RESET (autovacuum_enabled)")


SQLITE = {
    "look_at_group": ["ccc_offsets_ready", "ccc_offsets_blocked"],
    "claim_partition": ["ccc_offsets_ready", "ccc_offsets_blocked"],
    "matching_positions": ["key_pair=? AND shape=?"],
    "positions_of_pair": ["SEARCH entry USING", "key_pair=? AND shape=? AND position>?"],
    "positions_of_type": ["ccc_messages_type", "message_type=? AND position>?"],
    "pass_claim": ["SEARCH ccc_offsets USING INTEGER PRIMARY KEY"],
    "rank_by_entries": ["key_pair=? AND shape=?"],
    "messages_at": ["SEARCH message USING INTEGER PRIMARY KEY"],
    "ack_claim": ["SEARCH ccc_offsets USING INTEGER PRIMARY KEY"],
    "keep_claim": ["SEARCH ccc_offsets USING INTEGER PRIMARY KEY"],
    "claim_named_partition": ["group_id=? AND partition_id=?"],
    "carried_values": ["SEARCH ccc_messages USING INTEGER PRIMARY KEY", "ccc_message_key_pairs_position", "digest=?"],
    "partial_ranges": ["key_pair=? AND shape=?", "SEARCH known USING INTEGER PRIMARY KEY"],
    "woken_offsets": ["group_id=? AND key_pair=? AND offset_id>?"],
    "rank_by_partitions": ["group_id=? AND key_pair=?"],
    "new_offsets": ["SEARCH ccc_offsets USING INTEGER PRIMARY KEY"],
}


def planned(name: str) -> list[str]:
    text = re.sub(r"\s*--.*", "", statement(name, "sqlite")).replace("%%", "%")
    named = re.sub(r"%\((\w+)\)s", r":\1", text)
    given = dict.fromkeys(re.findall(r":(\w+)", named), "[]")
    connection.ensure_connection()
    return [row[3] for row in connection.connection.execute(f"EXPLAIN QUERY PLAN {named}", given)]


def assert_searched(state: str) -> None:
    """Only lists of parameters, small tables and what was found before are walked over."""
    small = re.compile(r"SCAN (\w+ VIRTUAL TABLE|sqlite_sequence|active|batch|shape|CONSTANT ROW|\(subquery-\d+\))")
    for name, used in SQLITE.items():
        plan = planned(name)
        assert [line for line in plan if line.startswith("SCAN") and not small.match(line)] == [], (state, name, plan)
        assert all(any(index in line for line in plan) for index in used), (state, name, plan)


@pytest.mark.sqlite
def test_every_statement_of_a_group_searches_by_index_on_sqlite():
    numbers = count(0, 1_000)
    register()
    with connection.cursor() as cursor:
        fill(numbers, 1_000)
        cursor.execute("ANALYZE")
        fill(numbers, ROWS)
        assert_searched("stale statistics")
        cursor.execute("ANALYZE")
        assert_searched("fresh statistics")
        cursor.execute("DELETE FROM sqlite_stat1")
        connection.close()  # a connection reads them when it is opened
        assert_searched("no statistics")
