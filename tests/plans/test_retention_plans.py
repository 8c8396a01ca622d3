"""Plans: pruning and sessions read their own part of the log, whatever statistics there are."""

import json
import re

import pytest
from django.db import connection

from ccc_django import sessions, store, testing, topics
from tests.plans.test_group_plans import explained, planned
from tests.topics.orders import TOPIC, OrderCreated, channel

pytestmark = pytest.mark.django_db(transaction=True)

ROWS = 40_000
TABLES = ["ccc_messages", "ccc_message_key_pairs", "ccc_dead_letters", "ccc_deliveries"]
MIDDLE = ROWS // 2
READ_BY_SESSIONS = {"next_of_topic", "first_of_topic", "session_state", "move_session"}
SPARSE = 50  # every so many messages one is of the topic


def fill(first: int, upto: int) -> None:
    for start in range(first, upto, 2_000):
        batch = range(start, start + 2_000)
        store.append([OrderCreated(order_id=str(n), topic="rest" if n % SPARSE else TOPIC) for n in batch])


def calls() -> dict[str, tuple[dict[str, object], int]]:
    """Statements in the middle of everything, each with the pages that it may touch; the log has thousands."""
    kept = {"kept_types": [], "kept_shapes": [], "age": -1.0, "partial_age": 1e9}
    between = {"after": MIDDLE, "upto": MIDDLE + 500}  # ten of the topic, or five hundred of the rest
    sparse, dense = {"topic": TOPIC, **between, **kept}, {"topic": "rest", **between, **kept}
    loss = {"first": 1, "every": True, "types": [], "shapes": [1], "place": 1, "watermark": 0, "is_shared": True}
    next_ones = {"after": MIDDLE, "upto": 10**9, "most": 10}
    return {
        "part_of_topic": ({"topic": TOPIC, **next_ones}, 40),
        "first_of_topic": ({"topic": TOPIC, "after": MIDDLE}, 20),
        "next_of_topic": ({"topic": TOPIC, "after": MIDDLE, "most": 10}, 40),
        "old_of_topic": ({"topic": TOPIC, "age": 1.0, **between}, 60),
        "count_prunable": (sparse, 60),
        "prune_messages sparse": (sparse | {"listed": True}, 120),
        "prune_messages dense": (dense | {"listed": False}, 1_600),
        "prune_messages with shapes": (dense | {"listed": False, "kept_shapes": [1]}, 6_000),
        "foreseen_loss": (sparse | loss, 100),
        "prune_entries": (between, 900),
        "prune_all_entries": (between, 900),
        "prune_entries_at": ({"positions": [*range(MIDDLE, MIDDLE + 10)]}, 100),
        "lock_discarded_letters": (between, 10),
        "drop_pruned_deliveries": ({"places": [1], **between}, 10),
        "needs_of_topic": ({"topic": TOPIC, "grace": 1.0}, 60),
    }


def assert_bounded(state: str) -> None:
    for title, (parameters, limit) in calls().items():
        name = title.split()[0]
        with connection.cursor() as cursor:  # a prune turns it off, a session does not
            cursor.execute(f"SET jit = {'on' if name in READ_BY_SESSIONS else 'off'}")
        plan = explained(name, parameters)
        text = json.dumps(plan, indent=1)
        scanned = re.findall(r'"Node Type": "Seq Scan",[^}]*?"Relation Name": "(\w+)"', text)
        assert not {"ccc_messages", "ccc_message_key_pairs"}.intersection(scanned), f"{state}, {title}: {text}"
        assert "ccc_messages_appended" not in text, f"{state}, {title}: the index on the time has the whole log: {text}"
        touched = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        assert touched < limit, f"{state}, {title}: {touched} pages: {text}"


@pytest.mark.postgres
def test_every_statement_of_a_prune_and_of_a_session_reads_its_own_part():
    testing.clear()
    channel()
    topics.subscribe(TOPIC, group="email")
    sessions.open(TOPIC, consumer_id="me").close()
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
        fill(0, 4_000)
        cursor.execute(f"ANALYZE {', '.join(TABLES)}")
        fill(4_000, ROWS)
        assert_bounded("stale statistics")
        cursor.execute(f"ANALYZE {', '.join(TABLES)}")
        assert_bounded("fresh statistics")
        cursor.execute("DELETE FROM pg_statistic WHERE starelid::regclass::text LIKE 'ccc_%'")
        cursor.execute("UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE relname = ANY (%s)", [TABLES])
        assert_bounded("no statistics")
        for table in TABLES:
            cursor.execute(f"ALTER TABLE {table} RESET (autovacuum_enabled)")
        cursor.execute("RESET jit")


SQLITE = {
    "part_of_topic": ["ccc_messages_topic (topic=? AND position>? AND position<?)"],
    "first_of_topic": ["ccc_messages_topic (topic=? AND position>?)"],
    "next_of_topic": ["ccc_messages_topic (topic=? AND position>?)"],
    "old_of_topic": ["(topic=? AND position>? AND position<?)"],
    "prune_messages": ["(topic=? AND position>? AND position<?)", "ccc_dead_letters_position", "(position=?)"],
    "count_prunable": ["(topic=? AND position>? AND position<?)", "ccc_dead_letters_position"],
    "prune_entries": ["ccc_message_key_pairs_position (position>? AND position<?)"],
    "prune_all_entries": ["ccc_message_key_pairs_position (position>? AND position<?)"],
    "prune_entries_at": ["ccc_message_key_pairs_position (position=?)"],
    "lock_discarded_letters": ["ccc_dead_letters_position"],
    "needs_of_topic": ["ccc_group_topics_by_topic", "ccc_offsets_open"],
}


@pytest.mark.sqlite
def test_every_statement_of_a_prune_and_of_a_session_searches_by_index_on_sqlite():
    testing.clear()
    channel()
    fill(0, 6_000)
    for name, used in SQLITE.items():
        plan = planned(name)
        assert not [line for line in plan if re.match(r"SCAN (ccc_messages|message|entry|letter)\b", line)], plan
        assert all(any(index in line for line in plan) for index in used), (name, plan)
