"""Decisions under filters hold against every other, and indexes are built while appends go on."""

import os
import random
import signal
import time
from contextlib import suppress
from typing import Annotated, Any

import pytest
from django.db import connection, transaction

from ccc_django import Event, Unindexed, declared, filters, indexes, store, where
from ccc_django.errors import AppendConflict, AppendInterrupted, IndexNotReady
from ccc_django.filters import AllOf, AnyOf, FieldIs, Filter, TypeIs
from ccc_django.indexes import building, versions
from ccc_django.models import MessageKeyPair, PayloadIndex, StoredMessage
from ccc_django.models.payload_index import Status
from ccc_django.payload_index import value_text
from ccc_django.store import writing
from tests.concurrency.processes import assert_overlapped, fork, in_background, together

pytestmark = pytest.mark.django_db(transaction=True)

FLIGHTS, SEATS, CLASSES = ["FL1", "FL2", "FL3"], ["1A", "1B", "1C"], ["eco", "biz"]


class Reserved(Event, type="racing.reserved"):
    """What was decided, by which filter, and what its reader had seen."""

    flight: str
    seat: Annotated[str, Unindexed]
    cabin: Annotated[str, Unindexed]
    decided_by: Annotated[dict[str, Any], Unindexed]
    after: Annotated[int, Unindexed]
    seen: Annotated[list[int], Unindexed]


class Cancelled(Event, type="racing.cancelled"):
    flight: str
    seat: Annotated[str, Unindexed]


def random_filter(dice: random.Random) -> Filter:
    flight, seat, cabin = dice.choice(FLIGHTS), dice.choice(SEATS), dice.choice(CLASSES)
    return dice.choice(
        [
            where(type=Reserved, flight=flight, seat=seat),
            where(flight=flight, seat=seat),
            where(seat=[seat, dice.choice(SEATS)]) & where(type=[Reserved, Cancelled]),
            where(type=Reserved) & (where(seat=seat, cabin=cabin) | where(tag="vip")),
            where.all_of(tags=["vip", flight]) | where(type=Cancelled, flight=flight),
            where(type=Cancelled),
            where(cabin=cabin, flight=flight) | where(seat=seat, flight=flight),
        ]
    )


def race(number: int, rounds: int) -> list[int]:
    dice, won = random.Random(number), []
    for _ in range(rounds):
        filter = random_filter(dice)
        context = store.read(filter)
        if dice.random() < 0.2:
            with suppress(AppendInterrupted):
                store.append(Cancelled(flight=dice.choice(FLIGHTS), seat=dice.choice(SEATS)))
        flight = dice.choice(FLIGHTS)
        event = Reserved(
            flight=flight,
            seat=dice.choice(SEATS),
            cabin=dice.choice(CLASSES),
            decided_by=filters.to_json(filter),
            after=context.guard.after,
            seen=sorted(context.guard.seen),
            metadata={"tags": dice.choice([[], ["vip"], ["vip", flight]])},
        )
        try:
            with transaction.atomic():
                won += [message.position for message in store.append(event, guard=context.guard)]
                time.sleep(dice.choice([0, 0, 0.002]))  # stays open for a while
        except (AppendConflict, AppendInterrupted):  # a deadlock is possible when an index comes in between
            pass
    return won


def matches(message: Event, filter: Filter) -> bool:
    match filter:
        case TypeIs(type):
            return message.type == type
        case FieldIs(name, text):
            found = message.metadata.get("tags", ()) if name == "$tag" else [message.payload.get(name)]
            return any(value_text(value) == text for value in found)
        case AllOf(parts):
            return all(matches(message, part) for part in parts)
        case AnyOf(parts):
            return any(matches(message, part) for part in parts)
    return True


def declare_and_drop() -> None:
    """Filters find another way as a combination comes and goes."""
    for _ in range(3):
        indexes.declare("payload_hash", ["flight", "seat"])
        time.sleep(0.1)
        indexes.drop(["flight", "seat"])


def test_every_decision_was_allowed_by_the_log_as_it_stood(proof):
    indexes.declare("payload", ["seat"])
    indexes.declare("payload", ["cabin"])
    rounds = 60 if proof else 12
    racers = [lambda number=number: race(number, rounds) for number in range(16)]
    *reports, _ = all_reports = together(*racers, declare_and_drop)
    assert_overlapped(all_reports)
    log = store.read().messages
    decided = [message for message in log if isinstance(message, Reserved)]
    assert sorted(message.position for message in decided) == sorted(p for report in reports for p in report.result)
    assert len(decided) > 16, "some were allowed"
    assert len(decided) < 16 * rounds, "some were not"
    for event in decided:
        filter = filters.read_json(event.decided_by)
        between = [each for each in log if event.after < each.position < event.position]
        assert {each.position for each in between if matches(each, filter)} <= {*event.seen}, (event, filter)


class Opened(Event, type="racing.opened"):
    account: Annotated[str, Unindexed]


def append_until_declared(number: int) -> int:
    """Append all the time, alone and in open transactions, until the index is ready and a little longer; how many."""
    deadline, count, later = time.monotonic() + 30, 0, 0
    while time.monotonic() < deadline and later < 10:
        with transaction.atomic():
            store.append(Opened(account=f"a{count % 7}"))
            time.sleep(0.003 * (number % 3))
        store.append([Opened(account=f"a{n % 7}") for n in range(3)])
        count += 4
        later += PayloadIndex.objects.filter(status=Status.READY).exists()
        time.sleep(0.01)  # SQLite promises nobody a turn
    return count


def declare_later() -> None:
    time.sleep(0.5)
    indexes.declare("payload", ["account"])


def test_an_index_that_is_declared_while_appends_go_on_misses_none(monkeypatch):
    monkeypatch.setattr(building, "BATCH", 50)
    store.append([Opened(account=f"a{n % 7}") for n in range(100)])
    reports = together(*[lambda number=number: append_until_declared(number) for number in range(4)], declare_later)
    assert_overlapped(reports)
    total = 100 + sum(report.result for report in reports[:-1])
    assert MessageKeyPair.objects.count() == total
    found = [store.read(where(type=Opened, account=f"a{n}")).messages for n in range(7)]
    assert sum(map(len, found)) == total
    [row] = PayloadIndex.objects.all()
    assert row.status == Status.READY
    assert row.upto < store.head(), "appends went on, and indexed what they wrote"


def hold(pipe) -> None:
    declared.current()
    with transaction.atomic():
        store.append(Opened(account="held"))
        pipe.send(True)
        pipe.recv()


@pytest.mark.postgres
def test_an_index_opens_when_appends_that_do_not_know_it_have_ended_and_nobody_waits_for_it(monkeypatch):
    monkeypatch.setattr(versions, "PATIENCE", 0.2)
    declared.current()
    here, there = fork.Pipe()
    with in_background(hold, there) as process:
        assert here.poll(20)
        with pytest.raises(IndexNotReady, match="1 transactions"):
            indexes.declare("payload", ["account"])
        started = time.monotonic()
        store.append(Opened(account="meanwhile"))
        assert time.monotonic() - started < 1
        assert PayloadIndex.objects.get().status == Status.DECLARED
        here.send(True)
        process.join()
    indexes.build()
    assert len(store.read(where(account=["held", "meanwhile"])).messages) == 2


def build_slowly(pipe) -> None:
    def slowly(row) -> None:
        pipe.send(row.built_upto)
        time.sleep(0.05)

    building.BATCH = 10
    indexes.declare("payload", ["account"], progress=slowly)


def test_a_crash_in_the_middle_of_building_loses_nothing_and_another_goes_on():
    stored = store.append([Opened(account=f"a{n}") for n in range(200)])
    here, there = fork.Pipe()
    with in_background(build_slowly, there) as process:
        assert here.poll(20)
        here.recv()
        os.kill(process.pid, signal.SIGKILL)
    row = PayloadIndex.objects.get()
    assert row.status == Status.BUILDING
    assert MessageKeyPair.objects.count() == len([message for message in stored if message.position <= row.built_upto])
    assert [message.account for message in store.read(where(account="a199")).messages] == ["a199"]
    store.append(Opened(account="a199"))
    indexes.build()
    assert MessageKeyPair.objects.count() == 201
    assert len(store.read(where(account="a199")).messages) == 2


def build_batches() -> int:
    building.BATCH = 20
    done = []
    indexes.build(progress=lambda row: done.append(row.built_upto))
    return len(done)


def test_several_builders_share_the_work():
    store.append([Opened(account=f"a{n}") for n in range(1_000)])
    indexes.declare("payload", ["account"], complete=False)
    reports = together(*[build_batches] * 4)
    assert_overlapped(reports)
    assert MessageKeyPair.objects.count() == 1_000
    assert PayloadIndex.objects.get().status == Status.READY


def declare_when_told(pipe) -> None:
    pipe.recv()
    indexes.declare("payload", ["account"])
    pipe.send(True)


@pytest.mark.postgres
@pytest.mark.parametrize("warm", [True, False])
def test_a_transaction_that_sees_the_past_appends_nothing_without_its_entries(warm):
    here, there = fork.Pipe()
    with in_background(declare_when_told, there):
        declared.reload()
        if not warm:
            declared.forget()
        with pytest.raises(AppendInterrupted, match="declared since"), transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                cursor.execute("SELECT count(*) FROM ccc_payload_indexes")
            here.send(True)
            assert here.poll(20)
            store.append(Opened(account="past"))
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            store.append(Opened(account="again"))
    store.append(Opened(account="present"))
    found = store.read(where(account=["past", "again", "present"])).messages
    assert [message.account for message in found] == ["again", "present"]


def test_a_long_append_begins_again_when_an_index_is_declared_in_its_middle(monkeypatch):
    monkeypatch.setattr(writing, "BATCH", 10)
    declared.reload()
    here, there = fork.Pipe()
    with in_background(declare_when_told, there):
        insertion, batches = writing._insertion, []

        def insertion_with_a_pause(*arguments, **options):
            batches.append(len(arguments[0]))
            if len(batches) == 2:
                here.send(True)
                while not PayloadIndex.objects.exists():
                    time.sleep(0.01)
            return insertion(*arguments, **options)

        if connection.vendor == "postgresql":  # on SQLite nobody declares meanwhile
            monkeypatch.setattr(writing, "_insertion", insertion_with_a_pause)
        else:
            here.send(True)
        stored = store.append([Opened(account=f"a{n}") for n in range(25)])
        assert here.poll(20)
    assert len(stored) == StoredMessage.objects.count() == MessageKeyPair.objects.count() == 25
    assert connection.vendor == "sqlite" or len(batches) == 5


def test_an_index_can_be_dropped_while_it_is_built():
    store.append([Opened(account=f"a{n}") for n in range(500)])
    here, there = fork.Pipe()
    with in_background(build_slowly, there) as process:
        assert here.poll(20)
        indexes.drop("account")
        process.join(20)
        assert process.exitcode == 0
    assert MessageKeyPair.objects.count() == 0
    assert [row.status for row in PayloadIndex.objects.all()] == [Status.DROPPED]
