"""Metrics: figures that come from the database at each scrape, the same in every process."""

import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ccc_django import Retry, groups, maintenance, store
from ccc_django.instrumentation.metrics import exposition
from ccc_django.models import StoredMessage, Worker
from tests.concurrency.processes import fork, in_background, together
from tests.concurrency.test_head import append_and_wait
from tests.domain import CourseCreated, TermStarted
from tests.flow.test_health import unreachable

parser = pytest.importorskip("prometheus_client.parser")
pytestmark = pytest.mark.django_db(transaction=True)

METRICS = "/ccc/metrics"
REFERENCE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"
CHANGING = re.compile(r"^\w+_seconds.*$", re.MULTILINE)


def scraped() -> dict[tuple[str, ...], float]:
    """Every figure by its name and labels."""
    families = parser.text_string_to_metric_families(exposition()[0].decode())
    return {(sample.name, *sample.labels.values()): sample.value for family in families for sample in family.samples}


@pytest.fixture
def roster():
    """A group that has given up on one of three messages, holds another, and has a worker that is there."""
    groups.register("roster", partition_by=["course_name"], handled_types=[CourseCreated], retry=Retry(max_attempts=1))
    store.append([CourseCreated(course_name=name) for name in ("Algebra", "History", "Physics")])
    groups.release(groups.claim_next("roster", worker="w"), error=ValueError("no"))
    groups.claim_next("roster", worker="w")
    progress = {"roster": {"handled": 9, "failed": 1, "lost": 0, "rate": 4.5}}
    Worker.objects.create(name="w", host="h", pid=1, groups=["roster"], progress=progress, beaten_at=timezone.now())
    Worker.objects.create(name="v", host="h", pid=2, groups=[], beaten_at=timezone.now() - timedelta(hours=1))


def test_a_scrape_says_how_groups_and_workers_are_doing(roster):
    store.schedule(TermStarted(), at=timezone.now() - timedelta(minutes=5))
    store.schedule(TermStarted(), at=timezone.now() + timedelta(hours=1))
    figures = scraped()
    status = groups.status("roster")
    expected = {
        "lag": status.lag, "partitions": 3, "pending": 2, "in_flight": 1, "failures": 1, "dead_letters": 1, "rate": 4.5,
        "workers": 1,
    }  # fmt: skip
    assert {name: figures[f"ccc_group_{name}", "roster"] for name in expected} == expected
    assert [figures["ccc_group_status", "roster", each] for each in ("active", "stopped", "failed")] == [1, 0, 0]
    assert 0 < figures["ccc_group_oldest_age_seconds", "roster"] < 300
    assert (figures["ccc_workers", "there"], figures["ccc_workers", "gone"]) == (1, 1)
    assert figures["ccc_scheduled_due",] == 1
    assert 299 < figures["ccc_scheduled_overdue_seconds",] < 600


def test_a_scrape_says_how_long_the_log_is():
    assert scraped()["ccc_messages",] == 0
    stored = store.append([TermStarted() for _ in range(5)])
    figures = scraped()
    assert figures["ccc_head_position",] == figures["ccc_last_position",] == stored[-1].position
    assert figures["ccc_messages",] == 5
    StoredMessage.objects.filter(position__lte=stored[1].position).delete()
    assert scraped()["ccc_messages",] == 3, "what is no longer kept does not count"


def test_nothing_is_kept_between_two_scrapes(roster):
    before = scraped()
    groups.stop("roster")
    store.append(TermStarted())
    after = scraped()
    assert after["ccc_group_status", "roster", "stopped"] == 1
    assert after["ccc_group_lag", "roster"] == before["ccc_group_lag", "roster"] + 1
    groups.delete("roster")
    assert not [name for name in scraped() if "roster" in name]


def test_every_process_says_the_same(roster):
    texts = [report.result for report in together(*[lambda: CHANGING.sub("", exposition()[0].decode())] * 3)]
    assert len({*texts}) == 1
    assert "ccc_group_lag" in texts[0]


def test_samples_that_nobody_takes_any_more_can_be_seen(roster):
    assert ("ccc_sample_age_seconds",) not in scraped()
    maintenance.sample()
    assert 0 <= scraped()["ccc_sample_age_seconds",] < 300


@pytest.mark.postgres
def test_an_open_append_can_be_seen():
    [stored] = store.append(TermStarted())
    here, there = fork.Pipe()
    with in_background(append_and_wait, there, 60):
        assert here.poll(20)
        figures = scraped()
        assert figures["ccc_head_holders",] == 1
        assert figures["ccc_head_held_seconds",] > 0
        assert figures["ccc_head_position",] == stored.position < figures["ccc_last_position",]


def test_more_groups_need_no_more_queries(roster):
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            exposition()
        return len(captured)

    before = queries()
    for number in range(5):
        groups.register(f"group {number}", partition_by=["course_name"], handled_types=[CourseCreated])
    assert queries() == before < 15


def test_every_metric_is_documented_and_nothing_else(roster):
    maintenance.sample()
    given = {name for name, *_ in scraped()}
    assert given == set(re.findall(r"^\| `(ccc_\w+)", REFERENCE.read_text(), re.MULTILINE))


def test_the_scraper_chooses_the_format(client, roster):
    plain = client.get(METRICS)
    assert plain.status_code == 200
    assert plain["Content-Type"].startswith("text/plain; version=0.0.4")
    assert "no-store" in plain["Cache-Control"]
    wanted = client.get(METRICS, headers={"accept": "application/openmetrics-text; version=1.0.0"})
    assert wanted["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    assert wanted.content.endswith(b"# EOF\n")
    odd = client.get(METRICS, headers={"accept": "application/openmetrics-text; version=none"})
    assert (odd.status_code, odd["Content-Type"]) == (200, plain["Content-Type"])
    assert client.post(METRICS).status_code == 405


def test_names_of_groups_cannot_break_the_format(roster):
    odd = 'a "quoted"\nname \\ of {braces}'
    groups.register(odd, partition_by=["course_name"], handled_types=[CourseCreated])
    assert ("ccc_group_lag", odd) in scraped()


def test_without_the_extra_the_view_says_what_to_install(client, monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    answer = client.get(METRICS)
    assert answer.status_code == 501
    assert answer.content.decode() == 'prometheus_client is not installed. Run: pip install "ccc-django[metrics]"\n'


def test_the_urls_can_be_included_without_the_extra():
    program = (
        "import sys; sys.modules['prometheus_client'] = None\n"
        "from django.conf import settings; import django\n"
        "settings.configure(INSTALLED_APPS=['ccc_django'], DATABASES={}); django.setup()\n"
        "import ccc_django.urls; print('fine')"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert run.stdout == "fine\n", run.stderr


def test_a_database_that_is_gone_is_no_traceback(client):
    with unreachable():
        answer = client.get(METRICS)
    assert answer.status_code == 503
    assert answer.content == b"The database cannot be used, or is not migrated.\n"
