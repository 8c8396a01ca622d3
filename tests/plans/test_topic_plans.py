"""Plans: what shared groups do reads bounded ranges of indexes, among many messages, whatever statistics there are."""

import json
import re

import pytest
from django.db import connection

from ccc_django import groups, store, testing, topics
from ccc_django.groups import looking
from ccc_django.models import ConsumerGroup, Delivery, GroupTopic
from tests.plans.test_group_plans import explained, planned
from tests.topics.orders import TOPIC, OrderCreated, channel

pytestmark = pytest.mark.django_db(transaction=True)

ROWS = 40_000
BOUND = 150  # pages; a statement that walks over everything touches thousands
TABLES = ["ccc_messages", "ccc_deliveries", "ccc_group_topics", "ccc_topic_subscriptions"]
BIG = {"ccc_messages", "ccc_deliveries"}
BEGINNING = {"floor_epoch": 0, "floor_position": 0, "floor_id": 0}


def fill(first: int, upto: int) -> None:
    """Every second message is of the topic; the group has all of them open, but for the last thousand."""
    for start in range(first, upto, 2_000):
        store.append(
            [OrderCreated(order_id=str(n), topic=TOPIC if n % 2 else "other") for n in range(start, start + 2_000)]
        )
    while GroupTopic.objects.get().watermark < upto - 2_000:
        claimed = groups.claim_next("g", worker="w", limit=1)
        groups.release(claimed)
        looking.forget()


@pytest.fixture
def subscribed() -> None:
    testing.clear()
    channel()
    topics.subscribe(TOPIC, group="g")


def calls() -> dict[str, dict[str, object]]:
    """Every statement of a shared group's flow, in the middle of everything."""
    group, place = ConsumerGroup.objects.get(), GroupTopic.objects.get()
    middle = Delivery.objects.order_by("position")[Delivery.objects.count() // 2].position
    fence = {"places": [place.pk], "positions": [middle], "token": 0, "epoch": group.epoch, "group": group.pk}
    claim = {"name": "g", "topic": "", "worker": "w", "lease": 60.0, "limit": 50, "lazy": False}
    floor = {"floor_epoch": group.epoch, "floor_position": middle, "floor_id": 0}
    return {
        "look_at_shared_group": {"name": "g", "topic": "", **BEGINNING},
        "claim_deliveries": {**claim, **floor, "look_for_late": False},
        "claim_deliveries from the beginning": {**claim, **BEGINNING, "look_for_late": True},
        "expand_topics": {"group": group.pk, "types": [], "every": True, "upto": 10**9, "most": 10},
        "ack_deliveries": fence,
        "release_deliveries": {**fence, "paused": True, "pause": 1.0, "attempts": 1, "error": "no"},
        "renew_deliveries": {**fence, "lease": 60.0},
        "free_deliveries": {name: fence[name] for name in ("places", "positions", "token")},
        "topic_health": {"topics": [TOPIC], "every": False, "head": 10**9, "most": 20},
        "shared_status": {"names": ["g"], "every": False, "head": 10**9, "most": 20},
    }


def assert_bounded(state: str) -> None:
    for title, parameters in calls().items():
        plan = explained(title.split()[0], parameters)
        text = json.dumps(plan, indent=1)
        scanned = re.findall(r'"Node Type": "Seq Scan",[^}]*?"Relation Name": "(\w+)"', text)
        assert not BIG.intersection(scanned), f"{state}, {title}: {text}"
        touched = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
        limit = 6 * BOUND if "deliveries" in title and "claim" in title else BOUND  # fifty rows are read and written
        assert touched < limit, f"{state}, {title}: {touched} pages: {text}"
        if title.startswith("claim_deliveries"):
            assert "ccc_deliveries_ready" in text, f"{state}: {text}"


@pytest.mark.postgres
@pytest.mark.usefixtures("subscribed")
def test_every_statement_of_a_shared_group_reads_bounded_ranges():
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"ALTER TABLE {table} SET (autovacuum_enabled = off)")
        fill(0, 4_000)
        cursor.execute(f"ANALYZE {', '.join(TABLES)}")
        fill(4_000, ROWS)
        assert Delivery.objects.count() > ROWS / 2 - 2_000
        assert_bounded("stale statistics")
        cursor.execute(f"ANALYZE {', '.join(TABLES)}")
        assert_bounded("fresh statistics")
        cursor.execute("DELETE FROM pg_statistic WHERE starelid::regclass::text LIKE 'ccc_%'")
        cursor.execute("UPDATE pg_class SET reltuples = -1, relpages = 0 WHERE relname = ANY (%s)", [TABLES])
        assert_bounded("no statistics")
        for table in TABLES:
            cursor.execute(f"ALTER TABLE {table} RESET (autovacuum_enabled)")


SQLITE = {
    "look_at_shared_group": ["ccc_messages_topic", "ccc_deliveries_ready", "ccc_deliveries_blocked"],
    "open_deliveries": ["ccc_deliveries_ready", "ccc_deliveries_blocked"],
    "positions_of_topic": ["ccc_messages_topic", "topic=? AND position>?"],
    "ack_deliveries": ["group_topic_id=? AND position=?"],
    "release_deliveries": ["group_topic_id=? AND position=?"],
    "renew_deliveries": ["group_topic_id=? AND position=?"],
    "free_deliveries": ["group_topic_id=? AND position=?"],
}


@pytest.mark.sqlite
@pytest.mark.usefixtures("subscribed")
def test_every_statement_of_a_shared_group_searches_by_index_on_sqlite():
    fill(0, 6_000)
    for name, used in SQLITE.items():
        plan = planned(name)
        assert not [
            line for line in plan if re.match(r"SCAN (ccc_messages|ccc_deliveries|delivery|ready|late)\b", line)
        ], plan
        assert all(any(index in line for line in plan) for index in used), (name, plan)
