"""The admin of topics and subscriptions: what waits for whom, and actions that first say what they will do."""

import re
from datetime import timedelta
from unittest.mock import patch

import pytest
from django.contrib.admin import site
from django.contrib.admin.models import CHANGE, DELETION, LogEntry
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils.functional import Promise

from ccc_django import groups, topics
from ccc_django.admin.figures import in_all
from ccc_django.errors import ClaimLost, UnknownSubscription
from ccc_django.models import ConsumerGroup, GroupTopic, Topic, TopicSubscription
from ccc_django.topics import PUB_SUB
from tests.admin.pages import act, client_of, confirmed, said, shown
from tests.domain import CourseClosed, CourseCreated

pytestmark = pytest.mark.django_db

GROUPS = "/admin/ccc_django/consumergroup/"
TOPICS = "/admin/ccc_django/topic/"
SUBSCRIPTIONS = "/admin/ccc_django/topicsubscription/"
VERBS = ("pause", "resume", "cancel", "remove")


@pytest.fixture
def school():
    """A topic in a namespace with three groups, all in arrears, and a queue with nothing to do."""
    topics.configure("courses", semantics=PUB_SUB, namespace="school", task="teach", retention=timedelta(days=7))
    topics.subscribe("courses", group="mails", mode="all")
    topics.subscribe(namespace="school", group="archive", mode="all")
    topics.subscribe("courses", group="seats", mode="all", partition_by="course_name", handles=[CourseCreated])
    topics.publish("courses", [CourseCreated(course_name=name) for name in ("Algebra", "History", "Physics")])
    topics.configure("repairs")


def claim(group="mails", **options):
    return groups.claim_next(group, worker="w-1", **options)


def record(group="mails") -> TopicSubscription:
    return TopicSubscription.objects.of_group(group).whole().get()


def everything() -> list:
    models = (Topic, TopicSubscription, GroupTopic, ConsumerGroup)
    return [[*model.objects.order_by("pk").values()] for model in models]


def queries(client, page) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(page).status_code == 200
    return len(captured)


# topics


def test_the_topics_are_listed_with_who_gets_them_and_what_waits(admin_client, school):
    groups.ack(claim(limit=1))
    claim("seats")
    text = shown(admin_client.get(TOPICS))
    assert "courses publish/subscribe school teach 7 days 3 8 3" in text, "groups, pending, lag"
    assert re.search(r"repairs queue (- )+1 0 0", text.partition("courses publish")[2])
    assert "1 topic" in shown(admin_client.get(TOPICS, {"q": "school"}))
    assert "1 topic" in shown(admin_client.get(TOPICS, {"semantics__exact": "QUEUE"}))


def test_the_list_of_topics_costs_the_same_for_one_and_for_many(admin_client, school):
    queries(admin_client, TOPICS)
    few = queries(admin_client, TOPICS)
    for number in range(20):
        topics.configure(f"topic-{number}")
    assert queries(admin_client, TOPICS) == few


def test_a_list_reads_the_figures_of_its_own_page_alone(admin_client, school):
    with patch.object(topics, "fan_out", wraps=topics.fan_out) as read:
        admin_client.get(TOPICS, {"q": "repairs"})
        assert "0 topics" in shown(admin_client.get(TOPICS, {"q": "nobody knows it"}))
    assert [call.args for call in read.call_args_list] == [(["repairs"],)]


def test_the_page_of_a_topic_shows_how_each_group_is_doing(admin_client, school):
    groups.ack(claim(limit=1))
    claim("seats")
    GroupTopic.objects.filter(group__name="mails").update(processed=1_234)
    topics.heartbeat("courses", group="mails")
    topics.pause(namespace="school", group="archive")
    GroupTopic.objects.filter(group__name="seats").update(lost_from=1_000, lost_to=2_000)
    text = shown(admin_client.get(f"{TOPICS}{Topic.objects.get(name='courses').pk}/change/"))
    rows = text.partition("Last heartbeat")[2].replace("\xa0", " ").replace("&nbsp;", " ")
    assert re.search(r"archive paused all 3 3 0 0 minutes - - mails active all", rows), "by a namespace"
    assert re.search(r"mails active all 2 2 1,234 0 minutes \w+\.? \d+, \d{4}.*? seats active all", rows)
    assert re.search(r"seats active all 3 3 0 0 minutes - 1,000 to 2,000", rows), "partitions"


def test_the_page_of_a_topic_says_how_long_it_keeps_messages(admin_client):
    topics.configure("courses", retention=timedelta(days=7), unsubscribed_retention=timedelta(days=90))
    text = shown(admin_client.get(f"{TOPICS}{Topic.objects.get().pk}/change/"))
    assert "7 days" in text
    assert "90 days" in text
    assert "0:00:00" not in text


def test_a_topic_that_nobody_gets_has_a_page_too(admin_client):
    topics.configure("courses", semantics=PUB_SUB)
    assert "Nobody has subscribed to it." in shown(admin_client.get(f"{TOPICS}{Topic.objects.get().pk}/change/"))
    assert re.search(r"courses publish/subscribe (- )+0 0 0", shown(admin_client.get(TOPICS)))


def test_what_is_more_than_anybody_counts_is_said_so():
    assert in_all([]) == "0"
    assert in_all([9_000, 2_000]) == "11,000"
    assert in_all([10_001, 3]) == "10,003+"


def test_deleting_a_topic_says_what_is_open_and_asks(operator, school):
    before = everything()
    question = shown(act(operator, TOPICS, "delete", Topic.objects.all()))
    assert everything() == before, "it has only asked"
    assert "Their messages stay in the log." in question
    assert "courses publish/subscribe courses is forgotten" in question
    assert "mails has 3 open." in question
    assert "Also topics with open messages" in question


def test_a_topic_with_open_messages_is_deleted_by_force_alone(operator, school):
    refusal, done = said(confirmed(operator, TOPICS, "delete", Topic.objects.all()))
    assert "has open messages of courses" in refusal
    assert done == "1 topic was deleted.", "the queue, in which nothing is open"
    assert Topic.objects.get().name == "courses"
    done = confirmed(operator, TOPICS, "delete", Topic.objects.all(), force="on")
    assert said(done) == ["1 topic was deleted."]
    assert not Topic.objects.exists()
    assert [each.group_name for each in TopicSubscription.objects.all()] == ["archive"]
    assert [(each.action_flag, each.object_repr) for each in LogEntry.objects.order_by("pk")] == [
        (DELETION, "repairs"),
        (DELETION, "courses"),
    ]


# subscriptions


def test_the_subscriptions_are_listed_with_where_they_begin(admin_client, school):
    text = shown(admin_client.get(SUBSCRIPTIONS))
    assert "archive namespace school all active 1 " in text
    assert "mails topic courses all active 1 " in text
    assert "4 topic subscriptions" in text
    topics.pause("courses", group="mails")
    topics.subscribe("courses", group="late", mode="new")
    for wanted in ({"status__exact": "PAUSED"}, {"mode__exact": "new"}, {"q": "mails"}, {"q": "repair"}):
        assert "1 topic subscription " in shown(admin_client.get(SUBSCRIPTIONS, wanted)), wanted


def test_the_list_of_subscriptions_costs_the_same_for_one_and_for_many(admin_client, school):
    queries(admin_client, SUBSCRIPTIONS)
    few = queries(admin_client, SUBSCRIPTIONS)
    for number in range(20):
        topics.subscribe("courses", group=f"group-{number}")
    assert queries(admin_client, SUBSCRIPTIONS) == few


@pytest.mark.parametrize("verb", VERBS)
def test_nothing_changes_before_the_answer(operator, school, verb):
    before = everything()
    question = shown(act(operator, SUBSCRIPTIONS, verb, [record()]))
    assert everything() == before
    assert not LogEntry.objects.exists()
    assert f"{verb.capitalize()} subscriptions" in question
    assert f"mails topic courses active {topics.preview(verb, 'courses', group='mails').sentence}" in question
    assert "3 open" in question
    assert "archive" not in question


@pytest.mark.parametrize(
    ("verb", "status", "told"),
    [("pause", "PAUSED", "paused"), ("resume", "ACTIVE", "resumed"), ("cancel", "CANCELLED", "cancelled")],
)
def test_an_answer_steers_each_subscription_that_is_selected(operator, school, verb, status, told):
    if verb == "resume":
        topics.pause("courses", group="mails")
        topics.cancel(namespace="school", group="archive")
    done = confirmed(operator, SUBSCRIPTIONS, verb, [record("mails"), record("archive")])
    assert said(done) == [f"2 subscriptions were {told}."]
    assert {record(name).status for name in ("mails", "archive")} == {status}
    assert record("repairs").status == "ACTIVE"
    assert {(each.action_flag, each.change_message) for each in LogEntry.objects.all()} == {
        (CHANGE, f"1 subscription was {told}.")
    }


def test_removed_subscriptions_lose_their_claims(operator, school):
    held = claim()
    done = confirmed(operator, SUBSCRIPTIONS, "remove", [record("mails"), record("archive")])
    assert said(done) == ["2 subscriptions were removed."]
    assert not TopicSubscription.objects.filter(group_name__in=["mails", "archive"]).exists()
    assert ConsumerGroup.objects.filter(name="mails").exists(), "the group stays"
    assert {each.action_flag for each in LogEntry.objects.all()} == {DELETION}
    with pytest.raises(ClaimLost):
        groups.ack(held)


def test_one_call_is_made_for_each_row(operator, school):
    with patch.object(topics.steering, "_put", wraps=topics.steering._put) as put:
        confirmed(operator, SUBSCRIPTIONS, "pause", [record("mails"), record("archive")])
    assert [(call.args[0], str(call.args[1])) for call in put.call_args_list] == [
        ("archive", "namespace school"),
        ("mails", "topic courses"),
    ]


def test_what_is_refused_is_said_and_the_others_are_done(operator, school):
    topics.cancel("courses", group="mails")
    refusal, done = said(confirmed(operator, SUBSCRIPTIONS, "pause", [record("mails"), record("archive")]))
    assert refusal.startswith("Refused: mails has cancelled topic courses")
    assert done == "1 subscription was paused."
    [refusal] = said(confirmed(operator, SUBSCRIPTIONS, "remove", [record("repairs")]))
    assert "repairs is a queue" in refusal
    assert record("repairs").status == "ACTIVE"


def test_what_a_deleted_group_has_kept_can_be_removed(operator, school):
    groups.delete("mails", keep_subscriptions=True)
    assert "Nothing is open" in shown(act(operator, SUBSCRIPTIONS, "remove", [record()]))
    assert said(confirmed(operator, SUBSCRIPTIONS, "remove", [record()])) == ["1 subscription was removed."]
    assert not TopicSubscription.objects.of_group("mails").exists()


def test_what_has_gone_since_the_list_was_read_is_no_failure(operator, school):
    with patch.object(topics, "preview", side_effect=UnknownSubscription("it has gone")):
        assert "it has gone" in shown(act(operator, SUBSCRIPTIONS, "pause", [record("archive")]))


def test_subscriptions_of_single_partitions_are_left_alone(operator, school):
    algebra = topics.subscribe("courses", group="seats", mode="new", partition={"course_name": "Algebra"})
    assert "topic courses, partition key {&quot;course_name&quot;:&quot;Algebra&quot;}" in shown(
        operator.get(SUBSCRIPTIONS)
    )
    left = "1 subscription of a single partition was left alone."
    for verb in VERBS:
        assert said(act(operator, SUBSCRIPTIONS, verb, [algebra])) == [left]
        assert said(confirmed(operator, SUBSCRIPTIONS, verb, [algebra])) == [left]
    question = shown(act(operator, SUBSCRIPTIONS, "pause", [algebra, record("seats")]))
    assert "Algebra" not in question.partition("What will be done")[2]
    done = confirmed(operator, SUBSCRIPTIONS, "pause", [algebra, record("seats")])
    assert said(done) == ["1 subscription was paused.", left]
    algebra.refresh_from_db()
    assert algebra.status == "ACTIVE"


# both


@pytest.mark.parametrize(("page", "model"), [(TOPICS, Topic), (SUBSCRIPTIONS, TopicSubscription)])
def test_a_row_has_a_page_that_nobody_can_save(admin_client, school, page, model):
    for row in model.objects.all():
        response = admin_client.get(f"{page}{row.pk}/change/")
        assert str(row) in response.content.decode()
        assert not re.search(r'name="_(save|continue|addanother)"|deletelink', response.content.decode())
        assert admin_client.post(f"{page}{row.pk}/change/", {"name": "other"}).status_code == 403
        assert admin_client.post(f"{page}{row.pk}/delete/", {"post": "yes"}).status_code == 403
    assert admin_client.get(f"{page}add/").status_code == 403
    assert "delete_selected" not in admin_client.get(page).content.decode()
    act(admin_client, page, "delete_selected", model.objects.all(), post="yes")
    assert model.objects.exists()


@pytest.mark.parametrize("page", [TOPICS, SUBSCRIPTIONS])
def test_pages_are_for_those_who_may_see_them(client, viewer, school, page):
    assert client.get(page).headers["Location"] == f"/admin/login/?next={page}"
    assert client_of().get(page).status_code == 403
    looked = viewer.get(page)
    assert "courses" in shown(looked)
    assert 'name="action"' not in looked.content.decode()


def test_who_may_only_look_cannot_act(viewer, school):
    before = everything()
    confirmed(viewer, TOPICS, "delete", Topic.objects.all(), force="on")
    for verb in VERBS:
        confirmed(viewer, SUBSCRIPTIONS, verb, TopicSubscription.objects.all())
    assert everything() == before
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize("model", [Topic, TopicSubscription])
def test_what_users_see_is_translatable(model):
    pages = site.get_model_admin(model)
    ours = [getattr(pages, name) for name in (*pages.list_display, *pages.actions) if hasattr(pages, name)]
    assert ours
    assert all(isinstance(each.short_description, Promise) for each in ours)


# groups that are shared


def test_the_list_of_groups_counts_the_open_messages_of_shared_groups(admin_client, school):
    groups.ack(claim(limit=1))
    claim("seats")
    text = shown(admin_client.get(GROUPS))
    assert "mails shared active - all - 2 0 " in text, "one is acked"
    assert "archive shared active - all - 3 0 " in text, "nobody has made deliveries of them yet"
    assert re.search(r"seats ordered active course_name 1 \d+ 3 0 ", text), "partitions"
    page = shown(admin_client.get(f"{GROUPS}{ConsumerGroup.objects.get(name='mails').pk}/change/"))
    assert "Pending: 2" in page
    assert "Topics: [&quot;courses&quot;]" in page
    assert "Watermark" not in page


def test_groups_of_both_kinds_are_sorted_by_what_is_open(admin_client, school):
    groups.ack(claim(limit=1))
    claim("seats", limit=1)
    topics.publish("courses", CourseClosed(course_name="Algebra"))
    groups.ack(claim("seats", limit=1))
    column = [*site.get_model_admin(ConsumerGroup).list_display].index("pending") + 1
    text = shown(admin_client.get(GROUPS, {"o": f"-{column}"})).partition("Updated at")[2]
    assert re.findall(r"(\w+) (?:shared|ordered) active", text)[:2] == ["archive", "mails"]
    assert re.findall(r"(\w+) (?:shared|ordered) active", text)[-1] == "repairs"


def test_the_list_of_groups_costs_the_same_for_one_shared_group_and_for_many(admin_client, school):
    queries(admin_client, GROUPS)
    few = queries(admin_client, GROUPS)
    for number in range(20):
        topics.subscribe("courses", group=f"group-{number}", mode="all")
    assert queries(admin_client, GROUPS) == few


def test_stop_and_reset_say_how_many_claims_of_a_shared_group_are_fenced(operator, school):
    claim(limit=2)
    mails = ConsumerGroup.objects.filter(name="mails")
    assert "mails active 2" in shown(act(operator, GROUPS, "stop", mails))
    assert "mails - - 2 0" in shown(act(operator, GROUPS, "reset", mails))
