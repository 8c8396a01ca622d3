"""Plans: what append and read do with an index, they do without statistics, and after a table has grown."""

import re

import pytest
from django.db import DatabaseError, connection, transaction

from ccc_django import Condition, Event, Filter, entries, store, where
from ccc_django.compiling import compiled
from ccc_django.entries import Entry
from ccc_django.postgres import UNPREPARED, parameter
from ccc_django.sql import FOLDER, numbered, statement
from ccc_django.wanted import EVERYTHING, Wanted
from tests.plans.statistics import forgotten

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.postgres]

ROWS = 20_000
TABLES = ["ccc_messages", "ccc_message_key_pairs", "ccc_key_pairs", "ccc_shapes"]


class Joined(Event, type="plans.joined"):
    course_name: str
    user_id: str
    tenant: str = "big"


def fill(count: int) -> None:
    store.append([Joined(course_name=f"c{n // 10}", user_id=f"u{n % 500}") for n in range(count)])


def explain(name: str, **parameters: object) -> str:
    """The generic plan of a statement, as it is used after a few executions."""
    text, names = numbered(name)
    placeholders = ", ".join(["%s"] * len(names))
    with connection.cursor() as cursor:
        cursor.execute("SET plan_cache_mode = force_generic_plan")
        cursor.execute(f"PREPARE explained AS {text.replace('%', '%%')}")
        given = [parameter(parameters[each]).decode() for each in names]
        cursor.execute(f"EXPLAIN EXECUTE explained ({placeholders})", given)
        plan = "\n".join(row[0] for row in cursor.fetchall())
        cursor.execute("DEALLOCATE explained")
        cursor.execute("RESET plan_cache_mode")
    return plan


@pytest.fixture(params=["empty", "grown", "analysed"])
def log(request):
    """A log without statistics and without rows, one that has grown since, and one with statistics."""
    with forgotten(TABLES):
        if request.param != "empty":
            fill(ROWS)
        if request.param == "analysed":
            with connection.cursor() as cursor:
                cursor.execute(f"ANALYZE {', '.join(TABLES)}")
        yield request.param


def wanted(**options: int) -> dict[str, object]:
    conditions = [Condition(Joined.type, "course_name", "c7"), Condition(Joined.type, "tenant", "big")]
    return Wanted.by(conditions).parameters(after=0, most=EVERYTHING, **options)


READS = ["read_conditions", "read_conditions_backwards", "read_filter", "read_filter_backwards"]


@pytest.mark.parametrize("name", READS)
def test_a_read_probes_the_index_pair_by_pair(log, name):
    plan = explain(name, **wanted())
    assert_no_scans(plan)
    assert plan.count("ccc_message_key_pairs_pkey") >= 2


@pytest.mark.parametrize("name", ["take_guarded_positions", "take_filtered_positions"])
def test_a_guard_probes_the_index_pair_by_pair(log, name):
    columns = entries.parameters([Entry.of(Joined(course_name="c7", user_id="u1"))])
    plan = explain(name, **columns, **wanted() | {"most": 1}, seen=[], opened=1, declared=0)
    assert_no_scans(plan)
    assert plan.count("ccc_message_key_pairs_pkey") >= 2


def test_new_values_are_looked_up_by_index(log):
    columns = entries.parameters([Entry.of(Joined(course_name="new", user_id="u1"))])
    assert "ccc_key_pairs_digest" in explain("insert_index", **columns)


def assert_no_scans(plan: str) -> None:
    highest = float(re.search(r"\.\.(\d+)", plan)[1])
    assert "Bitmap" not in plan, f"in the order of the index, so that a limit ends it: {plan}"
    assert highest < 50_000, f"PostgreSQL compiles from 100,000 on, and this must not grow with the log: {plan}"
    for table in ("ccc_messages", "ccc_message_key_pairs", "ccc_key_pairs"):
        assert not re.search(rf"Seq Scan on {table}\b", plan), plan
    assert not re.search(r'ccc_message_key_pairs_position.*\n.*Index Cond: \(\("position" >', plan), plan
    assert "on ccc_messages message" not in plan or "ccc_messages_type" in plan, plan


def test_statements_are_generic_after_a_few_executions():
    for number in range(12):
        guard = store.read(Joined.to_conditions(course_name=f"c{number}")).guard
        store.append(Joined(course_name=f"c{number}", user_id="joe"), guard=guard)
        store.append(Joined(course_name="plain", user_id="joe"))
    with connection.cursor() as cursor:
        cursor.execute("SELECT name, generic_plans, custom_plans FROM pg_prepared_statements WHERE name LIKE 'ccc_%'")
        plans = cursor.fetchall()
    assert {name.rstrip("_0123456789") for name, _, _ in plans} >= {
        "ccc_lock_append",
        "ccc_take_positions",
        "ccc_insert_messages",
    }
    assert [plan for plan in plans if plan[2] > 5] == []


def test_statements_that_somebody_deallocated_are_prepared_again():
    store.append(Joined(course_name="c1", user_id="joe"))
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
    store.append(Joined(course_name="c1", user_id="ann"))
    with connection.cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
    with pytest.raises(DatabaseError, match="does not exist"), transaction.atomic():
        store.append(Joined(course_name="c1", user_id="jake"))
    with transaction.atomic():
        store.append(Joined(course_name="c1", user_id="jake"))
    assert [message.user_id for message in store.stream()] == ["joe", "ann", "jake"]


def test_every_statement_says_what_it_is_for():
    fragments = {"as_declared", "belongs", "bound", "conflict", "conflict_of_types"}
    fragments |= {"driver", "found_messages", "found_messages_backwards", "need", "need_of_conditions", "taken"}
    fragments |= {"found", "log_columns", "message_columns", "need_of_partition"}
    fragments |= UNPREPARED
    for path in FOLDER.glob("**/*.sql"):
        if path.stem not in fragments:
            assert path.read_text().startswith(f"-- {path.stem}: "), path
            vendor = "sqlite" if path.parent.name == "sqlite" else "postgresql"
            assert "include" not in statement(path.stem, vendor)


def driving_part(filter: Filter, need: str) -> list[int]:
    with connection.cursor() as cursor:
        parameters = {
            name: parameter(value).decode() if isinstance(value, list) else value
            for name, value in compiled(filter, []).parameters(after=0, most=1).items()
        }
        cursor.execute(f"WITH {statement(need, 'postgresql')} SELECT part FROM driver", parameters)
        return [part for (part,) in cursor.fetchall()]


@pytest.mark.parametrize("need", ["need", "need_of_conditions"])
@pytest.mark.parametrize(("few", "many"), [(1, 300), (60, 70), (100, 1_000)])
def test_the_part_with_the_fewest_entries_drives(few, many, need):
    store.append([Joined(course_name=f"few{n % 2}", user_id="x") for n in range(2 * few)])
    store.append([Joined(course_name="y", user_id="many") for _ in range(many)])
    wanted = where(type=Joined, course_name=["few0", "few1"], user_id="many")
    [part] = driving_part(wanted, need)
    names = {row.part: row.name for row in compiled(wanted, []).rows}
    assert names[part] == ("course_name" if 2 * few < many else "user_id")
