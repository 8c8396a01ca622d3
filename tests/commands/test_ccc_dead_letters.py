"""manage.py ccc_dead_letters, in a terminal and in a pipe."""

import json
import re
import signal
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from ccc_django import Retry, dead_letters, groups, store, testing
from ccc_django.models import DeadLetter
from ccc_django.models.dead_letter import NO_PARTITION
from tests.commands.driving import example, in_pipe, in_terminal
from tests.domain import CourseClosed, CourseCreated
from tests.worker.running import eventually, worker
from tests.worker_app.consumers import Worked
from tests.worker_app.models import Effect

pytestmark = pytest.mark.django_db(transaction=True)

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


ERRORS = {"Algebra": (ConnectionError, "the mailer is down"), "History": (ValueError, "no such year")}


def failing(course: str) -> Exception:
    """The error of a course, with a traceback."""
    try:
        handle(course)
    except (ConnectionError, ValueError) as error:
        return error


def handle(course: str) -> None:
    kind, reason = ERRORS[course]
    raise kind(reason)


@pytest.fixture
def letters() -> list[DeadLetter]:
    """Three letters of two courses and two types, given up from noon on, one an hour."""
    testing.clear()  # so that positions and ids are the same each time
    groups.register(
        "courses", partition_by="course_name", handled_types=[CourseCreated, CourseClosed], retry=Retry(max_attempts=1)
    )
    store.append(
        [
            CourseCreated(course_name="Algebra"),
            CourseCreated(course_name="History"),
            CourseClosed(course_name="Algebra"),
        ]
    )
    while claim := groups.claim_next("courses", worker="w"):
        groups.release(claim, error=failing(claim.partition_value["course_name"]))
    found = list(DeadLetter.objects.order_by("position"))
    for number, letter in enumerate(found):
        letter.created_at = NOON + timedelta(hours=number)
        letter.save()
    return found


def called(*arguments: str) -> str:
    out = StringIO()
    call_command("ccc_dead_letters", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def statuses() -> list[str]:
    return [letter.status for letter in DeadLetter.objects.order_by("position")]


def with_ids(text: str, letters: list[DeadLetter]) -> str:
    """Ids as they are on a new database, on which the letters are the first."""
    for number, letter in enumerate(letters, start=1):
        text = re.sub(rf"(?m)^{letter.pk} +", lambda found, n=number: f"{n}".ljust(len(found[0])), text)
    return text


# list and show


def test_the_letters_are_listed(letters):
    shown = in_pipe("ccc_dead_letters")
    assert (shown.code, shown.err) == (0, "")
    assert len(shown.out.splitlines()) == 4
    for line, letter in zip(shown.out.splitlines()[1:], letters, strict=True):
        assert line.startswith(f"{letter.pk} ")
        assert letter.partition_key in line
        assert letter.error in line
    example("ccc_dead_letters", "ccc_dead_letters", with_ids(shown.out, letters))
    assert in_terminal("ccc_dead_letters").out.splitlines() == shown.out.splitlines(), "the same in a terminal"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--group", "courses"], [0, 1, 2]),
        (["--type", "course.closed"], [2]),
        (["--error", "MAILER"], [0, 2]),
        (["--since", "2026-01-31T14:00+01:00"], [1, 2]),
        (["--until", "2026-01-31T13:00:00Z"], [0]),
        (["--partition", "course_name=Algebra"], [0, 2]),
        (["--partition", '{"course_name": "History"}'], [1]),
        (["--limit", "2"], [0, 1]),
        (["--status", "any", "--error", "mailer", "--type", "course.created"], [0]),
        (["--status", "discarded"], []),
    ],
)
def test_letters_are_found_by_what_is_true_of_them(letters, arguments, expected):
    found = json.loads(called(*arguments, "--json"))
    assert [each["id"] for each in found] == [letters[number].pk for number in expected]


def test_a_long_list_says_how_much_is_left(letters):
    assert called("--limit", "1").splitlines()[-1] == "… and 2 more: --limit shows more of them."
    assert called("--status", "discarded") == "There are none.\n"


def test_a_letter_is_shown_with_its_traceback(letters):
    shown = in_terminal("ccc_dead_letters", "show", str(letters[0].pk))
    assert shown.code == 0
    assert "error        ConnectionError: the mailer is down" in shown.out
    assert 'partition    {"course_name":"Algebra"}' in shown.out
    assert "Traceback (most recent call last):" in shown.out
    assert shown.out.rstrip().endswith("ConnectionError: the mailer is down")
    [told] = json.loads(called("show", str(letters[0].pk), "--json"))
    assert told["message_id"] == str(letters[0].message_id)
    assert told["traceback"] == letters[0].traceback


def test_what_an_error_contains_does_not_move_the_cursor(letters):
    DeadLetter.objects.update(error="a\x1b[2Jb\nc", traceback="x\x1b]0;title\x07\n  y")
    assert "a [2Jb c" in called()
    assert "x ]0;title \n  y" in called("show", str(letters[0].pk))


# replay and discard


def test_a_replay_says_what_it_does_and_asks(letters):
    refused = in_terminal("ccc_dead_letters", "replay", "--error", "mailer", keys="n\n")
    assert refused.code == 1
    assert "Nothing was changed." in refused.out
    assert statuses() == ["open"] * 3
    done = in_terminal("ccc_dead_letters", "replay", "--error", "mailer", "--reason", "it is back", keys="y\n")
    assert done.code == 0
    told = done.out.removeprefix("y\n")  # typed before it was asked
    assert told.startswith(
        "2 will be delivered again.\n  1 of courses: course.closed\n  1 of courses: course.created\n"
    )
    assert "100%" in told, "a bar"
    assert told.endswith("Done: 2 to be delivered by workers.\n")
    assert statuses() == ["replaying", "open", "replaying"]
    letters[0].refresh_from_db()
    assert letters[0].reason == "it is back"
    assert letters[0].decided_by


def test_nobody_can_be_asked_in_a_pipe(letters):
    refused = in_pipe("ccc_dead_letters", "replay", "--group", "courses")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.splitlines()[-1] == "CommandError: Nothing was changed: nobody can be asked here. Say --yes."
    assert statuses() == ["open"] * 3
    done = in_pipe("ccc_dead_letters", "replay", "--group", "courses", "--yes")
    assert (done.code, done.out) == (0, "Done: 3 to be delivered by workers.\n")
    example("ccc_dead_letters_replay", "ccc_dead_letters replay --group courses --yes", done.err + done.out)


def test_letters_are_discarded_and_may_be_thought_of_again(letters):
    called("discard", str(letters[0].pk), str(letters[1].pk), "--reason", "test data", "--yes")
    assert statuses() == ["discarded", "discarded", "open"]
    done = json.loads(called("replay", str(letters[0].pk), "--yes", "--json"))
    assert done == {
        "verb": "replay", "count": 1, "of": [["courses", "course.created", 1]], "without_partition": 0, "named": [],
    }  # fmt: skip
    assert statuses() == ["replaying", "discarded", "open"]


def test_the_first_few_can_be_tried(letters):
    called("replay", "--group", "courses", "--limit", "1", "--yes")
    assert statuses() == ["replaying", "open", "open"]


def test_everything_has_to_be_asked_for(letters):
    for verb in ("replay", "discard"):
        with pytest.raises(CommandError, match="--all of them") as refused:
            called(verb, "--yes")
        assert refused.value.returncode == 2
    assert statuses() == ["open"] * 3
    called("discard", "--all", "--yes")
    assert statuses() == ["discarded"] * 3


def test_letters_of_no_partition_are_named_and_the_others_replayed(letters):
    DeadLetter.objects.filter(pk=letters[1].pk).update(partition_id=NO_PARTITION, partition_key="")
    done = in_pipe("ccc_dead_letters", "replay", "--group", "courses", "--yes")
    assert (done.code, done.out) == (0, "Done: 2 to be delivered by workers.\n")
    assert f"{letters[1]} (id {letters[1].pk}). Register the group with more" in done.err
    assert statuses() == ["replaying", "open", "replaying"]
    alone = in_pipe("ccc_dead_letters", "replay", str(letters[1].pk), "--yes")
    assert alone.code == 1
    assert "Nothing was changed. 0 will be delivered again." in alone.err


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["--group", "nobody"], 1, "There is no consumer group 'nobody'"),
        (["replay", "--group", "nobody", "--yes"], 1, "There is no consumer group 'nobody'"),
        (["show"], 2, "Say which one: show ID."),
        (["show", "99999999"], 1, "There is no dead letter 99999999."),
        (["replay", "99999999", "--yes"], 1, "Nothing was changed. 0 will be delivered again."),
        (["discard", "--type", "nothing", "--yes"], 1, "Nothing was changed. 0 will be discarded."),
        (["--status", "lost"], 1, "'lost' is no status: open, replaying"),
        (["--since", "yesterday"], None, "a time such as 2026-01-31T12:00+00:00"),
        (["--since", "2026-01-31 12:00"], None, "has no time zone: say 2026-01-31T12:00:00+00:00"),
        (["--group", "courses", "--partition", "user_id=joe"], 1, "courses has partitions by course_name"),
        (["--limit", "0"], None, "a number of one or more"),
        (["burn"], None, "invalid choice"),
    ],
)
def test_what_cannot_be_understood_changes_nothing(letters, arguments, code, says):
    with pytest.raises(CommandError) as refused:
        called(*arguments)
    assert says in str(refused.value)
    assert code is None or refused.value.returncode == code
    assert statuses() == ["open"] * 3


def test_a_call_that_cannot_be_understood_ends_with_2(letters):
    assert in_pipe("ccc_dead_letters", "replay", "--yes").code == 2
    assert in_pipe("ccc_dead_letters", "--since", "2026-01-31").code == 2
    helped = in_pipe("ccc_dead_letters", "--help")
    assert 'replay --group enrolment --error ConnectionError --reason "the mailer is back"' in helped.out


# a thousand


def test_a_thousand_letters_replayed_by_filter_arrive_once_each_in_order_per_partition():
    """While two workers are at it, and new messages come; letters that the filter does not find stay."""
    groups.register("singles", partition_by=["user_id"], handled_types=[Worked], retry=Retry(max_attempts=1))
    users = [f"u{n}" for n in range(25)]
    stored = store.append(
        [Worked(course_name="lost" if n % 11 == 10 else "down", user_id=users[n * 7 % 25]) for n in range(1_100)]
    )
    number = 0
    while claim := groups.claim_next("singles", worker="w"):
        lost = claim.messages[0].course_name == "lost"
        groups.release(claim, error=ValueError("it is lost") if lost else ConnectionError("the mailer is down"))
        number += 1
    assert (number, DeadLetter.objects.open().count()) == (1_100, 1_100)
    with worker("--group", "singles", "--processes", "2") as process:
        done = in_pipe("ccc_dead_letters", "replay", "--group", "singles", "--error", "mailer", "--yes", timeout=60)
        assert (done.code, done.out) == (0, "Done: 1,000 to be delivered by workers.\n")
        later = store.append([Worked(course_name="new", user_id=user) for user in users])
        eventually(lambda: Effect.objects.count() >= 1_025, within=120)
        eventually(lambda: groups.is_empty("singles"), within=60)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    came, new = defaultdict(list), {message.position for message in later}
    for partition, position in Effect.objects.order_by("id").values_list("partition", "position"):
        came[json.loads(partition)["user_id"]].append(position)
    for user in users:
        expected = [each.position for each in stored if each.user_id == user and each.course_name == "down"]
        assert [position for position in came[user] if position not in new] == expected, "once each, and in order"
        assert len(came[user]) == len(expected) + 1
    assert DeadLetter.objects.open().count() == 100
    assert DeadLetter.objects.filter(status="replayed").count() == 1_000
    assert {letter.error for letter in dead_letters.find()} == {"ValueError: it is lost"}
