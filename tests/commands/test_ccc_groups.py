"""manage.py ccc_groups, in a terminal and in a pipe."""

import json
import os
import shlex
import signal
import subprocess
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from ccc_django import STOP_PARTITION, Retry, groups, store, testing, topics
from ccc_django.errors import ClaimLost
from ccc_django.models import ConsumerGroup, DeadLetter, Offset, StoredMessage, TopicSubscription, Worker
from tests.commands.driving import MORE, ROOT, command_line, example, in_pipe, in_terminal
from tests.domain import CourseCreated, UserJoinedCourse
from tests.worker.running import environment
from tests.worker_app.consumers import Worked

pytestmark = pytest.mark.django_db(transaction=True)

HANDLED = [CourseCreated, UserJoinedCourse]
JOE = ["course_name=Algebra", "user_id=joe"]


def joined(*users: str):
    return store.append([UserJoinedCourse(course_name="Algebra", user_id=user) for user in users])


def claim(name: str = "enrolment", **options):
    return groups.claim_next(name, worker="w-1", **options)


@pytest.fixture
def enrolment() -> str:
    """A group with a partition that is done, one in hand, one that has failed, and one that waits."""
    testing.clear()  # so that positions are the same each time
    name = groups.register(
        "enrolment", partition_by=["course_name", "user_id"], handled_types=HANDLED, retry=Retry(max_attempts=1)
    ).name
    joined("joe", "jake", "ann", "bob")
    groups.ack(claim())
    claim()
    groups.release(claim(), error=ValueError("no"))
    return name


def called(*arguments: str) -> str:
    out = StringIO()
    call_command("ccc_groups", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


# lists


def test_the_groups_are_shown_with_their_figures(enrolment):
    groups.register("mailer", partition_by=[], handled_types=HANDLED)
    groups.stop("mailer", reason="the server is away")
    progress = {"enrolment": {"handled": 9, "failed": 0, "lost": 0, "rate": 1234.5}}
    Worker.objects.create(name="w-1", host="h", pid=1, progress=progress, beaten_at=timezone.now() + timedelta(hours=1))
    StoredMessage.objects.update(appended_at=timezone.now() - timedelta(minutes=90))
    shown = in_pipe("ccc_groups")
    assert (shown.code, shown.err) == (0, "")
    example("ccc_groups", "ccc_groups", shown.out)
    header, *lines = [line.split("  ") for line in shown.out.splitlines()]
    assert [cell.strip() for cell in header if cell][:9] == [
        "group", "kind", "status", "lag", "pending", "in flight", "failures", "oldest", "rate",
    ]  # fmt: skip
    assert [cell.strip() for cell in lines[0] if cell] == [
        "enrolment", "ordered", "active", "3", "2", "1", "1", "1 h", "1,234.5/s",
    ]  # fmt: skip
    assert [cell.strip() for cell in lines[1] if cell][2:] == [
        "stopped", "4", "0", "0", "0", "1 h", "0.0/s", "the server is away",
    ]  # fmt: skip
    assert in_terminal("ccc_groups").out.splitlines() == shown.out.splitlines(), "the same in a terminal"


def test_scripts_get_everything_of_the_groups_they_name(enrolment):
    groups.register("other", partition_by=[], handled_types=HANDLED)
    [row] = json.loads(called("enrolment", "--json"))
    age = row.pop("oldest_age")
    assert 0 <= age < 600
    assert row == {
        "name": "enrolment", "kind": "ordered", "status": "active", "error_context": "", "lag": 3, "pending": 2,
        "in_flight": 1, "failures": 1, "dead_letters": 1, "partitions": 4, "rate": 0.0,
    }  # fmt: skip
    assert [row["name"] for row in json.loads(called("--json"))] == ["enrolment", "other"]


def test_without_groups_it_says_so():
    assert called().startswith(
        "There are no groups yet. manage.py consume makes those that consumers.py declares: batches,"
    )
    assert json.loads(called("--json")) == []


def test_a_reader_that_goes_away_ends_it_quietly(enrolment):
    call = shlex.join(command_line("ccc_groups", "--watch", "0.1"))
    done = subprocess.run(
        ["/bin/sh", "-c", f"{call} | {{ read line; echo $line; }}"],
        env=environment(**MORE), cwd=ROOT, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.stdout.startswith("group")
    assert done.stderr == ""


# watching


def test_watching_repaints_on_a_terminal_until_ctrl_c(enrolment):
    shown = in_terminal("ccc_groups", "--watch", "0.2", until="enrolment")
    assert shown.code == 0
    assert shown.out.startswith("group")


def test_watching_goes_on_with_what_is_new(enrolment):
    with subprocess.Popen(
        command_line("ccc_groups", "enrolment", "--watch", "0.1"),
        env=environment(**MORE, PYTHONUNBUFFERED=""), cwd=ROOT, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        first = [process.stdout.readline() for _ in range(2)]
        assert first[1].split()[2] == "active"
        groups.stop(enrolment, reason="enough")
        while "stopped" not in process.stdout.readline():
            pass
        os.kill(process.pid, signal.SIGINT)
        rest = process.stdout.read()
    assert process.returncode == 0
    assert "\x1b" not in "".join([*first, rest]), "no colours and no movements in a pipe"


# verbs


def test_a_stop_says_what_it_does_and_asks(enrolment):
    refused = in_terminal("ccc_groups", enrolment, "--stop", keys="n\n")
    assert refused.code == 1
    assert "Nothing was changed." in refused.out
    assert groups.is_active(enrolment)
    held = Offset.objects.exclude(claimed_by="").get()
    stopped = in_terminal("ccc_groups", enrolment, "--stop", "--reason", "the mailer is down", keys="y\n")
    assert stopped.code == 0
    told = stopped.out.removeprefix("y\n")  # typed before it was asked
    assert (
        "1 running claim is fenced: its worker can no longer ack, and its messages come again.\nDo it? [y/N] " in told
    )
    assert told.endswith("Done.\n")
    assert ConsumerGroup.objects.get().error_context == "the mailer is down"
    assert not Offset.objects.filter(token=held.token).exists()


def test_nobody_can_be_asked_in_a_pipe(enrolment):
    before = [*Offset.objects.order_by("pk").values()]
    refused = in_pipe("ccc_groups", enrolment, "--reset")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.splitlines()[-1] == "CommandError: Nothing was changed: nobody can be asked here. Say --yes."
    assert [*Offset.objects.order_by("pk").values()] == before
    done = in_pipe("ccc_groups", enrolment, "--reset", "--yes")
    assert (done.code, done.out) == (0, "Done.\n")
    example("ccc_groups_reset", "ccc_groups enrolment --reset --yes", done.err + done.out)
    assert {*Offset.objects.values_list("last_position", flat=True)} == {0}


def test_scripts_get_what_was_done(enrolment):
    done = json.loads(called(enrolment, "--delete", "--partition", *JOE, "--yes", "--json"))
    assert (done["verb"], done["partition"]) == ("delete", '{"course_name":"Algebra","user_id":"joe"}')
    assert (done["claims"], done["again"], done["dead_letters"]) == (0, 0, 0)
    assert done["sentence"].startswith(f"{done['partition']} of enrolment is forgotten")
    assert Offset.objects.count() == 3


def test_a_group_is_stopped_and_started(enrolment):
    called(enrolment, "--stop", "--reason", "enough", "--yes")
    assert claim() is None
    called(enrolment, "--start", "--yes")
    assert groups.is_active(enrolment)


def test_a_partition_is_stopped_and_started_alone(enrolment):
    held = Offset.objects.exclude(claimed_by="").get()
    value = json.loads(held.partition_key)
    called(enrolment, "--stop", "--partition", held.partition_key, "--reason", "enough", "--yes")
    held.refresh_from_db()
    assert (held.is_stopped, held.error, groups.is_active(enrolment)) == (True, "enough", True)
    called(enrolment, "--start", "--partition", *(f"{name}={each}" for name, each in value.items()), "--yes")
    held.refresh_from_db()
    assert not held.is_stopped


def test_a_group_goes_to_a_place(enrolment):
    last = StoredMessage.objects.order_by("position").last()
    for to, first in {
        "3": 3,
        "beginning": 1,
        "end": last.position + 1,
        last.appended_at.isoformat(): last.position,
    }.items():
        StoredMessage.objects.exclude(pk=last.pk).update(appended_at=last.appended_at - timedelta(hours=1))
        assert json.loads(called(enrolment, "--seek", to, "--yes", "--json"))["first"] == first
        assert {*Offset.objects.values_list("last_position", flat=True)} == {first - 1}


def test_a_partition_is_put_back_alone(enrolment):
    before = {*Offset.objects.values_list("pk", "last_position")}
    assert (
        "1 message is delivered again, as replayed"
        in json.loads(called(enrolment, "--reset", "--partition", *JOE, "--yes", "--json"))["sentence"]
    )
    assert len(before ^ {*Offset.objects.values_list("pk", "last_position")}) == 2, "one row, before and after"
    again = claim()
    assert (again.partition_value["user_id"], again.replaying) == ("joe", True)


def test_a_group_is_forgotten(enrolment):
    held = claim()
    called(enrolment, "--delete", "--yes")
    for model in (ConsumerGroup, Offset, DeadLetter):
        assert not model.objects.exists()
    with pytest.raises(ClaimLost):
        groups.ack(held)


# what is refused


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["nobody"], 1, "There is no consumer group 'nobody'"),
        (["nobody", "--stop", "--yes"], 1, "There is no consumer group 'nobody'"),
        (["--stop", "--yes"], 2, "Name one group to stop; 0 were named."),
        (["enrolment", "other", "--reset", "--yes"], 2, "Name one group to reset; 2 were named."),
        (["enrolment", "--partition", "a=b"], 2, "--partition belongs to"),
        (["enrolment", "--start", "--reason", "x", "--yes"], 2, "--reason belongs to --stop."),
        (["enrolment", "--reset", "--keep-subscriptions", "--yes"], 2, "belongs to --delete of a whole group."),
        (["enrolment", "--delete", "--keep-subscriptions", "--partition", *JOE, "--yes"], 2, "of a whole group."),
        (["enrolment", "--stop", "--reset"], None, "not allowed with argument"),
        (["enrolment", "--seek", "0", "--yes"], None, "positions begin at 1"),
        (["enrolment", "--seek", "soon", "--yes"], None, 'a position from 1 on, "beginning", "end", or a time such as'),
        (["enrolment", "--seek", "2026-01-31T12:00", "--yes"], None, "has no time zone: say 2026-01-31T12:00:00+00:00"),
        (["--watch", "enrolment"], None, "a number of seconds; names of groups come before it"),
        (["--watch", "0"], None, "0.1 seconds at least"),
        (["enrolment", "--stop", "--partition", "joe", "--yes"], None, "say name=value"),
        (["enrolment", "--stop", "--partition", "{joe", "--yes"], None, "is no JSON"),
        (["enrolment", "--stop", "--partition", "user_id=joe", "--yes"], 1, "give their values"),
        (["enrolment", "--stop", "--partition", "course_name=Algebra", "user_id=1", "--yes"], 1, "has no partition"),
    ],
)
def test_what_cannot_be_understood_changes_nothing(enrolment, arguments, code, says):
    before = [*Offset.objects.order_by("pk").values()], [*ConsumerGroup.objects.values()]
    with pytest.raises(CommandError) as refused:
        called(*arguments)
    assert says in str(refused.value)
    assert code is None or refused.value.returncode == code
    assert ([*Offset.objects.order_by("pk").values()], [*ConsumerGroup.objects.values()]) == before


def test_a_call_that_cannot_be_understood_ends_with_2(enrolment):
    assert in_pipe("ccc_groups", enrolment, "--seek", "2026-01-31").code == 2
    assert in_pipe("ccc_groups", "--stop").code == 2
    assert in_pipe("ccc_groups", "nobody").code == 1
    helped = in_pipe("ccc_groups", "--help")
    assert 'manage.py ccc_groups enrolment --stop --reason "the mailer is down"' in helped.out


def test_what_is_wrong_with_a_group_is_shown_by_partition():
    store.append(Worked(course_name="c", user_id="u"))
    groups.register("quiet", partition_by=["user_id"], handled_types=[Worked])
    groups.release(groups.claim_next("quiet", worker="w"), error=ValueError("no such user"))
    lines = in_pipe("ccc_groups", "quiet", "--failing").out.splitlines()
    assert lines[0].split() == ["partition", "state", "position", "attempts", "until", "error"]
    assert lines[1].startswith('{"user_id":"u"}  pauses')
    assert lines[1].endswith("ValueError: no such user")
    assert json.loads(in_pipe("ccc_groups", "quiet", "--failing", "--json").out)[0]["attempts"] == 1
    assert in_pipe("ccc_groups", "--failing").code == 2
    groups.reset("quiet")
    assert in_terminal("ccc_groups", "quiet", "--failing").out == "No partition of quiet has failed or is stopped.\n"


# shared groups


@pytest.fixture
def mailing() -> str:
    """A shared group with three messages, of which one has failed and waits for somebody."""
    testing.clear()  # so that positions are the same each time
    at_once = Retry(max_attempts=1, then=STOP_PARTITION)
    topics.subscribe("courses", group="mailing", retry=at_once)
    topics.publish("courses", [CourseCreated(course_name=name) for name in ("Algebra", "History", "Physics")])
    groups.release(claim("mailing", limit=1), error=ValueError("no such address"))
    return "mailing"


def test_what_is_wrong_with_a_shared_group_is_shown_by_message(mailing):
    lines = in_pipe("ccc_groups", mailing, "--failing").out.splitlines()
    assert lines[0].split() == ["topic", "position", "state", "attempts", "until", "error"]
    assert lines[1].split(maxsplit=5) == ["courses", "1", "stopped", "1", "-", "ValueError: no such address"]
    [trouble] = json.loads(called(mailing, "--failing", "--json"))
    assert (trouble["partition"], trouble["topic"], trouble["position"]) == (None, "courses", 1)
    groups.reset(mailing)
    assert called(mailing, "--failing") == "No message of mailing has failed or is stopped.\n"


def test_a_shared_group_is_steered_like_any_other(mailing):
    called(mailing, "--stop", "--reason", "enough", "--yes")
    assert claim(mailing) is None
    called(mailing, "--start", "--yes")
    done = json.loads(called(mailing, "--seek", "3", "--yes", "--json"))
    assert (done["begins"], done["skipped"]) == ({"courses": 3}, 2)
    assert [message.position for message in claim(mailing).messages] == [3]
    with pytest.raises(CommandError, match="it has no partitions"):
        called(mailing, "--reset", "--partition", "course_name=Algebra", "--yes")


def test_subscriptions_are_kept_if_that_is_said(mailing):
    called(mailing, "--seek", "end", "--yes")
    told = in_pipe("ccc_groups", mailing, "--delete", "--keep-subscriptions", "--yes").err
    assert "Its subscription is kept: if it subscribes again, it begins where that says." in told
    assert not ConsumerGroup.objects.exists()
    assert TopicSubscription.objects.get().group_name == mailing
    assert len(topics.claim("courses", group=mailing, worker="w", mode="new").messages) == 3
    called(mailing, "--delete", "--yes")
    assert not TopicSubscription.objects.exists()
