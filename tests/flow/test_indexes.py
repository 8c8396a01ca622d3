"""Payload indexes: declared, built, used and dropped while appends go on."""

import json
import os
import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.db import transaction
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from ccc_django import Event, Sensitive, Unindexed, indexes, registry, store, where
from ccc_django.errors import IndexNeeded, IndexNotReady, InsideTransaction, NotIndexed
from ccc_django.indexes import building, in_code, versions
from ccc_django.models import KeyPair, MessageKeyPair, PayloadIndex, Shape, StoredMessage
from ccc_django.models.payload_index import Status
from tests.domain import CourseCreated, TermStarted

pytestmark = pytest.mark.django_db(transaction=True)


class Account(Event, type="indexes.account"):
    account_id: Annotated[str, Unindexed]
    owner: Any = None


class Secret(Event, type="indexes.secret"):
    card: Annotated[str, Sensitive]


def entries() -> set[tuple[UUID, int, int]]:
    return {*MessageKeyPair.objects.values_list("key_pair", "shape", "position")}


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
scalars |= st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8)
owners = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xy0"), inner), max_leaves=6
)
KINDS = [
    ("payload", ["owner"]),
    ("payload", ["owner.x"]),
    ("payload", ["owner.0"]),
    ("payload_hash", ["owner", "account_id"]),
    ("payload_hash", ["owner.x", "owner.y"]),
]


def test_building_gives_the_entries_that_an_append_would_have_given():
    @given(st.lists(owners, min_size=1, max_size=6), st.booleans())
    def agree(values, nulls):
        for model in (StoredMessage, MessageKeyPair, KeyPair, Shape, PayloadIndex):
            model.objects.all().delete()
        made = [Account(account_id=str(n % 2), owner=value) for n, value in enumerate(values)]
        first = [message.position for message in store.append(made)]
        for kind, fields in KINDS:
            indexes.declare(kind, fields, nulls=nulls)
        built, named = entries(), {*KeyPair.objects.values_list("digest", "name", "value")}
        again = [Account(account_id=message.account_id, owner=message.owner) for message in made]
        second = [message.position for message in store.append(again)]
        assert {(pair, shape, first.index(position)) for pair, shape, position in built} == {
            (pair, shape, second.index(position)) for pair, shape, position in entries() - built
        }
        assert named == {*KeyPair.objects.values_list("digest", "name", "value")}
        assert len({*Shape.objects.values_list("digest")}) == Shape.objects.count()

    agree()


def test_an_index_covers_old_messages_and_new_ones():
    old = store.append([Account(account_id=f"a{n}") for n in range(3)])
    row = indexes.declare("payload", ["account_id"])
    assert row.status == Status.READY
    new = store.append([Account(account_id=f"a{n}") for n in range(3)])
    assert store.read(where(account_id="a1")).messages == [old[1], new[1]]
    assert MessageKeyPair.objects.count() == 6


def test_an_index_on_a_log_in_batches_says_how_far_it_is(monkeypatch):
    monkeypatch.setattr(building, "BATCH", 2)
    store.append([Account(account_id=f"a{n}") for n in range(5)])
    seen = []
    row = indexes.declare("payload", ["account_id"], progress=lambda row: seen.append((row.status, row.built_upto)))
    assert [status for status, _ in seen] == ["building", "building", "ready"]
    assert seen[-1][1] == row.upto == store.head()


def test_a_build_that_was_interrupted_goes_on(monkeypatch):
    monkeypatch.setattr(building, "BATCH", 2)
    store.append([Account(account_id=f"a{n}") for n in range(6)])

    def stop(row):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        indexes.declare("payload", ["account_id"], progress=stop)
    assert MessageKeyPair.objects.count() == 2
    assert [message.account_id for message in store.read(where(account_id="a5")).messages] == ["a5"]
    [state] = indexes.overview()
    assert state["status"] == "building"
    assert 0 < state["coverage"] < 1
    indexes.build()
    assert indexes.overview()[0]["coverage"] == 1
    assert MessageKeyPair.objects.count() == 6


def test_declared_again_it_goes_on_and_with_nulls_it_is_built_again():
    store.append([Account(account_id="a"), Account(account_id="a", owner="joe")])
    first = indexes.declare("payload", ["owner"])
    assert indexes.declare("payload", ["owner"]).version == first.version
    with pytest.raises(NotIndexed):
        store.read(where(type=Account, owner=None))
    indexes.declare("payload", ["owner"], nulls=True)
    assert len(store.read(where(type=Account, owner=None)).messages) == 1
    assert PayloadIndex.objects.count() == 1


def test_what_was_scheduled_before_has_its_entries(settings):
    store.schedule(Account(account_id="later"), at=timezone.now())
    indexes.declare("payload", ["account_id"])
    store.promote()
    assert [message.account_id for message in store.read(where(account_id="later")).messages] == ["later"]


def test_a_dropped_index_takes_its_entries_along_and_nothing_else():
    store.append([Account(account_id="a"), CourseCreated(course_name="a")])
    indexes.declare("payload", ["account_id"])
    indexes.declare("payload", ["course_name"])
    assert store.read(where(account_id="a")).messages
    assert indexes.drop("account_id") == 1
    assert indexes.drop("course_name") == 0, "the class indexes it by itself"
    with pytest.raises(NotIndexed):
        store.read(where(account_id="a"))
    assert store.read(where(course_name="a")).messages
    with pytest.raises(LookupError, match="There are: none"):
        indexes.drop("account_id")
    indexes.declare("payload", ["account_id"])
    assert store.read(where(account_id="a")).messages


def test_an_index_that_something_needs_is_not_dropped(monkeypatch):
    module = ModuleType("courses.ccc_indexes")
    module.INDEXES = [("payload", ["owner"], {"nulls": True})]
    module.FILTERS = {"my accounts": where(type=Account, account_id="a")}
    monkeypatch.setattr(in_code, "_modules", lambda: [module])
    indexes.declare("payload", ["account_id"])
    assert indexes.sync() == []
    with pytest.raises(IndexNeeded, match=r"courses\.ccc_indexes"):
        indexes.drop("owner")
    with pytest.raises(IndexNeeded, match='the filter "my accounts"'):
        indexes.drop("account_id")
    assert {row["name"]: row["needed_by"] for row in indexes.overview()} == {
        "account_id": ['the filter "my accounts"'],
        "owner": ["courses.ccc_indexes"],
    }


def test_indexes_in_code_come_with_migrate(monkeypatch, capsys):
    monkeypatch.setattr(registry, "_classes", {})

    class Parcel(Event, type="indexes.parcel", indexes=["to.city", ("to.city", "size")]):
        to: dict[str, str]
        size: int

    store.append([Parcel(to={"city": "Lisbon"}, size=n) for n in range(3)])
    monkeypatch.setattr(in_code, "AT_ONCE", 0)
    call_command("migrate", verbosity=1)
    assert "Indexes to build: payload(to.city)" in capsys.readouterr().out
    monkeypatch.setattr(in_code, "AT_ONCE", 10_000)
    call_command("migrate", verbosity=1)
    assert "Indexes to build" not in capsys.readouterr().out
    assert [message.size for message in store.read(where(type=Parcel, to__city="Lisbon", size=2)).messages] == [2]


def test_declaring_needs_to_commit_by_itself():
    with transaction.atomic():
        for verb in (lambda: indexes.declare("payload", ["owner"]), indexes.build, lambda: indexes.drop("owner")):
            with pytest.raises(InsideTransaction):
                verb()


class Holder(BaseModel):
    ssn: Annotated[str, Sensitive]


class Licence(Event, type="indexes.licence"):
    holder: Holder


def test_what_is_sensitive_is_never_indexed(monkeypatch):
    for name in ("card", "holder.ssn"):
        with pytest.raises(ValueError, match="sensitive"):
            indexes.declare("payload", [name])
    indexes.declare("payload", ["email"])
    monkeypatch.setattr(registry, "_classes", {**registry._classes})

    class Contact(Event, type="indexes.contact"):
        email: Annotated[str, Sensitive]

    store.append(Contact(email="joe@example.com"))
    assert KeyPair.objects.count() == MessageKeyPair.objects.count() == 0
    PayloadIndex.objects.update(status=Status.BUILDING, upto=store.head(), version=77)
    assert store.read(where(email="joe@example.com")).messages == []
    indexes.build()
    assert MessageKeyPair.objects.count() == 0


def test_too_many_combinations_are_refused_and_old_ones_are_indexed():
    many = {"account_id": "a", "owner": {"x": list(range(101)), "y": list(range(100))}}
    store.append(Account(**many))
    store.schedule(Account(**many), at=timezone.now())
    indexes.declare("payload_hash", ["owner.x", "owner.y"])
    assert len(store.read(where(type=Account, owner__x=100, owner__y=99)).messages) == 1
    with pytest.raises(ValueError, match="10,100 combinations"):
        store.append(Account(**many))
    assert store.promote() == 1
    assert len(store.read(where(type=Account, owner__x=100, owner__y=99)).messages) == 2


def test_the_same_message_again_after_an_index_was_declared():
    [stored] = store.append(Account(account_id="a"))
    indexes.declare("payload", ["account_id"])
    assert store.append(stored)[0].position == stored.position
    assert MessageKeyPair.objects.count() == 1


def test_a_change_by_somebody_else_is_not_overwritten():
    indexes.declare("payload", ["owner"])
    stale = PayloadIndex.objects.get()
    indexes.declare("payload", ["owner"], nulls=True)
    before = PayloadIndex.objects.get()
    versions.update(stale, status=Status.DROPPED)
    assert PayloadIndex.objects.get().version == before.version
    assert stale.status == Status.READY


@pytest.mark.sqlite
def test_migrating_another_app_first_is_no_problem(tmp_path):
    program = """
import django, sys
from django.conf import settings
settings.configure(USE_TZ=True, INSTALLED_APPS=["django.contrib.contenttypes", "ccc_django"],
    DATABASES=dict(default=dict(ENGINE="django.db.backends.sqlite3", NAME=sys.argv[1])))
django.setup()
from django.core.management import call_command
for arguments in (["contenttypes"], [], ["ccc_django", "zero"], []):
    call_command("migrate", *arguments, verbosity=0)
"""
    command = [sys.executable, "-c", program, str(tmp_path / "new.sqlite3")]
    environment = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
    done = subprocess.run(command, cwd=Path(__file__).parents[2], env=environment, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()


def test_null_is_a_value_if_one_declaration_says_so(monkeypatch):
    modules = [ModuleType("one.ccc_indexes"), ModuleType("two.ccc_indexes")]
    modules[0].INDEXES = [("payload", ["owner"])]
    modules[1].INDEXES = [("payload", ["owner"], {"nulls": True})]
    monkeypatch.setattr(in_code, "_modules", lambda: modules)
    indexes.sync()
    [row] = PayloadIndex.objects.all()
    indexes.sync()
    assert (row.nulls, row.version) == (True, PayloadIndex.objects.get().version)
    assert indexes.overview()[0]["needed_by"] == ["one.ccc_indexes, two.ccc_indexes"]


class Home(BaseModel):
    city: str


class Moved(Event, type="indexes.moved"):
    home: Home
    former: Annotated[list[Home], Unindexed] = []
    moved_on: Annotated[date | None, Unindexed] = None
    at: Annotated[datetime | None, Unindexed] = None
    price: Annotated[Decimal | None, Unindexed] = None
    done: Annotated[bool | None, Unindexed] = None


def test_whole_objects_are_refused_and_fields_inside_are_not():
    for name in ("home", "former"):
        with pytest.raises(ValueError, match="holds objects"):
            indexes.declare("payload", [name])
    assert PayloadIndex.objects.count() == 0
    indexes.declare("payload", ["home.city"])
    indexes.declare("payload", ["former.city"])
    [moved] = store.append(Moved(home={"city": "Lisbon"}, former=[{"city": "Porto"}, {"city": "Braga"}]))
    assert store.read(where(home__city="Lisbon", former__city="Braga")).messages == [moved]
    assert store.read(where(former__city="Lisbon")).messages == []


def test_dates_decimals_and_truth_are_found():
    values = {
        "moved_on": date(2026, 7, 1),
        "at": datetime(2026, 7, 1, 12, tzinfo=UTC),
        "price": Decimal("1.50"),
        "done": False,
    }
    old = store.append([Moved(home={"city": "x"}, **values), Moved(home={"city": "x"})])[0]
    for name in values:
        indexes.declare("payload", [name])
    new = store.append([Moved(home={"city": "x"}, **values), Moved(home={"city": "x"})])[0]
    for name, value in values.items():
        assert store.read(where({name: value})).messages == [old, new]
    assert store.read(where(type=Moved, done=0)).messages == []


def test_an_index_that_has_not_opened_is_not_used():
    indexes.declare("payload", ["owner"])
    PayloadIndex.objects.filter(name="owner").update(status=Status.DECLARED, version=99)
    with pytest.raises(IndexNotReady, match="ccc_indexes build"):
        store.read(where(type=Account, owner="joe"))
    indexes.build()
    assert store.read(where(type=Account, owner="joe")).messages == []


def test_a_rolled_back_declaration_is_forgotten():
    with transaction.atomic():
        PayloadIndex.objects.create(name="owner", kind="payload", fields=["owner"], status=Status.READY, version=1)
        store.append(Account(account_id="a", owner="joe"))
        assert store.read(where(owner="joe")).messages
        transaction.set_rollback(True)
    with pytest.raises(NotIndexed):
        store.read(where(type=Account, owner="joe"))
    store.append(Account(account_id="a", owner="joe"))
    assert MessageKeyPair.objects.count() == 0


def run(*arguments: str) -> str:
    output = StringIO()
    call_command("ccc_indexes", *arguments, stdout=output)
    return output.getvalue()


def test_the_command_lists_declares_builds_and_drops():
    assert run() == "There are none.\n"
    store.append([Account(account_id="a", owner={"city": "Lisbon"}), TermStarted()])
    assert "building" in run("declare", "account_id", "--later")
    assert "ready" in run("build")
    [one, two] = json.loads(run("--json", "declare", "owner.city", "account_id"))
    assert one["entries"] == one["values"] == two["entries"] == 1
    assert two["kind"] == "payload_hash"
    assert json.loads(run("--json", "drop", two["name"])) == [one]
    run("declare", "owner.city", "account_id")
    run("drop", "account_id", "owner.city")
    assert len(json.loads(run("--json"))) == 1
    for wrong in (["drop", "nothing"], ["declare", "$tag"], ["build", "nothing"]):
        with pytest.raises(CommandError):
            run(*wrong)
