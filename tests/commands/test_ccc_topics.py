"""manage.py ccc_topics, in a terminal and in a pipe."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from ccc_django import groups, store, testing, topics
from ccc_django.errors import ClaimLost, UnknownSubscription
from ccc_django.groups import counting
from ccc_django.management import fan_out
from ccc_django.models import Delivery, GroupTopic, StoredMessage, Topic, TopicSubscription
from tests.commands.driving import example, in_pipe, in_terminal
from tests.domain import CourseCreated, UserJoinedCourse

pytestmark = pytest.mark.django_db(transaction=True)

ORDERS = "orders.events"
AGO = timedelta(minutes=90)


def publish(count: int, topic: str = ORDERS):
    return topics.publish(topic, [CourseCreated(course_name=f"c{number}") for number in range(count)])


def claim(group: str = "email", limit: int = 1):
    return topics.claim(ORDERS, group=group, worker="w-1", limit=limit)


@pytest.fixture
def orders() -> str:
    """A topic of a shop with four messages, of which one group has done one and has one in hand."""
    testing.clear()  # so that positions are the same each time
    topics.configure(ORDERS, semantics="PUB_SUB", namespace="shop", task="orders", retention=timedelta(days=7))
    topics.subscribe(ORDERS, group="email")
    publish(4)
    groups.ack(claim())
    claim()
    counting.write()
    return ORDERS


def called(*arguments: str) -> str:
    out = StringIO()
    call_command("ccc_topics", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def record(group: str = "email", **scope: str) -> TopicSubscription:
    return TopicSubscription.objects.get(group_name=group, **scope)


def everything() -> list:
    models = (Topic, TopicSubscription, GroupTopic, Delivery)
    return [[*model.objects.order_by("pk").values()] for model in models]


# lists


def test_topics_are_shown_with_their_groups(orders):
    topics.configure("jobs")
    topics.subscribe(namespace="shop", group="audit", mode="new")
    topics.subscribe(task="invoices", group="audit")
    topics.pause(ORDERS, group="email")
    StoredMessage.objects.update(appended_at=timezone.now() - AGO)
    TopicSubscription.objects.filter(group_name="email").update(last_heartbeat_at=timezone.now() - AGO)
    listed = in_pipe("ccc_topics")
    assert (listed.code, listed.err) == (0, "")
    example("ccc_topics", "ccc_topics", listed.out)
    first, second, rest = listed.out.strip().split("\n\n")
    assert [line.split() for line in first.splitlines()] == [
        ["topic", "semantics", "namespace", "task", "retention", "groups"],
        ["jobs", "QUEUE", "-", "-", "-", "jobs"],
        ["orders.events", "PUB_SUB", "shop", "orders", "7", "d", "audit,", "email"],
    ]
    assert [line.split() for line in second.splitlines()] == [
        [
            "topic", "group", "kind", "by", "status", "mode", "lag", "pending", "processed", "oldest", "heartbeat",
        ],
        ["jobs", "jobs", "shared", "topic", "ACTIVE", "all", "0", "0", "0", "-", "-"],
        ["orders.events", "audit", "shared", "namespace", "shop", "ACTIVE", "new", "0", "0", "0", "-", "-"],
        ["orders.events", "email", "shared", "topic", "PAUSED", "all", "3", "3", "1", "1", "h", "1", "h"],
    ]  # fmt: skip
    assert rest == "Subscribed, and nothing comes by it: audit: task invoices."
    assert in_terminal("ccc_topics").out.splitlines() == listed.out.splitlines(), "the same in a terminal"


def test_scripts_get_everything_of_the_topics_they_name(orders):
    topics.configure("jobs")
    [topic] = json.loads(called(orders, "--json"))
    [group] = topic.pop("groups")
    assert topic == {
        "topic": orders, "semantics": "PUB_SUB", "namespace": "shop", "task": "orders", "retention": 7 * 86_400.0,
        "unsubscribed_retention": None, "keep_partial": None, "pruned_upto": 0,
    }  # fmt: skip
    assert group.pop("oldest_pending_age") >= 0
    assert group == {
        "topic": orders, "group": "email", "kind": "shared", "status": "ACTIVE", "mode": "all", "start": 1,
        "last_heartbeat_at": None, "lag": 3, "pending": 3, "processed": 1, "by": "topic",
        "lost_from": None, "lost_to": None,
    }  # fmt: skip
    assert [topic["topic"] for topic in json.loads(called("--json"))] == ["jobs", orders]


def test_topics_are_found_by_namespace_task_and_group(orders):
    topics.configure("jobs", namespace="shop", task="jobs")
    topics.configure("mails")
    wanted = {
        ("--namespace", "shop"): ["jobs", orders],
        ("--namespace", "shop", "--task", "jobs"): ["jobs"],
        ("--group", "email"): [orders],
        ("--group", "nobody"): [],
    }
    for options, names in wanted.items():
        assert [topic["topic"] for topic in json.loads(called(*options, "--json"))] == names
    assert called("--group", "nobody") == "There are no such topics.\n"


def test_what_waits_is_not_counted_for_ever(orders, monkeypatch):
    monkeypatch.setattr("ccc_django.topics.figures.MOST_COUNTED", 2)
    assert "2+" in called(orders).splitlines()[-1].split()


def test_without_topics_it_says_how_there_will_be_some():
    assert called() == f"{fan_out.NONE}\n"
    assert json.loads(called("--json")) == []


# configure and subscribe


def test_a_topic_is_made_without_a_question():
    made = in_pipe(
        "ccc_topics", ORDERS, "--configure", "--semantics", "pub_sub", "--namespace", "shop", "--task", "orders",
        "--retention", "36h",
    )  # fmt: skip
    assert (made.code, made.out, made.err) == (0, "orders.events is PUB_SUB.\n", "")
    topic = Topic.objects.get()
    assert (topic.namespace, topic.task, topic.retention) == ("shop", "orders", timedelta(hours=36))


def test_a_topic_is_changed_after_a_look_and_keeps_what_is_not_given(orders):
    asked = in_terminal(
        "ccc_topics", orders, "--configure", "--namespace", "sale", "--retention", "forever", keys="n\n"
    )
    assert asked.code == 1
    told = "It comes into namespace sale: who gets it by that is found anew.\nIts messages are kept for ever.\nDo it?"
    assert told in asked.out
    assert Topic.objects.get().namespace == "shop"
    called(orders, "--configure", "--namespace", "sale", "--retention", "forever", "--yes")
    topic = Topic.objects.get()
    assert (topic.namespace, topic.task, topic.retention) == ("sale", "orders", None)


def test_semantics_change_with_open_messages_by_force_alone(orders):
    topics.subscribe(orders, group="stats")
    queue = [orders, "--configure", "--semantics", "QUEUE", "--group", "email", "--yes"]
    refused = in_pipe("ccc_topics", *queue)
    assert (refused.code, refused.out) == (1, "")
    assert "stats has 4 open." in refused.err, "what is left behind is told, whoever stays"
    assert "CommandError: orders.events is publish/subscribe, and email, stats has open messages" in refused.err
    assert Topic.objects.get().semantics == "PUB_SUB"
    called(*queue, "--force")
    assert [*GroupTopic.objects.values_list("group__name", flat=True)] == ["email"]


def test_a_group_subscribes_where_it_says(orders):
    said = in_pipe("ccc_topics", orders, "--subscribe", "--group", "stats", "--mode", "latest")
    assert (said.code, said.err) == (0, "")
    assert said.out == "stats, topic orders.events: ACTIVE, from position 5 on (new).\n"
    again = json.loads(called(orders, "--subscribe", "--group", "stats", "--at", "2", "--json"))
    assert (again["mode"], again["start_position"]) == ("new", 5), "the first mode wins, and is shown"
    last = StoredMessage.objects.order_by("position").last()
    for group, options, first, mode in (
        ("third", ["--at", "3"], 3, "position"),
        ("timed", ["--at", (last.appended_at + timedelta(milliseconds=1)).isoformat()], None, "timestamp"),
        ("back", ["--mode", "new", "--lookback", "1d"], 1, "new"),
        ("plain", [], 1, "all"),
    ):
        called(orders, "--subscribe", "--group", group, *options)
        assert record(group).mode == mode
        assert first is None or record(group).start_position == first


def test_a_namespace_and_a_task_are_subscribed_to_instead_of_a_topic(orders):
    called("--subscribe", "--group", "audit", "--namespace", "shop", "--task", "orders")
    assert record("audit", namespace="shop", task="orders").places.get().topic == orders
    called("--pause", "--group", "audit", "--namespace", "shop", "--task", "orders", "--yes")
    assert record("audit").status == "PAUSED"
    with pytest.raises(CommandError, match="by its subscription to namespace shop, task orders: name that"):
        called(orders, "--resume", "--group", "audit", "--yes")


# verbs upon what is there


def test_a_pause_says_what_it_does_and_asks(orders):
    refused = in_terminal("ccc_topics", orders, "--pause", "--group", "email", keys="n\n")
    assert (refused.code, record().status) == (1, "ACTIVE")
    assert "Nothing was changed." in refused.out
    paused = in_terminal("ccc_topics", orders, "--pause", "--group", "email", keys="y\n")
    assert paused.code == 0
    told = paused.out.removeprefix("y\n")  # typed before it was asked
    assert "email gets nothing of topic orders.events until it is resumed. 3 open: it is kept.\nDo it? [y/N] " in told
    assert record().status == "PAUSED"


def test_nobody_can_be_asked_in_a_pipe(orders):
    before = everything()
    call = ["ccc_topics", orders, "--restart", "--group", "email", "--at", "1", "--apply-to", "all"]
    refused = in_pipe(*call)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.splitlines()[-1] == "CommandError: Nothing was changed: nobody can be asked here. Say --yes."
    assert everything() == before
    done = in_pipe(*call, "--yes")
    assert done.code == 0
    example("ccc_topics_restart", " ".join([*call, "--yes"]), done.err + done.out)
    assert [message.position for message in claim(limit=9).messages] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("verb", "before", "status"),
    [
        ("pause", "ACTIVE", "PAUSED"),
        ("resume", "PAUSED", "ACTIVE"),
        ("resume", "CANCELLED", "ACTIVE"),
        ("cancel", "ACTIVE", "CANCELLED"),
    ],
)
def test_a_subscription_is_steered(orders, verb, before, status):
    TopicSubscription.objects.update(status=before)
    done = json.loads(called(orders, f"--{verb}", "--group", "email", "--yes", "--json"))
    assert (done["verb"], done["status"], record().status) == (verb, status, status)
    assert done["foreseen"].startswith("email gets ")


def test_a_subscription_is_removed_with_what_was_open(orders):
    held = claim()
    assert called(orders, "--remove", "--group", "email", "--yes") == "Done.\n"
    for model in (TopicSubscription, GroupTopic, Delivery):
        assert not model.objects.exists()
    with pytest.raises(ClaimLost):
        groups.ack(held)


def test_a_restart_leaves_what_was_touched_unless_all_is_meant(orders):
    move = [orders, "--restart", "--group", "email", "--mode", "position", "--at", "4", "--yes"]
    told = json.loads(called(*move, "--json"))["foreseen"]
    assert "at position 4. What it has not touched yet begins there; the rest stays where it is. 3 open." in told
    assert record().start_position == 4
    assert claim().messages[0].position == 3, "it goes on where it stood"
    called(*move, "--apply-to", "all")
    assert claim().messages[0].position == 4


def test_what_is_old_is_given_up_for_one_group_or_for_all(orders):
    topics.subscribe(orders, group="stats")
    StoredMessage.objects.filter(position__lte=3).update(appended_at=timezone.now() - AGO)
    old = [orders, "--force-complete", "--older-than", "1h", "--yes"]
    assert called(*old, "--group", "email") == "Done: 2 open passed over.\n"
    assert json.loads(called(*old, "--json"))["passed"] == 3
    assert [claim(group, limit=9).messages[0].position for group in ("email", "stats")] == [4, 4]


def test_a_topic_with_open_messages_is_forgotten_by_force_alone(orders):
    refused = in_pipe("ccc_topics", orders, "--delete", "--yes")
    assert (refused.code, refused.out) == (1, "")
    assert "CommandError: email has open messages of orders.events." in refused.err
    assert Topic.objects.exists()
    assert called(orders, "--delete", "--force", "--yes") == "Done.\n"
    assert not Topic.objects.exists()
    assert store.head() == 4, "its messages stay"


def test_an_ordered_group_that_is_there_subscribes_like_any_other(orders):
    groups.register("courses", partition_by="course_name", handled_types=[CourseCreated, UserJoinedCourse])
    called(orders, "--subscribe", "--group", "courses", "--at", "2")
    assert claim("courses").partition_value == {"course_name": "c1"}


# what is refused


def test_a_preview_or_a_call_that_would_concern_nobody_is_refused(orders):
    with pytest.raises(UnknownSubscription, match="nobody does not get orders"):
        topics.force_complete(orders, older_than=timedelta(0), group="nobody")
    with pytest.raises(ValueError, match="say of which group"):
        topics.preview("pause", orders)
    with pytest.raises(TypeError, match="until: there is no such detail"):
        topics.preview("pause", orders, group="email", until=3)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["nothing"], 1, "There is no topic 'nothing'"),
        (["nothing", "--delete", "--yes"], 1, "There is no topic 'nothing'"),
        (["--delete", "--yes"], 2, "Name one topic to delete; 0 were named."),
        ([ORDERS, "jobs", "--configure"], 2, "Name one topic to configure; 2 were named."),
        (["--pause", "--group", "email", "--yes"], 2, "Name one topic to pause, or a --namespace, a --task or both"),
        ([ORDERS, "--pause", "--group", "email", "--task", "t"], 2, "a --namespace, a --task or both instead"),
        ([ORDERS, "--pause", "--yes"], 2, "Say which group: --pause --group NAME."),
        ([ORDERS, "--pause", "--group", "nobody", "--yes"], 1, "nobody has not subscribed to topic orders.events"),
        ([ORDERS, "--restart", "--group", "email", "--yes"], 2, "Say where it begins: --mode or --at."),
        ([ORDERS, "--restart", "--group", "email", "--mode", "position", "--yes"], 1, "a position from 1 on"),
        ([ORDERS, "--restart", "--group", "email", "--mode", "all", "--at", "3", "--yes"], 1, "begins where it says"),
        ([ORDERS, "--subscribe", "--group", "stats", "--mode", "some"], None, "'some' is no mode: all, new, timestamp"),
        ([ORDERS, "--subscribe", "--group", "stats", "--at", "end"], None, "--mode all or new says the rest"),
        ([ORDERS, "--subscribe", "--group", "stats", "--at", "0"], None, "positions begin at 1"),
        ([ORDERS, "--subscribe", "--group", "stats", "--at", "2026-01-31T12:00"], None, "has no time zone"),
        ([ORDERS, "--force-complete", "--yes"], 2, "Say what is given up: --older-than 7d."),
        ([ORDERS, "--force-complete", "--older-than", "soon", "--yes"], None, "such as 7d, 36h, 90min or 30s"),
        ([ORDERS, "--force-complete", "--older-than", "7", "--yes"], None, "such as 7d, 36h, 90min or 30s"),
        ([ORDERS, "--force-complete", "--older-than", "99999999d", "--yes"], None, "a hundred years at most"),
        ([ORDERS, "--force-complete", "--older-than", "0s", "--group", "nobody", "--yes"], 1, "nobody does not get"),
        ([ORDERS, "--configure", "--retention", "0d", "--yes"], 1, "a length of time"),
        ([ORDERS, "--configure", "--semantics", "STACK"], None, "invalid choice: 'STACK'"),
        ([ORDERS, "--configure", "--group", "email", "--yes"], 1, "a queue has one group"),
        ([ORDERS, "--pause", "--resume"], None, "not allowed with argument"),
        ([ORDERS, "--mode", "new"], 2, "--mode belongs to --subscribe or --restart."),
        ([ORDERS, "--delete", "--older-than", "1d"], 2, "--older-than belongs to --force-complete."),
        ([ORDERS, "--pause", "--group", "email", "--force"], 2, "--force belongs to --configure or --delete."),
    ],
)
def test_what_cannot_be_understood_changes_nothing(orders, arguments, code, says):
    before = everything()
    with pytest.raises(CommandError) as refused:
        called(*arguments)
    assert says in str(refused.value)
    assert code is None or refused.value.returncode == code
    assert everything() == before


def test_a_call_that_cannot_be_understood_ends_with_2(orders):
    assert in_pipe("ccc_topics", orders, "--pause").code == 2
    assert in_pipe("ccc_topics", orders, "--restart", "--at", "soon").code == 2
    refused = in_pipe("ccc_topics", "nothing")
    assert (refused.code, len(refused.err.splitlines())) == (1, 1)
    helped = in_pipe("ccc_topics", "--help")
    assert "manage.py ccc_topics orders.events --subscribe --group email --mode new" in helped.out


def test_the_log_may_be_in_a_database_of_its_own(tmp_path):
    given = {"CCC_TEST_LOG": str(tmp_path / "log.sqlite3")}

    def run(*arguments: str) -> str:
        done = in_pipe(*arguments, **given)
        assert done.code == 0, done.err
        return done.out

    run("migrate", "--database", "log", "--verbosity", "0")
    run("ccc_topics", "orders", "--configure", "--semantics", "PUB_SUB", "--namespace", "shop")
    run("ccc_topics", "orders", "--subscribe", "--group", "email")
    run("ccc_topics", "--subscribe", "--group", "audit", "--namespace", "shop", "--mode", "new")
    for verb in (["--pause"], ["--resume"], ["--cancel"], ["--restart", "--at", "3", "--apply-to", "all"]):
        run("ccc_topics", "orders", *verb, "--group", "email", "--yes")
    [topic] = json.loads(run("ccc_topics", "--json"))
    seen = [(group["group"], group["status"], group["start"]) for group in topic["groups"]]
    assert seen == [("audit", "ACTIVE", 1), ("email", "CANCELLED", 3)]
    run("ccc_topics", "orders", "--force-complete", "--older-than", "0s", "--yes")
    run("ccc_topics", "orders", "--remove", "--group", "email", "--yes")
    run("ccc_groups", "audit", "--reset", "--yes")
    run("ccc_topics", "orders", "--delete", "--yes")
    assert json.loads(run("ccc_topics", "--json")) == []
    for model in (Topic, TopicSubscription, GroupTopic):
        assert not model.objects.exists()
