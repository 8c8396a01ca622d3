"""Health: what is past its limit is said in a sentence, to programs, to load balancers, and to nobody's surprise."""

from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.core.checks import run_checks
from django.core.management import call_command
from django.db import connection, connections, transaction
from django.test import Client
from django.utils import timezone

from ccc_django import Retry, groups, store
from ccc_django.instrumentation import head
from ccc_django.instrumentation.health import UNUSABLE, check
from ccc_django.limits import health_limits
from ccc_django.models import ConsumerGroup, StoredMessage, Worker
from ccc_django.retry import STOP_GROUP
from tests.concurrency.processes import fork, in_background
from tests.concurrency.test_head import append_and_wait
from tests.domain import CourseCreated, TermStarted
from tests.postgres.cluster import cluster, on_server

pytestmark = pytest.mark.django_db(transaction=True)

HEALTH = "/ccc/health"
NOWHERE = "/nowhere/at/all"  # no file, and no database's name


def reasons(*, names=(), **limits) -> list[str]:
    return check(health_limits(limits), names=names).reasons


def register(name: str, **more) -> None:
    groups.register(name, partition_by=["course_name"], handled_types=[CourseCreated], **more)


def fail(name: str, *, times: int = 1) -> None:
    for _ in range(times):
        groups.release(groups.claim_next(name, worker="w"), error=ValueError("the secret is 1234"))


def add_worker(name: str, *, silent_for: float = 0, serves: tuple[str, ...] = (), host: str = "h") -> None:
    beaten_at = timezone.now() - timedelta(seconds=silent_for)
    Worker.objects.create(name=name, host=host, pid=1, groups=[*serves], beaten_at=beaten_at)


@pytest.fixture
def behind():
    """A group that has three messages before it, the oldest of which was appended an hour ago."""
    register("roster", retry=Retry(max_attempts=1))
    stored = store.append([CourseCreated(course_name=name) for name in ("Algebra", "History", "Physics")])
    long_ago = timezone.now() - timedelta(hours=1)
    StoredMessage.objects.filter(position=stored[0].position).update(appended_at=long_ago)


@contextmanager
def unreachable():
    """A database that is not there."""
    before = connection.settings_dict["NAME"]
    connection.close()
    connection.settings_dict["NAME"] = NOWHERE
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict["NAME"] = before


def test_an_empty_project_is_well():
    found = check()
    assert (found.is_healthy, found.reasons, found.line) == (True, [], "")


def test_nothing_is_too_much_unless_somebody_says_so(behind):
    """Old work, failures and dead letters restart no container by themselves."""
    fail("roster")
    assert groups.status("roster").dead_letters == 1
    assert check().is_healthy


def test_a_group_is_measured_by_lag_age_and_failures(behind):
    lag = groups.status("roster").lag
    assert reasons(lag=lag, oldest_age=7_200, failures=0) == []
    assert reasons(lag=lag - 1) == [f"roster: a lag of {lag:,} is more than {lag - 1:,}."]
    [old] = reasons(oldest_age=900)
    assert old.startswith("roster: the oldest message has waited 3,6")
    assert old.endswith(" s, longer than 900 s.")
    fail("roster", times=2)
    assert reasons(failures=2) == []
    assert reasons(failures=1) == ["roster: failures are 2, more than 1."]


def test_a_group_has_limits_of_its_own(behind, settings):
    register("mailer")
    settings.CCC_HEALTH = {"lag": 0, "groups": {"roster": {"lag": None}}}
    assert [reason.split(":")[0] for reason in check().reasons] == ["mailer"]
    assert reasons(lag=0, groups={"roster": {"lag": None}, "mailer": {"lag": 10**6}}) == []
    instead = health_limits(settings.CCC_HEALTH, lag=0)
    assert [reason.split(":")[0] for reason in check(instead).reasons] == ["mailer", "roster"]


def test_groups_are_counted_only_where_a_limit_needs_it(behind):
    register("mailer")
    assert check().groups == []
    assert [group.name for group in check(health_limits({"groups": {"mailer": {"lag": 9}}})).groups] == ["mailer"]
    assert [group.name for group in check(figures=True).groups] == ["mailer", "roster"]


def test_a_stopped_group_is_no_reason_and_a_failed_one_is(behind):
    groups.stop("roster", reason="the secret is 1234")
    assert reasons(lag=0, oldest_age=0, failures=0) == []
    assert reasons(stopped=True) == ["roster is stopped."]
    groups.start("roster")
    register("roster", retry=Retry(max_attempts=1, then=STOP_GROUP), replace=True)
    fail("roster")
    assert reasons() == ["roster has failed."]
    ConsumerGroup.objects.update(retry_at=timezone.now() - timedelta(seconds=1))
    assert reasons() == [], "its time is over"


def test_only_the_groups_that_are_asked_for_and_their_workers_count(behind):
    register("mailer")
    add_worker("one", silent_for=3600, serves=("roster",))
    assert reasons(names=["mailer"], oldest_age=10**9) == []
    assert reasons(names=["roster"]) == ["Gone without a word: one."]
    assert reasons(names=["mailer"], workers=1) == ["Workers are 0, fewer than 1."]
    add_worker("two", serves=("mailer", "roster"))
    assert reasons(names=["mailer"], workers=1) == []
    [unknown] = reasons(names=["mailer", "nobody"])
    assert "There is no consumer group 'nobody'" in unknown


def test_a_worker_is_gone_after_three_beats(settings):
    settings.CCC_BEAT_EVERY = 20.0
    add_worker("late", silent_for=50)
    assert reasons() == []
    assert [worker.is_there for worker in check().workers] == [True]
    settings.CCC_BEAT_EVERY = 10.0
    assert reasons() == ["Gone without a word: late."]
    assert [worker.is_there for worker in check().workers] == [False]
    assert reasons(gone=1) == reasons(gone=None) == []


def test_many_workers_that_are_gone_fit_into_a_line():
    for number in range(5):
        add_worker(f"w{number}", silent_for=3600)
    assert reasons() == ["Gone without a word: w0, w1, w2 and 2 more."]


def test_too_few_workers_are_a_reason():
    add_worker("one")
    assert reasons(workers=1) == []
    assert reasons(workers=2) == ["Workers are 1, fewer than 2."]


def test_a_host_looks_at_its_own_workers_alone(behind):
    add_worker("here", silent_for=3600, host="this")
    add_worker("there", host="other")
    strict = health_limits({"lag": 0})
    assert check(strict, host="other").is_healthy
    assert check(strict, host="this").reasons == ["Workers on this are 0, fewer than 1."]
    add_worker("here again", host="this")
    assert check(strict, host="this").is_healthy, "the one before it restarts nothing"


@pytest.mark.postgres
def test_an_open_append_holds_the_head_back_and_is_named():
    [stored] = store.append(TermStarted())
    here, there = fork.Pipe()
    with in_background(append_and_wait, there, 60):
        assert here.poll(20)
        [holder] = head.holders()
        assert holder.bound == stored.position == store.head()
        assert holder.pid not in {None, connection.connection.info.backend_pid}
        assert timedelta(0) <= holder.held_for < timedelta(minutes=5)
        [again] = head.holders()
        assert again.since == holder.since < timezone.now(), "since its transaction began"
        assert again.held_for > holder.held_for
        assert reasons() == [], "a moment is no reason"
        [reason] = reasons(head_held=0)
        assert f"The head is held back at {stored.position:,} for " in reason
        assert f"by process {holder.pid}" in reason
        assert reasons(head_held=None) == []
    assert head.longest([]) is None


def test_nobody_holds_the_head_back_by_reading_or_by_an_append_of_our_own():
    with transaction.atomic():
        store.append(TermStarted())
        assert head.holders() == []
    assert head.holders() == []


@pytest.mark.postgres
def test_a_forgotten_prepared_transaction_is_found_too():
    with cluster() as server, on_server(server.start()):
        with connection.cursor() as cursor:
            cursor.execute("ALTER SYSTEM SET max_prepared_transactions = 2")
        connection.close()
        server.stop()
        server.start()
        call_command("migrate", verbosity=0, run_syncdb=True)
        connection.set_autocommit(False)
        store.append(TermStarted())
        with connection.cursor() as cursor:
            cursor.execute("PREPARE TRANSACTION 'forgotten'")
        connection.close()
        [holder] = head.holders()
        assert (holder.pid, holder.application) == (None, "forgotten")
        [reason] = reasons(head_held=0)
        assert reason.endswith("by a prepared transaction (forgotten).")


def test_a_database_that_is_gone_is_one_sentence(client, monkeypatch):
    with unreachable():
        found = check()
        assert found.reasons == [UNUSABLE]
        assert found.line.startswith(f"{UNUSABLE} (")
        assert "\n" not in found.line
        monkeypatch.setitem(connections.settings["default"], "ATOMIC_REQUESTS", True)
        answer = client.get(HEALTH)
        assert answer.status_code == 503
        assert answer.json() == {"is_healthy": False, "reasons": [UNUSABLE]}, "what the database said is for nobody"
    assert check().is_healthy


@pytest.mark.postgres
def test_a_connection_that_was_cut_while_nobody_used_it_is_no_reason(client, monkeypatch):
    """As with CONN_MAX_AGE, when the server was restarted between two requests."""
    connection.ensure_connection()
    connection.connection.close()
    assert client.get(HEALTH).status_code == 200
    connection.connection.close()
    assert client.get("/ccc/metrics").status_code == 200


def test_the_view_says_the_same_to_anybody_and_no_secrets(client, behind, settings):
    settings.CCC_HEALTH = {"failures": 0}
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, "django.contrib.auth.middleware.LoginRequiredMiddleware"]
    answer = client.get(HEALTH)
    assert (answer.status_code, answer.json()) == (200, {"is_healthy": True, "reasons": []})
    assert "no-store" in answer["Cache-Control"]
    fail("roster")
    answer = client.get(HEALTH)
    assert answer.status_code == 503
    assert answer.json()["reasons"] == check().reasons == ["roster: failures are 1, more than 0."]
    assert b"1234" not in answer.content


def test_the_view_may_be_asked_for_one_group(client, behind, settings):
    settings.CCC_HEALTH = {"oldest_age": 900}
    register("mailer")
    groups.seek("mailer", to="end")
    assert client.get(HEALTH, {"group": "roster"}).status_code == 503
    assert client.get(HEALTH, {"group": "mailer"}).status_code == 200
    assert client.get(HEALTH, {"group": "nobody"}).status_code == 503


def test_the_view_is_for_looking_only():
    client = Client(enforce_csrf_checks=True)
    assert client.post(HEALTH).status_code == client.delete(HEALTH).status_code == 405
    answer = client.head(HEALTH)
    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"lagg": 1}, "lagg: Extra inputs are not permitted"),
        ({"lag": -1}, "lag: Input should be greater than or equal to 0"),
        ({"oldest_age": "soon"}, "oldest_age: Input should be a valid number"),
        ({"groups": {"mailer": {"workers": 1}}}, "groups.mailer.workers: Extra inputs are not permitted"),
        ("lag", "Input should be a valid dictionary"),
    ],
)
def test_limits_that_cannot_be_understood_are_said_at_start(settings, given, said):
    settings.CCC_HEALTH = given
    [problem] = run_checks(tags=["ccc_django"])
    assert problem.id == "ccc_django.E009"
    assert said in problem.msg
    assert "head_held" in problem.hint
    with pytest.raises(ValueError, match="CCC_HEALTH cannot be understood"):
        check()
