"""Pruning by an archive: only what a whole archive has, and what retention allows."""

import json
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from ccc_django import store, topics
from ccc_django.errors import ArchiveBroken, ArchiveBusy, NoArchive, UnknownTopic
from ccc_django.models import StoredMessage
from ccc_django.spark.archives import Archive
from ccc_django.spark.exporting import export
from ccc_django.spark.pruning import prune
from ccc_django.spark.verifying import verify
from tests.retaining import age
from tests.spark.portable import Joined
from tests.topics.orders import TOPIC, channel, handled, published

DAY = timedelta(days=1)


@pytest.fixture
def orders(spark):
    """A topic that keeps messages for a day, without a group, and four old messages in it."""
    channel(retention=DAY, unsubscribed_retention=DAY)
    published("a", "b", "c", "d")
    age()


def positions() -> list[int]:
    return [*StoredMessage.objects.order_by("position").values_list("position", flat=True)]


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("ccc_spark", "prune", *arguments, stdout=out, stderr=StringIO())
    return out.getvalue()


def test_only_what_the_archive_has_is_pruned(spark, orders, tmp_path):
    export(spark, tmp_path, after=1, upto=3)
    done = prune(spark, tmp_path)
    assert (done.count, done.after, done.upto) == (2, 1, 3)
    assert positions() == [1, 4]
    assert verify(spark, tmp_path).pruned == 2
    assert prune(spark, tmp_path).count == 0, "again, there is nothing to do"
    export(spark, tmp_path)
    assert prune(spark, tmp_path).count == 1
    assert positions() == [1]


def test_what_retention_keeps_stays(spark, orders, tmp_path):
    topics.subscribe(TOPIC, group="email", mode="all")
    store.append(Joined(course_name="in no topic that lets go"))
    [young] = [message.position for message in published("young")]
    export(spark, tmp_path)
    assert prune(spark, tmp_path).count == 0
    handled("email")
    assert prune(spark, tmp_path).count == 4
    assert positions() == [5, young]


def test_a_part_of_it_can_be_named(spark, orders, tmp_path):
    channel("other", unsubscribed_retention=DAY)
    published("e", topic="other")
    age(after=4)
    export(spark, tmp_path)
    assert prune(spark, tmp_path, "other").count == 1
    assert prune(spark, tmp_path, after=1, upto=2).count == 1
    assert positions() == [1, 3, 4]
    with pytest.raises(UnknownTopic):
        prune(spark, tmp_path, "nonsense")


def test_nothing_is_pruned_by_an_archive_that_is_not_whole(spark, orders, tmp_path):
    export(spark, tmp_path)
    [file] = [*tmp_path.rglob("*.parquet")]
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(ArchiveBroken, match=r"nothing was pruned: .* is not as it was written"):
        prune(spark, tmp_path)
    assert positions() == [1, 2, 3, 4]


def test_nothing_is_pruned_by_no_archive_nor_while_somebody_writes_to_it(spark, orders, tmp_path):
    with pytest.raises(NoArchive):
        prune(spark, tmp_path / "none")
    assert not (tmp_path / "none").exists()
    export(spark, tmp_path)
    with Archive(tmp_path).locked(), pytest.raises(ArchiveBusy):
        prune(spark, tmp_path)
    assert positions() == [1, 2, 3, 4]


def test_the_command_tells_what_would_leave_and_what_has_left(spark, orders, tmp_path):
    export(spark, tmp_path, upto=3)
    told = run("--archived", str(tmp_path), "--dry-run")
    assert told.startswith(f"3 messages up to 3 would leave the database, if {tmp_path} is whole.\ntopic")
    assert positions() == [1, 2, 3, 4]
    done = run("--archived", str(tmp_path), "--topic", TOPIC)
    assert done.startswith(f"3 messages that {tmp_path} has up to 3 have left the database.\ntopic")
    again = json.loads(run("--archived", str(tmp_path), "--json"))
    assert (again["upto"], [each["count"] for each in again["topics"]]) == (3, [0])
    with pytest.raises(CommandError, match="is no archive"):
        run("--archived", str(tmp_path / "none"))
