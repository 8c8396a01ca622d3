"""The log as a stream: the offset is a position; nothing is lost or doubled, whatever fails and whoever is late."""

import json
from pathlib import Path

import pytest
from django.db import connection

from ccc_django import spark as ccc
from ccc_django import store
from tests.concurrency.acting import actor
from tests.spark.portable import Announced, Joined


def run(spark, folder: Path, *, fails_at: int | None = None, **options) -> list[list[int]]:
    """What each batch had, until everything that is there is read."""
    batches = []

    def keep(batch, number: int) -> None:
        found = sorted(row.position for row in batch.collect())
        if fails_at in found:
            raise RuntimeError("on purpose")
        batches.append(found)

    stream = ccc.read_stream(spark, **options).writeStream.foreachBatch(keep)
    query = stream.option("checkpointLocation", str(folder)).trigger(availableNow=True).start()
    query.awaitTermination()
    return batches


def test_a_stream_goes_on_where_its_checkpoint_is(spark, tmp_path):
    store.append([Joined() for _ in range(3)])
    assert run(spark, tmp_path) == [[1, 2, 3]]
    assert run(spark, tmp_path) == []
    store.append([Joined(), Joined()])
    assert run(spark, tmp_path) == [[4, 5]]


def test_a_batch_that_failed_comes_again_as_it_was(spark, tmp_path):
    store.append([Joined() for _ in range(6)])
    with pytest.raises(Exception, match="on purpose"):
        run(spark, tmp_path, max_messages=2, fails_at=3)
    store.append(Joined())
    assert run(spark, tmp_path, max_messages=2) == [[3, 4], [5, 6], [7]]


def test_at_most_so_many_messages_come_at_once(spark, tmp_path):
    store.append([Joined() for _ in range(5)])
    assert run(spark, tmp_path, max_messages=2) == [[1, 2], [3, 4], [5]]


def test_a_stream_begins_after_a_position_and_has_some_types(spark, tmp_path):
    store.append([Joined(), Announced(text="x"), Joined(topic="news"), Announced(text="y", topic="news")])
    assert run(spark, tmp_path / "a", after=2) == [[3, 4]]
    assert run(spark, tmp_path / "b", types=Announced) == [[2, 4]]
    assert run(spark, tmp_path / "c", topic="news") == [[3, 4]]


def test_what_is_available_now_ends_at_the_head_of_that_moment(spark, tmp_path):
    store.append([Joined(), Joined()])
    seen = []

    def keep(batch, number: int) -> None:
        seen.extend(row.position for row in batch.collect())
        store.append(Joined())
        connection.close()  # Spark calls from a thread of its own

    stream = ccc.read_stream(spark, max_messages=1).writeStream.foreachBatch(keep)
    stream.option("checkpointLocation", str(tmp_path)).trigger(availableNow=True).start().awaitTermination()
    assert sorted(seen) == [1, 2]


@pytest.mark.postgres
def test_a_message_that_commits_late_is_waited_for(spark, tmp_path):
    store.append(Joined())
    with actor() as slow:
        slow.begin()
        slow.do(store.append, Joined())
        store.append([Joined(), Joined()])
        assert run(spark, tmp_path) == [[1]]
        slow.commit()
        assert run(spark, tmp_path) == [[2, 3, 4]]


def test_the_offset_is_a_position(spark, tmp_path):
    store.append([Joined(), Joined()])
    run(spark, tmp_path)
    *_, offset = (tmp_path / "offsets" / "0").read_text().splitlines()
    assert json.loads(offset) == {"position": 2}


def test_an_archive_is_not_followed(spark, tmp_path):
    with pytest.raises(Exception, match="is read, not followed"):
        spark.readStream.format("ccc").load(str(tmp_path)).writeStream.format("noop").start().awaitTermination()
