"""The admin: lists to look at, and actions for those who may change."""

import re
from datetime import timedelta
from uuid import UUID

import pytest
from django.contrib.admin import site
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.functional import Promise

from ccc_django import Retry, dead_letters, groups, store
from ccc_django.admin import offsets
from ccc_django.errors import ClaimLost
from ccc_django.models import ConsumerGroup, DeadLetter, Offset
from tests.admin.pages import act, client_of, confirmed, said, shown
from tests.domain import CourseClosed, CourseCreated, UserJoinedCourse

pytestmark = pytest.mark.django_db

GROUPS = "/admin/ccc_django/consumergroup/"
OFFSETS = "/admin/ccc_django/offset/"
LETTERS = "/admin/ccc_django/deadletter/"
LISTS = [GROUPS, OFFSETS, LETTERS]
HANDLED = [CourseCreated, CourseClosed, UserJoinedCourse]


@pytest.fixture
def courses():
    """A group with a partition in hand, one that is open, and a dead letter."""
    retry = Retry(max_attempts=1)
    groups.register("courses", partition_by="course_name", handled_types=HANDLED, retry=retry)
    store.append([CourseCreated(course_name=name) for name in ("Algebra", "History", "Physics")])
    groups.release(claim(), error=ValueError("no room " + "x" * 200))
    return "courses"


def claim(group="courses"):
    return groups.claim_next(group, worker="w-1")


# lists and pages


def test_the_groups_are_listed_with_what_waits(admin_client, courses):
    claim()
    row = shown(admin_client.get(GROUPS)).partition("Updated at")[2]
    watermark = ConsumerGroup.objects.get().watermark
    assert re.search(rf"courses ordered active course_name 3 {watermark} 2 1 ", row)


def test_a_stop_whose_time_is_over_is_shown_as_none(admin_client, courses):
    groups.stop(courses, until=timezone.now() + timedelta(hours=1))
    assert "ordered stopped" in shown(admin_client.get(GROUPS))
    assert "1 consumer group" in shown(admin_client.get(GROUPS, {"status": "stopped"}))
    groups.stop(courses, until=timezone.now() - timedelta(seconds=1))
    assert "ordered active" in shown(admin_client.get(GROUPS))
    assert "0 consumer groups" in shown(admin_client.get(GROUPS, {"status": "stopped"}))
    assert "1 consumer group" in shown(admin_client.get(GROUPS, {"status": "active"}))
    assert "Status: active" in shown(admin_client.get(f"{GROUPS}{ConsumerGroup.objects.get().pk}/change/"))


def test_groups_are_found_by_name(admin_client, courses):
    assert "1 consumer group" in shown(admin_client.get(GROUPS, {"q": "cour"}))
    assert "0 consumer groups" in shown(admin_client.get(GROUPS, {"q": "shop"}))


def test_the_list_of_groups_costs_the_same_for_one_and_for_many(admin_client, courses):
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert admin_client.get(GROUPS).status_code == 200
        return len(captured)

    queries()
    one = queries()
    for number in range(20):
        groups.register(f"group-{number}", partition_by="course_name", handled_types=HANDLED)
    assert queries() == one


def test_the_offsets_are_listed_with_who_is_at_them(admin_client, courses):
    held = claim()
    text = shown(admin_client.get(OFFSETS))
    assert "3 offsets" in text
    offset = Offset.objects.get(pk=held.offset_id)
    assert (
        f"courses {{&quot;course_name&quot;:&quot;History&quot;}} {offset.last_position} {offset.next_position} "
        f"{offset.head_position} 1 - w-1"
    ) in text
    assert "1 offset" in shown(admin_client.get(OFFSETS, {"q": "Algebra"}))
    assert "3 offsets" in shown(admin_client.get(OFFSETS, {"group__id__exact": offset.group_id}))
    assert "0 offsets" in shown(admin_client.get(OFFSETS, {"group__id__exact": offset.group_id + 1}))


def test_a_partition_that_waits_for_somebody_is_shown_as_stopped(admin_client):
    stop = Retry(max_attempts=1, then="stop_partition")
    groups.register("courses", partition_by="course_name", handled_types=HANDLED, retry=stop)
    store.append(CourseCreated(course_name="Algebra"))
    groups.release(claim(), error=ValueError("no room " + "x" * 200))
    assert re.search(r"ValueError: no room x+… - - yes", shown(admin_client.get(OFFSETS)))
    page = admin_client.get(f"{OFFSETS}{Offset.objects.get().pk}/change/")
    assert "Blocked until: - Stopped: yes" in shown(page), "not for a hundred years"


def test_offsets_are_neither_counted_nor_paged_to_the_end(admin_client, courses, monkeypatch):
    monkeypatch.setattr(offsets, "MOST_PAGED", 2)
    with CaptureQueriesContext(connection) as captured:
        text = shown(admin_client.get(OFFSETS))
    assert "2 offsets" in text
    counts = [query["sql"] for query in captured if "COUNT(" in query["sql"] and "ccc_offsets" in query["sql"]]
    assert len(counts) == 1
    assert "LIMIT 2" in counts[0]


def test_the_dead_letters_are_listed_with_the_reason(admin_client, courses):
    letter = DeadLetter.objects.get()
    text = shown(admin_client.get(LETTERS))
    assert (
        f"courses {letter.position} course.created {{&quot;course_name&quot;:&quot;Algebra&quot;}} open 1 Value" in text
    )
    assert "ValueError: no room xxx" in text
    assert "x" * 100 not in text
    for wanted in ({"status": "open"}, {"group": letter.group_id}, {"message_type": "course.created"}):
        assert "1 dead letter" in shown(admin_client.get(LETTERS, wanted))
    assert "0 dead letters" in shown(admin_client.get(LETTERS, {"status": "replayed"}))


@pytest.mark.parametrize(("page", "model"), [(GROUPS, ConsumerGroup), (OFFSETS, Offset), (LETTERS, DeadLetter)])
def test_a_row_has_a_page_that_nobody_can_save(admin_client, courses, page, model):
    claim()
    for row in model.objects.all():
        response = admin_client.get(f"{page}{row.pk}/change/")
        assert str(row) in response.content.decode().replace("&quot;", '"')
        assert "courses" in shown(response)
        assert not re.search(r'name="_(save|continue|addanother)"|deletelink', response.content.decode())
        assert admin_client.post(f"{page}{row.pk}/change/", {"name": "other"}).status_code == 403
        assert admin_client.post(f"{page}{row.pk}/delete/", {"post": "yes"}).status_code == 403
    assert admin_client.get(f"{page}add/").status_code == 403


@pytest.mark.parametrize("model", [ConsumerGroup, Offset, DeadLetter])
def test_what_users_see_is_translatable(model):
    """Columns and actions; the columns that are fields have the words of the model."""
    pages = site.get_model_admin(model)
    ours = [getattr(pages, name) for name in (*pages.list_display, *(pages.actions or ())) if hasattr(pages, name)]
    assert ours
    assert all(isinstance(each.short_description, Promise) for each in ours)


# who may


@pytest.mark.parametrize("page", LISTS)
def test_strangers_are_asked_to_log_in(client, courses, page):
    assert client.get(page).headers["Location"] == f"/admin/login/?next={page}"
    assert act(client, page, "start", []).redirect_chain


@pytest.mark.parametrize("page", LISTS)
def test_without_any_permission_there_is_nothing_to_see(courses, page):
    assert client_of().get(page).status_code == 403


@pytest.mark.parametrize("page", LISTS)
def test_who_may_only_look_sees_lists_without_actions(viewer, courses, page):
    response = viewer.get(page)
    assert response.status_code == 200
    assert "courses" in shown(response)
    assert 'name="action"' not in response.content.decode()


def test_who_may_only_look_cannot_act(viewer, courses):
    before = [*ConsumerGroup.objects.values()], [*Offset.objects.values()], [*DeadLetter.objects.values()]
    for action in ("start", "stop", "reset", "delete_selected"):
        confirmed(viewer, GROUPS, action, ConsumerGroup.objects.all())
    for action in ("replay", "discard", "delete_selected"):
        confirmed(viewer, LETTERS, action, DeadLetter.objects.all())
    assert before == ([*ConsumerGroup.objects.values()], [*Offset.objects.values()], [*DeadLetter.objects.values()])
    assert not LogEntry.objects.exists()


def test_nobody_deletes_in_a_list(admin_client, courses):
    for page, model in ((GROUPS, ConsumerGroup), (OFFSETS, Offset), (LETTERS, DeadLetter)):
        assert "delete_selected" not in admin_client.get(page).content.decode()
        act(admin_client, page, "delete_selected", model.objects.all(), post="yes")
        assert model.objects.exists()


# actions


def test_start_lets_groups_be_claimed(operator, courses):
    groups.stop(courses, reason="holidays")
    assert said(act(operator, GROUPS, "start", ConsumerGroup.objects.all())) == ["1 group was started."]
    assert groups.is_active(courses)
    assert "view-change" in shown(operator.get(f"{GROUPS}{ConsumerGroup.objects.get().pk}/history/"))


def test_stop_asks_for_a_reason_first(operator, courses):
    held = claim()
    question = act(operator, GROUPS, "stop", ConsumerGroup.objects.all())
    assert groups.is_active(courses), "it has only asked"
    assert "courses active 1" in shown(question)
    assert 'name="reason"' in question.content.decode()
    done = confirmed(operator, GROUPS, "stop", ConsumerGroup.objects.all(), reason="holidays")
    assert said(done) == ["1 group was stopped."]
    assert not groups.is_active(courses)
    assert ConsumerGroup.objects.get().error_context == "holidays"
    assert LogEntry.objects.get().change_message == "Stopped. holidays"
    with pytest.raises(ClaimLost):
        groups.ack(held)


def test_the_reason_of_a_stop_can_be_left_out(operator, courses):
    other = groups.register("other", partition_by="user_id", handled_types=HANDLED)
    confirmed(operator, GROUPS, "stop", [other], reason="")
    assert (groups.is_active("other"), groups.is_active(courses)) == (False, True)
    assert LogEntry.objects.get().change_message == "Stopped."


def test_a_reason_that_no_database_can_keep_is_asked_for_again(operator, courses):
    again = confirmed(operator, GROUPS, "stop", ConsumerGroup.objects.all(), reason="a\x00b")
    assert "Null characters are not allowed." in shown(again)
    assert groups.is_active(courses)


def test_reset_says_what_will_happen_and_does_it_when_confirmed(operator, courses):
    held = claim()
    groups.register("other", partition_by="user_id", handled_types=HANDLED)
    before = [*Offset.objects.order_by("pk").values()]
    question = act(operator, GROUPS, "reset", ConsumerGroup.objects.filter(name=courses))
    assert [*Offset.objects.order_by("pk").values()] == before, "it has only asked"
    assert "courses 1 3 1 1" in shown(question), "start, partitions, claims, dead letters"
    assert "other" not in shown(question)
    done = confirmed(operator, GROUPS, "reset", ConsumerGroup.objects.filter(name=courses))
    assert said(done) == ["1 group was reset."]
    assert {*Offset.objects.values_list("last_position", "next_position", "claimed_by")} == {(0, None, "")}
    with pytest.raises(ClaimLost):
        groups.ack(held)


def test_the_page_that_asks_sends_the_same_selection_back(operator, courses):
    """Also when everything is selected, of which a list shows a page only, as a filter has it."""
    for number in range(60):
        groups.register(f"group-{number:02}", partition_by="course_name", handled_types=HANDLED)
    first = ConsumerGroup.objects.filter(name="courses")
    question = act(operator, f"{GROUPS}?q=group", "stop", first, select_across="1")
    assert "group-49" in shown(question)
    assert "group-50" not in shown(question)
    assert "and 10 more" in shown(question)
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="(.*?)"', question.content.decode()))
    assert "action=" not in re.search(r"<form method=\"post\".*?>", question.content.decode())[0], "to the same address"
    done = operator.post(f"{GROUPS}?q=group", {**fields, "confirmed": "True", "reason": ""}, follow=True)
    assert said(done) == ["60 groups were stopped."]
    assert groups.is_active(courses)


def test_replay_delivers_a_dead_letter_again(operator, courses):
    assert said(act(operator, LETTERS, "replay", DeadLetter.objects.all())) == ["1 message will be delivered again."]
    letter = DeadLetter.objects.get()
    assert (letter.status, letter.decided_by) == ("replaying", "view-change")
    assert claim().dead_letter == letter.pk
    assert said(act(operator, LETTERS, "replay", [letter])) == ["0 messages will be delivered again."]


def test_what_has_no_partition_is_not_replayed_and_the_reason_is_shown(operator, courses):
    DeadLetter.objects.update(partition_id=UUID(int=0), partition_key="")
    [refusal] = said(act(operator, LETTERS, "replay", DeadLetter.objects.all()))
    assert "belongs to more partitions than courses allows" in refusal
    assert DeadLetter.objects.get().status == "open"


def test_discard_keeps_who_decided_and_why(operator, courses):
    question = act(operator, LETTERS, "discard", DeadLetter.objects.all())
    assert DeadLetter.objects.get().status == "open", "it has only asked"
    assert f"courses {DeadLetter.objects.get()}" in shown(question)
    done = confirmed(operator, LETTERS, "discard", DeadLetter.objects.all(), reason="a test")
    assert said(done) == ["1 dead letter was discarded."]
    letter = DeadLetter.objects.get()
    assert (letter.status, letter.decided_by, letter.reason) == ("discarded", "view-change", "a test")
    assert dead_letters.replay(letter) == 1
