"""manage.py ccc_topics: prune and backfill, in a terminal and in a pipe."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from ccc_django import testing, topics
from ccc_django.models import Delivery, StoredMessage, Topic
from tests.commands.driving import example, in_pipe, in_terminal
from tests.retaining import age
from tests.topics.orders import TOPIC, channel, handled, published

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def orders() -> str:
    """A topic with four old messages, of which one group has done all and another none; and two others."""
    testing.clear()
    channel(retention=timedelta(days=7))
    topics.subscribe(TOPIC, group="email")
    published("a", "b")
    handled("email")
    topics.subscribe(TOPIC, group="stats", mode="new")
    published("c", "d")
    handled("email")
    age(days=30)
    channel("images", retention=timedelta(hours=36))
    channel("kept")
    return TOPIC


def called(*arguments: str) -> str:
    out = StringIO()
    call_command("ccc_topics", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_a_dry_run_shows_counts_and_the_oldest_kept_by_topic(orders):
    shown = in_pipe("ccc_topics", "prune", "--dry-run")
    assert (shown.code, shown.err) == (0, "")
    example("ccc_topics_prune", "ccc_topics prune --dry-run", shown.out)
    assert [line.split() for line in shown.out.splitlines()] == [
        ["topic", "retention", "would", "be", "pruned", "oldest", "kept", "age", "held", "by"],
        ["images", "-", "0", "-", "-", "-"],
        ["orders.events", "7", "d", "2", "3", "30", "d", "stats"],
    ]
    assert StoredMessage.objects.count() == 4


def test_pruning_is_asked_for_and_done(orders):
    asked = in_terminal("ccc_topics", orders, "--prune", keys="n\n")
    assert asked.code == 1
    assert "Will be deleted for good: 2 messages of orders.events, which keeps them for 7 d." in asked.out
    assert StoredMessage.objects.count() == 4
    unasked = in_pipe("ccc_topics", "prune")
    assert (unasked.code, "Say --yes" in unasked.err) == (1, True)
    assert StoredMessage.objects.count() == 4
    done = in_terminal("ccc_topics", "prune", "--yes")
    assert done.code == 0
    assert "prune" in done.out
    assert StoredMessage.objects.count() == 2
    again = json.loads(called("prune", "--yes", "--json"))
    assert [(each["topic"], each["count"], each["oldest_kept"]) for each in again] == [
        ("images", 0, None),
        (orders, 0, 3),
    ]
    assert again[1]["held_by"] == ["stats"]


def test_a_topic_called_prune_is_a_topic(orders):
    channel("prune", retention=timedelta(days=1))
    assert [each["topic"] for each in json.loads(called("prune", "--json"))] == ["prune"]
    assert [each["topic"] for each in json.loads(called("prune", "--prune", "--dry-run", "--json"))] == ["prune"]


def test_where_everything_is_kept_it_says_how_it_would_not_be():
    testing.clear()
    channel()
    assert "--retention 7d" in called("prune", "--dry-run")
    with pytest.raises(CommandError, match="There is no topic"):
        called("prune", "nowhere", "--dry-run")
    with pytest.raises(CommandError, match=r"--dry-run belongs to --prune"):
        called(TOPIC, "--delete", "--dry-run")


def test_how_long_messages_are_kept_is_configured(orders):
    called(orders, "--configure", "--unsubscribed-retention", "90d", "--keep-partial", "365d", "--yes")
    topic = Topic.objects.get(name=orders)
    assert (topic.unsubscribed_retention, topic.keep_partial) == (timedelta(days=90), timedelta(days=365))
    called(orders, "--configure", "--unsubscribed-retention", "forever", "--yes")
    assert Topic.objects.get(name=orders).unsubscribed_retention is None


def test_what_a_group_has_lost_is_shown(orders):
    topics.cancel(orders, group="stats")
    topics.prune()
    listed = called(orders)
    assert "lost" in listed
    assert "3 to 4" in listed
    [group] = [each for each in json.loads(called(orders, "--json"))[0]["groups"] if each["group"] == "stats"]
    assert (group["lost_from"], group["lost_to"]) == (3, 4)


def test_a_backfill_is_made_here_and_now(orders):
    topics.subscribe(orders, group="late", mode="all")
    done = in_terminal("ccc_topics", orders, "--backfill", "--group", "late")
    assert done.code == 0
    assert "late, orders.events: everything up to 4 is open work, or done." in done.out
    assert Delivery.objects.filter(group_topic__group__name="late").count() == 4
    state = json.loads(called(orders, "--backfill", "--group", "late", "--rate", "500", "--json"))
    assert (state["position"], state["upto"], state["rate"]) == (4, 4, 500)
    assert topics.backfill_status(orders, group="late").rate == 500
    called(orders, "--backfill", "--group", "late", "--rate", "0")
    assert topics.backfill_status(orders, group="late").rate is None


def test_a_backfill_is_cancelled_after_a_look(orders):
    topics.subscribe(orders, group="late", mode="all")
    asked = in_terminal("ccc_topics", orders, "--cancel-backfill", "--group", "late", keys="n\n")
    assert "late passes over what was in topic orders.events before it came" in asked.out
    assert called(orders, "--cancel-backfill", "--group", "late", "--yes") == "Done: 4 open passed over.\n"
    assert handled("late") == []


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["--backfill"], "Name one topic to backfill"),
        ([TOPIC, "--backfill"], "Say which group: --backfill --group NAME"),
        ([TOPIC, "--cancel-backfill"], "Say which group"),
        ([TOPIC, "--backfill", "--group", "nobody"], "nobody does not get"),
        ([TOPIC, "--backfill", "--group", "email", "--rate", "fast"], "a number of messages a second"),
        ([TOPIC, "--backfill", "--group", "email", "--rate", "-1"], "a number of messages a second"),
    ],
)
def test_what_cannot_be_is_said_in_a_line(orders, arguments, advice):
    with pytest.raises(CommandError, match=advice):
        called(*arguments)
