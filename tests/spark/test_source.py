"""The log as a data source: everything that is final, nothing else, in whole or in part."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from django.db import connection, transaction
from hypothesis import given
from hypothesis import strategies as some

from ccc_django import spark as ccc
from ccc_django import store
from ccc_django.errors import LogUnreachable
from ccc_django.models import StoredMessage
from ccc_django.spark.connecting import database
from ccc_django.spark.database import Database
from ccc_django.spark.ranges import Range, Statistics, planned
from ccc_django.spark.source import ranges_to_read
from ccc_django.spark.starting import PUSHDOWN, keeps_scans_apart
from ccc_django.spark.wanted import Part
from tests.concurrency.acting import actor
from tests.spark.portable import Announced, Gathered, Joined


def positions(rows) -> list[int]:
    return sorted(row.position for row in rows.collect())


def test_a_row_has_everything_that_a_message_has(spark):
    [message] = store.append(
        Joined(course_name='Ünïcode "quoted"\n', user_id=1, topic="news", metadata={"tags": ["a"], "by": "me"})
    )
    [row] = ccc.read(spark).collect()
    envelope = message.envelope
    assert (row.position, row.message_type, row.version, row.topic) == (message.position, "spark.joined", 1, "news")
    ids = (envelope.id, envelope.correlation_id, envelope.causation_id)
    assert (row.message_id, row.correlation_id, row.causation_id) == tuple(map(str, ids))
    assert (utc(row.created_at), utc(row.appended_at)) == (envelope.created_at, envelope.appended_at)
    assert sorted(row.attributes) == ["$tag", "course_name", "paid", "user_id"]
    [stored] = StoredMessage.objects.all()
    assert stored.payload == json.loads(row.payload)
    assert stored.metadata == json.loads(row.metadata)


def utc(time: datetime) -> datetime:
    return time.astimezone(UTC)


def test_options_name_a_part_of_the_log(spark):
    store.append([Joined(course_name="a"), Announced(text="x", topic="news"), Gathered(), Joined(topic="news")])
    read = ccc.read
    assert positions(read(spark)) == [1, 2, 3, 4]
    assert positions(read(spark, after=1, upto=3)) == [2, 3]
    assert positions(read(spark, types=Joined)) == [1, 4]
    assert positions(read(spark, types=[Joined, "spark.gathered"])) == [1, 3, 4]
    assert positions(read(spark, topic="news")) == [2, 4]
    assert positions(read(spark, topic="")) == [1, 3]
    assert positions(read(spark, topic="news", types=Joined)) == [4]


def test_times_name_a_part_of_the_log(spark):
    store.append([Joined() for _ in range(4)])
    moment = datetime(2026, 1, 31, 12, tzinfo=UTC)  # a whole second, which SQLite keeps without a fraction
    for position in range(1, 5):
        StoredMessage.objects.filter(position=position).update(
            appended_at=moment + timedelta(microseconds=position - 2)
        )
    read = ccc.read
    assert positions(read(spark, since=moment)) == [2, 3, 4]
    assert positions(read(spark, since=moment, until=moment)) == [2]
    assert positions(read(spark, until=moment, types=Joined)) == [1, 2]
    assert positions(read(spark, until=moment, topic="")) == [1, 2]


def test_columns_are_those_that_are_asked_for(spark, tmp_path):
    """What is not asked for does not leave the database; from an archive it is the same."""
    store.append([Joined(course_name="a", topic="news"), Announced(text="x")])
    ccc.export(spark, tmp_path)
    for archive in (None, tmp_path):
        some = ccc.read(spark, archive, columns=["topic", "position", "attributes"])
        assert some.columns == ["position", "topic", "attributes"]
        rows = [(row.position, row.topic, row.attributes) for row in some.orderBy("position").collect()]
        assert rows == [(1, "news", ["course_name", "paid"]), (2, "", ["text"])]
        texts = ccc.read(spark, archive, columns=["payload"], types=Announced, after=1).collect()
        assert [json.loads(row.payload) for row in texts] == [{"text": "x"}]


def test_columns_that_assigning_needs_are_enough(spark):
    store.append([Joined(course_name="a", user_id=1), Joined(course_name="a")])
    needed = ["position", "message_type", "payload", "attributes"]
    assignment = ccc.assign(["course_name", "user_id"], keep=["position"])
    found = ccc.read(spark, columns=needed).transform(assignment).collect()
    assignment.forget()
    assert sorted(row.position for row in found) == [1, 2]
    with pytest.raises(ValueError, match="needs the column payload"):
        ccc.read(spark, columns=["position", "message_type", "attributes"]).transform(ccc.assign("course_name"))


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("after", "x", "after='x': a number from 0 on"),
        ("connections", "0", "connections='0': a number from 1 on"),
        ("since", "yesterday", "a time with its zone"),
        ("since", "2026-01-31", "a time with its zone"),
        ("table", "other", "There is no option 'table'"),
        ("columns", "position,body", "there is no 'body'. There are: position, message_id"),
    ],
)
def test_an_option_that_cannot_be_understood_is_named(spark, option, value, said):
    with pytest.raises(Exception, match=said):
        spark.read.format("ccc").option(option, value).load()


def test_the_format_can_be_used_as_any_other(spark):
    store.append([Joined(), Joined(), Joined()])
    assert positions(spark.read.format("ccc").option("after", 1).load()) == [2, 3]
    spark.read.format("ccc").load().createOrReplaceTempView("log")
    assert spark.sql("SELECT max(position) AS head FROM log").first().head == 3


def test_one_frame_with_two_filters_gives_both_their_rows(spark):
    store.append([Joined() for _ in range(10)])
    log = ccc.read(spark)
    assert log.where("position <= 3").count() == 3
    assert log.count() == 10
    assert positions(log.where("position <= 3").union(log.where("position > 8"))) == [1, 2, 3, 9, 10]


def test_filters_are_handed_down_where_spark_is_told_to(spark):
    store.append([Joined(), Announced(text="x", topic="news"), Joined(topic="news"), Joined(topic="news")])
    before = spark.conf.get(PUSHDOWN)
    spark.conf.set(PUSHDOWN, "true")
    try:
        condition = "position > 1 AND position <= 3 AND message_type = 'spark.joined' AND topic IN ('news', 'x')"
        part = ccc.read(spark).where(condition).where("appended_at > '2020-01-01' AND version = 1")
        assert positions(part) == [3]
        plan = part._jdf.queryExecution().executedPlan().toString()
        assert "version" in plan
        assert "position#" not in plan.partition("Filter")[2].partition("\n")[0], "only the version is left to Spark"
    finally:
        spark.conf.set(PUSHDOWN, before)


def test_filters_are_handed_down_by_default_once_spark_keeps_scans_apart(spark):
    assert (spark.conf.get(PUSHDOWN) == "true") is keeps_scans_apart(spark)


def test_a_frame_has_the_same_messages_however_often_it_is_run(spark):
    store.append([Joined(), Joined()])
    log = ccc.read(spark)
    store.append(Joined())
    assert log.count() == 2
    assert ccc.read(spark).count() == 3


@pytest.mark.postgres
def test_nothing_is_read_past_an_append_that_is_still_open(spark):
    store.append(Joined())
    with actor() as slow:
        slow.begin()
        slow.do(store.append, Joined())
        store.append([Joined(), Joined()])
        before = ccc.read(spark)
        slow.commit()
        assert positions(before) == [1], "also if it is run after the commit"
        assert positions(ccc.read(spark)) == [1, 2, 3, 4]


@pytest.mark.postgres
def test_no_more_connections_are_open_than_allowed(spark):
    store.append([Joined() for _ in range(3)])
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ccc_messages SET position = position * 1000000")
    place = database()
    assert len(ranges_to_read(place, Part(connections=3), Range(0, 10_000_000))) == 3
    assert len(ranges_to_read(place, Part(), Range(0, 10_000_000))) > 3


@given(
    after=some.integers(0, 10**7),
    width=some.integers(0, 10**7),
    first=some.integers(1, 10**7),
    size=some.integers(0, 10**7),
    messages=some.one_of(some.none(), some.integers(0, 10**8)),
    bounds=some.lists(some.integers(1, 10**7), max_size=20, unique=True).map(sorted),
    most=some.integers(1, 20),
)
def test_ranges_have_every_position_that_is_asked_for_once(after, width, first, size, messages, bounds, most):
    ranges = planned(Range(after, after + width), Statistics(first, first + size, messages, bounds), most)
    wanted = range(max(after + 1, first), min(after + width, first + size) + 1)
    assert len(ranges) <= most
    assert all(one.upto == other.after for one, other in pairwise(ranges))
    assert (not wanted) == (not ranges)
    if ranges:
        assert (ranges[0].after + 1, ranges[-1].upto) == (wanted[0], wanted[-1])


def test_ranges_follow_what_the_server_knows_of_gaps():
    known = Statistics(1, 10_000_000, 1_000_000, [1, 500_000, 10_000_000])
    first, *_ = planned(Range(0, 10_000_000), known, 2)
    assert first.upto == pytest.approx(500_000, rel=0.01), "as many messages on both sides"


def test_a_database_that_cannot_be_reached_is_said_to_be(spark, tmp_path):
    with pytest.raises(LogUnreachable, match="cannot be reached"):
        Database("postgresql", f"host={tmp_path} dbname=nothing").head()


@pytest.mark.sqlite
def test_whoever_opens_the_file_while_others_open_and_close_it_waits(spark):
    """SQLite locks the file for moments when its last connection goes and its first comes."""
    script = f"""
from ccc_django.spark.database import Database
place = Database("sqlite", {database().address!r})
heads = [place.head() for _ in range(1_000)]
assert heads == sorted(heads)
"""
    connection.close()
    with subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True) as reader:
        while reader.poll() is None:
            store.append(Joined())
            connection.close()
        assert reader.returncode == 0, reader.stderr.read()


@pytest.mark.sqlite
def test_the_driver_opens_no_file_by_another_sqlite(spark):
    """Two copies of SQLite in one process take each other's locks away; the driver asks through Django."""
    with pytest.raises(AssertionError, match="two copies of SQLite"):
        database().head()


def test_an_open_transaction_of_the_driver_is_not_read(spark):
    store.append(Joined())
    with transaction.atomic():
        if connection.vendor == "postgresql":  # SQLite has one writer, and nobody else can look meanwhile
            store.append(Joined())
        assert ccc.read(spark).count() == 1
