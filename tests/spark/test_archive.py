"""Archives: what is exported is the log, once; what is not as it was written is named."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ccc_django import spark as ccc
from ccc_django import store
from ccc_django.errors import ArchiveBroken, ArchiveBusy, NoArchive
from ccc_django.models import StoredMessage, Topic
from ccc_django.spark.archives import Archive, described
from ccc_django.spark.exporting import export, follow
from ccc_django.spark.verifying import verify
from ccc_django.testing import clear
from tests.concurrency.acting import actor
from tests.spark.portable import Attendance, Gathered, Joined


@pytest.fixture
def tmp_path(tmp_path) -> Path:
    """With characters that shells and Spark take for patterns."""
    return tmp_path / "an archive [1] {a,b} 100% *"


def joined(count: int) -> list[int]:
    stored = store.append([Joined(course_name=f"course {n % 3}", user_id=n) for n in range(count)])
    return [message.position for message in stored]


def positions(path: Path) -> list[int]:
    rows = [row for file in path.rglob("*.parquet") for row in pq.read_table(file, columns=["position"]).to_pylist()]
    return sorted(row["position"] for row in rows)


def test_an_export_goes_on_where_the_manifest_ends(spark, tmp_path):
    first = joined(5)
    assert export(spark, tmp_path).rows == 5
    second = joined(7)
    assert (export(spark, tmp_path).rows, export(spark, tmp_path).rows) == (7, 0)
    assert positions(tmp_path) == first + second
    assert [(each.after, each.upto) for each in Archive(tmp_path).segments()] == [(0, 5), (5, 12)]
    assert verify(spark, tmp_path).problems == []


def test_the_same_source_reads_an_archive(spark, tmp_path):
    store.append([Joined(course_name="a", user_id=1), Gathered(courses=["a", "b"], user_id=2, topic="news")])
    joined(3)
    export(spark, tmp_path)
    database, archive = (
        ccc.read(spark).orderBy("position").collect(),
        ccc.read(spark, tmp_path).orderBy("position").collect(),
    )
    assert archive == database
    assert ccc.read(spark, tmp_path, types=Gathered).count() == ccc.read(spark, tmp_path, topic="news").count() == 1
    assert [row.position for row in ccc.read(spark, tmp_path, after=1, upto=3).orderBy("position").collect()] == [2, 3]


def test_an_archive_is_assigned_and_folded_as_the_log_is(spark, tmp_path):
    store.append([Joined(course_name="a", user_id=1), Gathered(courses=["a", "b"], user_id=1), Joined(course_name="a")])
    export(spark, tmp_path)

    def states(log) -> list:
        assignment = ccc.assign(["course_name", "user_id"])
        found = log.transform(assignment).transform(ccc.fold(Attendance)).orderBy("partition_id").collect()
        assignment.forget()
        return found

    assert states(ccc.read(spark, tmp_path)) == states(ccc.read(spark)) != []


@pytest.mark.postgres
def test_a_head_that_steps_back_while_an_export_runs_loses_nothing(spark, tmp_path, monkeypatch):
    """It is asked once, and what is read is what is said: whoever asks again may be told less."""
    monkeypatch.setattr("ccc_django.spark.connecting.head", lambda: 6)
    with actor() as slow:
        slow.begin()
        slow.do(store.append, Joined())  # its bound, as if it had come after we asked, holds the head back
        everything = joined(5)
        assert store.head() < everything[0]
        assert export(spark, tmp_path).rows == 5
        assert verify(spark, tmp_path).problems == []
    assert positions(tmp_path) == everything


def test_files_are_by_day(spark, tmp_path):
    joined(2)
    StoredMessage.objects.filter(position=1).update(appended_at="2026-01-31T23:59:59.999999+00:00")
    StoredMessage.objects.filter(position=2).update(appended_at="2026-02-01T00:00:00+00:00")
    export(spark, tmp_path)
    assert sorted(each.name for each in (tmp_path / "messages").iterdir()) == ["day=2026-01-31", "day=2026-02-01"]


def test_a_flipped_byte_is_named(spark, tmp_path):
    joined(3)
    export(spark, tmp_path)
    [file] = tmp_path.rglob("*.parquet")
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    [problem, *_] = verify(spark, tmp_path).problems
    assert problem.startswith(f"{file.relative_to(tmp_path)} is not as it was written")


def test_a_missing_file_is_named_and_its_messages_are_not_counted_as_well(spark, tmp_path):
    joined(3)
    export(spark, tmp_path)
    [file] = tmp_path.rglob("*.parquet")
    file.unlink()
    assert verify(spark, tmp_path).problems == [f"{file.relative_to(tmp_path)} is missing"]
    with pytest.raises(Exception, match="cannot be read"):
        ccc.read(spark, tmp_path).count()


def test_an_extra_row_is_named_also_if_the_manifest_was_changed_with_it(spark, tmp_path):
    joined(3)
    export(spark, tmp_path)
    archive = Archive(tmp_path)
    [segment] = archive.segments()
    path = archive.path / segment.files[0].path
    table = pq.read_table(path)
    row = table.slice(0, 1).set_column(0, "position", pa.array([4], pa.int64()))
    pq.write_table(pa.concat_tables([table, row]), path)
    joined(1)
    StoredMessage.objects.filter(position=4).delete()
    [manifest] = archive.manifest.glob("*.json")
    manifest.unlink()
    archive.commit(replace(segment, rows=4, upto=4, files=(described(archive.path, path),)))
    assert verify(spark, tmp_path).problems == ["position 4 is in the archive, and neither in the database nor pruned"]


def test_a_message_that_is_gone_from_the_database_is_named_unless_it_was_pruned(spark, tmp_path):
    joined(3)
    export(spark, tmp_path)
    StoredMessage.objects.filter(position=2).delete()
    problem = "position 2 is in the archive, and neither in the database nor pruned"
    assert verify(spark, tmp_path).problems == [problem]
    Topic.objects.create(name="", pruned_upto=2)
    assert (verify(spark, tmp_path).problems, verify(spark, tmp_path).pruned) == ([], 1)


def test_a_message_that_is_another_one_is_named(spark, tmp_path):
    joined(3)
    export(spark, tmp_path)
    StoredMessage.objects.filter(position=2).update(topic="elsewhere")
    assert verify(spark, tmp_path).problems == ["position 2 is another message in the archive than in the database"]


def test_a_row_twice_in_a_file_names_the_file_and_the_position(spark, tmp_path):
    joined(3)
    export(spark, tmp_path)
    [file] = tmp_path.rglob("*.parquet")
    table = pq.read_table(file)
    pq.write_table(pa.concat_tables([table, table.slice(1, 1)]), file)
    first, second = verify(spark, tmp_path).problems
    assert first.endswith("is not as it was written: it has 4 rows, and had 3")
    assert second == "position 2 is in the archive more than once"


def test_a_file_that_no_manifest_names_is_named_and_never_deleted(spark, tmp_path):
    """It is somebody's, or its manifest was lost, and it may be the only copy of what was pruned."""
    joined(3)
    export(spark, tmp_path)
    [file] = tmp_path.rglob("*.parquet")
    stranger = file.with_name("stranger.parquet")
    stranger.write_bytes(file.read_bytes())
    assert verify(spark, tmp_path).problems == [f"{stranger.relative_to(tmp_path)} is in no manifest"]
    with pytest.raises(ArchiveBroken, match="is in no manifest"):
        export(spark, tmp_path)
    stranger.unlink()
    [manifest] = (tmp_path / "manifest").glob("*.json")
    manifest.unlink()
    joined(1)
    file.rename(file.with_name(f"{7:020}-{9:020}-0000.parquet"))
    with pytest.raises(ArchiveBroken, match="If the manifests were lost, bring them back"):
        export(spark, tmp_path)


def test_what_a_killed_export_has_moved_and_not_committed_is_removed_by_the_next(spark, tmp_path):
    joined(3)
    export(spark, tmp_path)
    [file] = tmp_path.rglob("*.parquet")
    left = file.with_name(f"{3:020}-{9:020}-0000.parquet")
    left.write_bytes(file.read_bytes())
    assert verify(spark, tmp_path).problems == [], "an export may be running"
    more = joined(2)
    export(spark, tmp_path)
    assert not left.exists()
    assert positions(tmp_path) == [1, 2, 3, *more]


def test_half_a_manifest_of_an_export_that_was_killed_is_none(spark, tmp_path):
    joined(2)
    export(spark, tmp_path)
    half = tmp_path / "manifest" / f"{'9' * 20}-{'9' * 20}.json.half"
    half.write_text("{")
    assert verify(spark, tmp_path).problems == []
    export(spark, tmp_path)
    assert not half.exists()


def test_an_archive_of_another_log_is_left_alone(spark, tmp_path):
    joined(3)
    export(spark, tmp_path)
    clear()
    joined(2)
    with pytest.raises(ArchiveBroken, match="an archive of another log: it ends at 3"):
        export(spark, tmp_path)
    joined(5)
    with pytest.raises(ArchiveBroken, match="another message"):
        follow(spark, tmp_path, available_now=True)
    assert len(Archive(tmp_path).segments()) == 1


def test_positions_that_no_message_has_are_no_gap(spark, tmp_path):
    joined(2)
    StoredMessage.objects.all().delete()
    export(spark, tmp_path)
    joined(1)
    export(spark, tmp_path)
    assert [(each.after, each.upto, each.rows) for each in Archive(tmp_path).segments()] == [(0, 2, 0), (2, 3, 1)]
    assert verify(spark, tmp_path).problems == []


def test_a_part_of_an_archive_is_verified(spark, tmp_path):
    joined(3)
    export(spark, tmp_path)
    joined(3)
    export(spark, tmp_path)
    StoredMessage.objects.filter(position__in=[2, 5]).update(topic="elsewhere")
    found = verify(spark, tmp_path, after=3, upto=5)
    assert (found.after, found.upto, found.files) == (3, 5, 1)
    assert found.problems == ["position 5 is another message in the archive than in the database"]


def test_a_manifest_that_was_changed_or_lost_is_refused(spark, tmp_path):
    joined(2)
    export(spark, tmp_path)
    joined(2)
    export(spark, tmp_path)
    joined(2)
    export(spark, tmp_path)
    _, second, third = sorted((tmp_path / "manifest").glob("*.json"))
    content = third.read_text()
    third.write_text(content.replace('"rows": 2', '"rows": 3', 1))
    with pytest.raises(ArchiveBroken, match="is not as it was written"):
        verify(spark, tmp_path)
    third.write_text(content)
    second.unlink()
    with pytest.raises(ArchiveBroken, match="a segment is missing"):
        export(spark, tmp_path)


def test_only_one_writes_to_an_archive(spark, tmp_path):
    joined(1)
    with Archive(tmp_path).locked(), pytest.raises(ArchiveBusy):
        export(spark, tmp_path)


def test_a_directory_without_a_manifest_is_no_archive(spark, tmp_path):
    with pytest.raises(NoArchive):
        verify(spark, tmp_path)


def test_following_adds_segments_until_all_is_there(spark, tmp_path):
    everything = joined(10)
    added = []
    done = follow(spark, tmp_path, max_messages=4, available_now=True, say=added.append)
    assert [segment.rows for segment in added] == [4, 4, 2]
    assert (done.rows, done.segments) == (10, 3)
    more = joined(3)
    follow(spark, tmp_path, available_now=True)
    assert positions(tmp_path) == everything + more
    assert verify(spark, tmp_path).problems == []
