"""ccc_bench: figures of the user's own database, and nothing left behind."""

import json
import re
import signal
import subprocess
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.apps import apps
from django.db import connections, transaction

from ccc_django import groups, registry, store
from ccc_django.errors import InsideTransaction, LogHasMessages
from ccc_django.instrumentation import bench
from ccc_django.instrumentation.bench import cleaning, measuring, timing
from ccc_django.instrumentation.bench.report import limit_of
from ccc_django.management.benching import described
from ccc_django.models import ConsumerGroup, Offset, StoredMessage
from tests.commands.driving import MORE, command_line, example, in_pipe, in_terminal
from tests.domain import CourseCreated, TermStarted
from tests.worker.running import ROOT, environment, eventually

pytestmark = pytest.mark.django_db(transaction=True)

WHAT = [
    "empty journey",
    "bare commit",
    "append",
    "append of 100",
    "guarded append",
    "claim and ack",
    "consume in batches",
]
QUICK = ["--seconds", "0.2", "--yes"]


@pytest.fixture(autouse=True)
def classes_as_before(monkeypatch):
    """Whatever a measurement in this process declares goes with it."""
    monkeypatch.setattr(registry, "_classes", {**registry._classes})


def rows() -> dict[str, int]:
    """How many rows each of our tables has."""
    models = apps.get_app_config("ccc_django").get_models()
    return {model.__name__: model.objects.count() for model in models}


def figure(name: str, p50: float, calls: int = 2_000, *, each: int = 1, processor: float = 0.0) -> bench.Figure:
    messages, p99 = calls * each, 2.5 * p50
    return bench.Figure(name=name, calls=calls, messages=messages, seconds=2.0, p50=p50, p99=p99, processor=processor)


def figures(*, journey: float, commit: float, append: float, processor: float = 0.1) -> tuple[bench.Figure, ...]:
    return (
        figure("empty journey", journey, 24_000),
        figure("bare commit", commit, 3_100),
        figure("append", append, 2_700, processor=processor),
        figure("append of 100", 0.009, 640, each=100),
        figure("guarded append", 0.0034, 2_300),
        figure("claim and ack", 0.0041, 1_900),
        figure("consume in batches", 0.0061, 930, each=100),
    )


def test_a_pipe_gets_figures_and_nothing_is_left_but_used_positions():
    before = rows()
    ran = in_pipe("ccc_bench", *QUICK, timeout=120)
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[2].split() == ["what", "calls/s", "messages/s", "p50", "p99"]
    assert [re.split(r"  +", line)[0] for line in lines[3:10]] == WHAT
    assert "limits appends" in ran.out
    assert "positions stay used" in ran.err, "it said before what it would do"
    assert "\x1b" not in ran.out
    removed = int(re.search(r"([\d,]+) messages were removed", ran.out)[1].replace(",", ""))
    assert removed > 300
    assert rows() == before
    assert store.head() >= removed


RECORDED = Path(__file__).with_name("ccc_bench_run.json")


def test_the_documentation_shows_what_is_printed():
    """The figures are those of one real run, recorded once; the lines around them are those of any."""
    run = json.loads(RECORDED.read_text())
    recorded = tuple(bench.Figure(**each) for each in run.pop("figures"))
    text = described(bench.Report(**run, figures=recorded, limit=limit_of(recorded)))
    example("ccc_bench", "ccc_bench --yes", text)
    real = in_pipe("ccc_bench", *QUICK, timeout=120).out
    skeleton = r"[\d,.]+|\b(postgresql|sqlite)\b|clients?|[A-Z].* limits appends.*| +"
    assert re.sub(skeleton, "", real).strip() == re.sub(skeleton, "", text).strip()


def test_a_terminal_is_asked_and_shown_how_far_it_is():
    before, head = rows(), store.head()
    no = in_terminal("ccc_bench", "--seconds", "0.2", keys="n\n", timeout=60)
    assert no.code == 1
    assert "Nothing was changed." in no.out
    assert (rows(), store.head()) == (before, head)
    yes = in_terminal("ccc_bench", "--seconds", "0.2", keys="y\n", timeout=120)
    assert yes.code == 0
    assert "3/7 append …" in yes.out
    assert "cleaning up" in yes.out
    assert "limits appends" in yes.out
    assert rows() == before


def test_nobody_who_can_answer_means_no():
    head = store.head()
    ran = in_pipe("ccc_bench")
    assert ran.code == 1
    assert "Say --yes" in ran.err
    assert store.head() == head


def test_json_has_every_figure():
    ran = in_pipe("ccc_bench", *QUICK, "--json", "--clients", "2", timeout=120)
    report = json.loads(ran.out)
    assert [each["name"] for each in report["figures"]] == WHAT
    assert report["clients"] == 2
    for each in report["figures"]:
        assert each["calls"] > 0
        assert 0 < each["p50"] <= each["p99"]
        assert each["calls_per_second"] == pytest.approx(each["calls"] / each["seconds"])
    assert [each["messages"] for each in report["figures"][:2]] == [0, 0]
    assert report["figures"][3]["messages"] == 100 * report["figures"][3]["calls"]
    assert "limits appends" in report["limit"]


def test_a_log_with_messages_is_refused_unless_that_is_said():
    stored = store.append([CourseCreated(course_name="Algebra"), TermStarted()])
    before, head = rows(), store.head()
    ran = in_pipe("ccc_bench", *QUICK)
    assert (ran.code, ran.out) == (1, "")
    assert "--with-messages" in ran.err
    assert (rows(), store.head()) == (before, head)
    assert in_pipe("ccc_bench", *QUICK, "--with-messages", timeout=120).code == 0
    assert rows() == before
    assert list(store.stream()) == stored


def test_the_groups_of_a_project_get_nothing_of_it():
    groups.register("courses", partition_by="course_name", handled_types=["course.created"])
    groups.register("everything", partition_by=[], handled_types=["term.started"])
    store.append([CourseCreated(course_name="Algebra"), TermStarted()])
    bench.measure(seconds=0.1, with_messages=True, progress=lambda *_: groups.advance("courses"))
    assert [offset.partition_key for offset in Offset.objects.of_group("courses")] == ['{"course_name":"Algebra"}']
    assert [claim_of(name) for name in ("courses", "everything")] == [["course.created"], ["term.started"]]
    assert ConsumerGroup.objects.count() == 2


def test_its_own_groups_begin_behind_what_was_there(monkeypatch):
    [stored] = store.append(TermStarted())
    monkeypatch.setattr(measuring, "clean", lambda: 0)
    bench.measure(seconds=0.02, with_messages=True)
    assert {group.begins_at for group in ConsumerGroup.objects.all()} == {stored.position + 1}


def claim_of(name: str) -> list[str]:
    claim = groups.claim_next(name, worker="w-1")
    groups.ack(claim)
    assert groups.claim_next(name, worker="w-1") is None
    return [message.type for message in claim.messages]


def test_inside_of_a_transaction_it_is_refused():
    with transaction.atomic(), pytest.raises(InsideTransaction):
        bench.measure(seconds=0.1)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["--seconds", "0"], 1, "seconds=0"),
        (["--clients", "0"], 1, "clients=0"),
        (["--seconds", "soon"], 2, "invalid float"),
    ],
)
def test_what_cannot_be_measured_is_said_in_a_line(arguments, code, said):
    ran = in_pipe("ccc_bench", "--yes", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err
    assert "Traceback" not in ran.err


@contextmanager
def measuring_for_long():
    connections.close_all()
    process = subprocess.Popen(
        command_line("ccc_bench", "--seconds", "4", "--yes"), env=environment(**MORE), cwd=ROOT,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_whoever_ends_it_early_leaves_nothing_behind(number):
    before = rows()
    with measuring_for_long() as process:
        eventually(StoredMessage.objects.exists, within=100)
        process.send_signal(number)
        assert process.wait(60) == 130
    assert rows() == before


def test_an_error_leaves_nothing_behind(monkeypatch):
    before, failed = rows(), threading.Event()

    def fail_later(claim, **_):
        failed.set()
        raise RuntimeError("no ack today")

    monkeypatch.setattr("ccc_django.instrumentation.bench.clients.groups.ack", fail_later)
    with pytest.raises(RuntimeError, match="no ack today"):
        bench.measure(seconds=0.1, clients=2)
    assert failed.is_set()
    assert rows() == before


def test_what_a_killed_measurement_has_left_is_named_and_removed(monkeypatch):
    before = rows()
    monkeypatch.setattr(measuring, "clean", lambda: 0)
    bench.measure(seconds=0.1)
    assert rows() != before
    with pytest.raises(LogHasMessages, match="--clean"):
        bench.measure(seconds=0.1)
    ran = in_pipe("ccc_bench", "--clean")
    assert ran.code == 0
    assert re.fullmatch(r"[\d,]+ messages of measurements were removed\.\n", ran.out)
    assert rows() == before


def test_cleaning_goes_in_batches_and_touches_nothing_else(monkeypatch):
    store.append([CourseCreated(course_name="Algebra"), TermStarted()])
    groups.register("courses", partition_by="course_name", handled_types=["course.created"])
    assert claim_of("courses") == ["course.created"]
    before = rows()
    monkeypatch.setattr(cleaning, "BATCH", 7)
    report = bench.measure(seconds=0.02, with_messages=True)
    assert report.removed > 7
    assert rows() == before
    assert StoredMessage.objects.count() == 2


def test_a_project_has_the_types_of_a_measurement_only_once_it_measures():
    code = (
        "import django; django.setup();"
        "from ccc_django import registry; import ccc_django.management.commands.ccc_bench;"
        "print([each for each in registry._classes if each.startswith('ccc.bench')])"
    )
    connections.close_all()
    done = subprocess.run(
        [command_line()[0], "-c", code], env=environment(**MORE), cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.parametrize(
    ("measured", "said"),
    [
        ({"journey": 0.0001, "commit": 0.002, "append": 0.0025}, "The disk limits appends: a commit waits 1.90 ms"),
        ({"journey": 0.002, "commit": 0.0022, "append": 0.003}, "The journey to the database limits appends"),
        ({"journey": 0.0001, "commit": 0.0003, "append": 0.003}, "The database limits appends: it takes 2.63 ms"),
        ({"journey": 0.0001, "commit": 0.002, "append": 0.0025, "processor": 0.97}, "busy 97% of the time"),
        ({"journey": 0.0001, "commit": 0.009, "append": 0.0025}, "a commit waits 2.33 ms of the 2.50 ms"),
        ({"journey": 0.0001, "commit": 0.0003, "append": 0.001, "processor": 0.7}, "busy 70% of the time"),
    ],
)
def test_what_limits_is_said_by_the_figures(measured, said):
    assert said in limit_of(figures(**measured))


class Counting(timing.Client):
    """Does ten things, and says who did them."""

    def __init__(self):
        super().__init__("run")
        self.left = 10 + timing.WARM

    def work(self) -> int:
        self.left -= 1
        return 2 if self.left >= 0 else 0


def test_calls_and_messages_of_all_clients_count():
    found = timing.timed("counting", Counting, clients=3, seconds=20)
    assert (found.calls, found.messages) == (30, 60)
    assert found.p50 <= found.p99


def test_help_shows_examples():
    ran = in_pipe("ccc_bench", "--help")
    assert ran.code == 0
    assert "manage.py ccc_bench --seconds 10 --clients 8" in ran.out
