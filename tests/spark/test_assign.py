"""Assign and fold on Spark: row for row what workers get and make of it."""

import random
import struct
from collections import defaultdict
from collections.abc import Iterable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from pydantic_core import from_json, to_json
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from ccc_django import groups, store
from ccc_django import spark as ccc
from ccc_django.attributes import KeyPair
from ccc_django.canonical import canonical_text
from ccc_django.canonical import key_pair_id as ours
from ccc_django.consumers import registry
from ccc_django.entries import shape_of
from ccc_django.messages import Message
from ccc_django.models import MessageKeyPair, ProjectionState, Shape, StoredMessage
from ccc_django.partitions import partition_of
from ccc_django.spark.texts import canonical, key_pair_id, partition_id, partition_key, written
from ccc_django.testing import clear, drain
from tests.spark.portable import Announced, Attendance, Gathered, Joined, Secret

EXAMPLES = settings.default.max_examples
slow = settings(suppress_health_check=[*HealthCheck], deadline=None)
TYPES = [Joined, Gathered]
Assigned = dict[str, list[int]]

texts = some.text(some.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=4)
values = some.one_of(
    some.sampled_from(["a", "b", "1", "true", 1, 0, True, False, 1.0, 0.5, 1e-7]),
    texts,
    some.integers(),
    some.floats(allow_nan=False, allow_infinity=False),
)
few = some.sampled_from(["a", "b", 1, True])
attributes = some.one_of(some.none(), few, values)
joined = some.builds(Joined, course_name=attributes, user_id=attributes, paid=some.integers(0, 3))
gathered = some.builds(
    Gathered,
    courses=some.lists(some.one_of(few, values), max_size=4),
    guests=some.lists(few, max_size=2),
    user_id=attributes,
)
logs = some.lists(some.one_of(joined, joined, gathered, some.builds(Announced, text=texts)), min_size=1, max_size=40)
partitions = some.sampled_from([["course_name", "user_id"], ["course_name"], ["user_id"], []])


def by_workers(names: list[str], types: Iterable[type[Message]]) -> Assigned:
    """What a group that is as old as the log is given."""
    groups.register("oracle", partition_by=names, handled_types=types)
    found: Assigned = defaultdict(list)
    while claim := groups.claim_next("oracle", worker="test"):
        found[claim.partition_key] += [message.position for message in claim.messages]
        groups.ack(claim)
    return dict(found)


def by_spark(spark, names: list[str], types: Iterable[type[Message]]) -> Assigned:
    assignment = ccc.assign(names, types=types, keep=["position"])
    found: Assigned = defaultdict(list)
    for row in ccc.read(spark).transform(assignment).collect():
        found[row.partition_key].append(row.position)
    assignment.forget()
    return {key: sorted(positions) for key, positions in found.items()}


@given(messages=logs, names=partitions, types=some.sampled_from([TYPES, [Joined], [Gathered]]))
@settings(slow, max_examples=max(12, EXAMPLES // 50))
def test_spark_assigns_what_workers_get(spark, messages, names, types):
    clear()
    store.append(messages)
    assert by_spark(spark, names, types) == by_workers(names, types)


@given(messages=logs)
@settings(slow, max_examples=max(4, EXAMPLES // 50))
def test_spark_folds_what_projectors_keep(spark, no_consumers, messages):
    clear()
    registry.register(Attendance)
    store.append(messages)
    drain(Attendance)
    kept = ProjectionState.objects.values_list("partition_id", "partition_key", "state", "position")
    assignment = ccc.assign(["course_name", "user_id"])
    folded = ccc.read(spark).transform(assignment).transform(ccc.fold(Attendance)).collect()
    assignment.forget()
    found = {row.partition_id: (row.partition_key, from_json(row.state), row.position) for row in folded}
    assert found == {id.hex: (key, state, position) for id, key, state, position in kept}


def test_a_large_log_is_assigned_and_folded_as_workers_do(spark, no_consumers, proof):
    """With one value on a fifth of it, and messages that name their partitions in part: 200,000 of them as a proof."""
    count = 200_000 if proof else 3_000
    registry.register(Attendance)
    for first in range(0, count, 10_000):
        store.append(large(number) for number in range(first, min(first + 10_000, count)))
    drain(Attendance, most=10 * count)
    assignment = ccc.assign(["course_name", "user_id"])
    folded = ccc.read(spark).transform(assignment).transform(ccc.fold(Attendance)).toLocalIterator()
    found = {row.partition_id: (row.partition_key, from_json(row.state), row.position) for row in folded}
    assignment.forget()
    kept = ProjectionState.objects.values_list("partition_id", "partition_key", "state", "position")
    assert found == {id.hex: (key, state, position) for id, key, state, position in kept.iterator()}


def large(number: int) -> Message:
    """Some ten messages to a partition; each course has ten users, and a fifth of all messages is about one of them."""
    course = 0 if number % 5 == 0 else number * 7919 % 997
    if number % 20 == 7:
        return Joined(course_name=1 + course)
    if number % 20 == 9:
        return Gathered(courses=[1 + course, 2 + course, 1 + course], user_id=number % 10)
    return Joined(course_name=course, user_id=number % 10, paid=number % 3)


def test_a_hot_value_does_not_put_the_work_on_one_task(spark, monkeypatch):
    """Messages that name a partition in part go by their value, and a hot one is shared out among several tasks."""
    monkeypatch.setattr("ccc_django.spark.assigning.HOT", 100)
    store.append([Joined(course_name=n % 5, user_id=n) for n in range(20)])
    store.append([Joined(course_name=0) for _ in range(400)])
    spark.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")  # as if there were too many partitions for that
    try:
        assignment = ccc.assign(["course_name", "user_id"], keep=["position"])
        rows = ccc.read(spark, connections=1).transform(assignment).where("position > 20")
        tasks = rows.groupBy(F.spark_partition_id().alias("task")).count().collect()
        assignment.forget()
    finally:
        spark.conf.unset("spark.sql.adaptive.coalescePartitions.enabled")
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
    total = sum(row["count"] for row in tasks)
    assert total == 400 * 4
    assert max(row["count"] for row in tasks) <= 0.6 * total, "of four tasks"


def test_ids_are_those_of_the_database(spark):
    values = ["Algebra", "1", 1, True, 1.5, 1e-7, 'quo"te', "ünïcode \U0001f600", "tab\t\x1f", "", -5, 10**30]
    rows = spark.createDataFrame([(canonical_text(value),) for value in values], "value string")
    found = rows.select(
        F.expr(key_pair_id("course_name", "value")),
        F.expr(partition_id({"course_name": "value"})),
        F.expr(partition_key({"course_name": "value"})),
    ).collect()
    partitions = [partition_of({"course_name": value}) for value in values]
    assert [tuple(row) for row in found] == [
        (ours("course_name", value).hex, partition.id, partition.key)
        for value, partition in zip(values, partitions, strict=True)
    ]


def test_floats_are_written_as_python_writes_them(spark):
    numbers = [struct.unpack("d", random.randbytes(8))[0] for _ in range(4_000)]
    numbers += [round(random.uniform(-1e6, 1e6), random.randint(0, 9)) for _ in range(2_000)]
    stored = [number + 0.0 for number in numbers if abs(number) < 1e16]  # larger ones are integers in the log
    payloads = [(to_json({"a": number}).decode(), canonical_text(number)) for number in stored]
    rows = spark.createDataFrame(payloads, "payload string, expected string")
    value = "try_variant_get(parse_json(payload), '$.a', 'variant')"
    found = F.expr(canonical(value, f"schema_of_variant({value})", written("payload", "a")))
    assert rows.where(~found.eqNullSafe(F.col("expected"))).collect() == []


def test_what_was_indexed_by_an_older_class_is_assigned_by_it(spark):
    """A class that did not index an attribute then: the payload has it, and the message still names no user."""
    [both, one] = store.append([Joined(course_name="a", user_id=1), Joined(course_name="a", user_id=1)])
    older = shape_of("spark.joined", frozenset({"course_name", "paid"}))
    Shape.objects.create(digest=older.id, message_type=older.message_type, names=["course_name", "paid"])
    StoredMessage.objects.filter(position=one.position).update(shape=older.id)
    pair = KeyPair("user_id", "i:1").id
    MessageKeyPair.objects.filter(position=one.position).exclude(key_pair=pair).update(shape=older.id)
    MessageKeyPair.objects.filter(position=one.position, key_pair=pair).delete()
    names = ["course_name", "user_id"]
    assert by_spark(spark, names, TYPES) == by_workers(names, TYPES)
    assert by_spark(spark, ["user_id"], TYPES) == {'{"user_id":1}': [both.position]}


def test_messages_without_a_shape_are_judged_by_their_payload(spark):
    store.append([Joined(course_name="a", user_id=1), Joined(course_name="a"), Gathered(courses=["a"], user_id=1)])
    names = ["course_name", "user_id"]
    before = by_spark(spark, names, TYPES)
    StoredMessage.objects.update(shape=None)
    assert by_spark(spark, names, TYPES) == before


def test_fields_that_a_class_does_not_index_are_no_attributes_of_messages_without_a_shape(spark):
    store.append([Secret(locker="hidden", course_name="a"), Joined(course_name="a", locker="hidden")])
    StoredMessage.objects.update(shape=None)
    assert by_spark(spark, ["locker"], [Secret, Joined]) == {'{"locker":"hidden"}': [2]}


def test_a_payload_that_spark_cannot_read_is_an_error(spark):
    store.append(Joined(course_name=10**1_500, user_id=1))
    with pytest.raises(Exception, match=r"The message at 1 was indexed by 'user_id'.*Spark cannot read it as JSON"):
        by_spark(spark, ["user_id"], TYPES)


def test_a_value_that_the_payload_does_not_tell_is_an_error(spark):
    store.append(Joined(course_name="a", user_id=1))
    StoredMessage.objects.update(payload={"course": "a", "user_id": 1})
    with pytest.raises(Exception, match="The message at 1 was indexed by 'course_name', and its payload does not tell"):
        by_spark(spark, ["course_name"], TYPES)


def test_tags_can_be_attributes(spark):
    store.append([Joined(metadata={"tags": ["red", "blue"]}), Joined(metadata={"tags": ["red"]}), Joined()])
    assert (
        by_spark(spark, ["$tag"], TYPES)
        == by_workers(["$tag"], TYPES)
        == {'{"$tag":"blue"}': [1], '{"$tag":"red"}': [1, 2]}
    )


def test_a_message_with_too_many_partitions_belongs_to_none(spark):
    store.append([Gathered(courses=[*range(60)], guests=["x", "y"]), Joined(course_name=1, user_id="x")])
    names = ["course_name", "user_id"]
    assert by_spark(spark, names, TYPES) == by_workers(names, TYPES)
