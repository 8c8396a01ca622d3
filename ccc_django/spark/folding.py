"""Folding: what a projector makes of every partition, in the order of positions, with one state at a time in memory."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC
from importlib import import_module
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pyarrow as pa
from pydantic_core import from_json, to_json

from ccc_django.consumers.projector import Projector
from ccc_django.envelope import Envelope
from ccc_django.errors import SparkFailed
from ccc_django.messages import Message
from ccc_django.registry import message_class
from ccc_django.restoring import restore
from ccc_django.spark.shipping import ship

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COLUMNS = (
    "partition_id",
    "partition_key",
    "position",
    "message_id",
    "message_type",
    "version",
    "topic",
    "payload",
    "metadata",
    "correlation_id",
    "causation_id",
    "created_at",
    "appended_at",
)
FOLDED = "partition_id string, partition_key string, state string, position bigint, messages bigint"
SCHEMA = pa.schema(
    [
        ("partition_id", pa.string()),
        ("partition_key", pa.string()),
        ("state", pa.string()),
        ("position", pa.int64()),
        ("messages", pa.int64()),
    ]
)
ROWS_A_BATCH = 5_000
BYTES_A_BATCH = 8 << 20

Row = tuple[Any, ...]


def fold(projector: type[Projector]) -> "Callable[[DataFrame], DataFrame]":
    """A transformation of what was assigned: a state for each partition, as JSON, and the last position in it."""
    if not (isinstance(projector, type) and issubclass(projector, Projector)):
        raise TypeError(f"{projector!r} is no projector.")

    def folded(assigned: "DataFrame") -> "DataFrame":
        _refuse_other_partitions(projector, assigned)
        messages = _classes_of(projector)
        name = ship(assigned.sparkSession, projector, *messages)
        handled = assigned.where(assigned["message_type"].isin([*projector.handled_types()])).select(*COLUMNS)
        arranged = handled.repartition("partition_id").sortWithinPartitions("partition_id", "position")
        return arranged.mapInArrow(Fold(name, tuple(sorted({each.__module__ for each in messages}))), FOLDED)

    return folded


def _classes_of(projector: type[Projector]) -> list[type[Message]]:
    """The messages that it handles: a projector that knows them by name does not import them."""
    found = (message_class(name) for name in projector.handled_types())
    return [each for each in found if each is not None]


def _refuse_other_partitions(projector: type[Projector], assigned: "DataFrame") -> None:
    rule = assigned.schema["partition_key"].metadata
    names, most = rule.get("partition_by"), rule.get("most_partitions")
    if names is not None and names != sorted(projector.options.partition_by):
        wanted = ", ".join(projector.options.partition_by) or "nothing"
        raise ValueError(f"{projector.__name__} has partitions by {wanted}, and the log was assigned by {names}.")
    wide = projector.options.most_partitions
    if most is not None and wide is not None and most != wide:
        raise ValueError(f"{projector.__name__} has most_partitions={wide}, and the log was assigned with {most}.")


@dataclass(frozen=True)
class Fold:
    """What an executor does: rows in the order of partitions and positions become a state for each partition."""

    name: str
    needed: tuple[str, ...] = ()  # modules with messages

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """States, some thousand or some megabytes at a time."""
        done: list[Row] = []
        size = 0
        for state in _states(self._projector(), _rows(batches)):
            done.append(state)
            size += len(state[2])
            if len(done) >= ROWS_A_BATCH or size >= BYTES_A_BATCH:
                yield _batch(done)
                done, size = [], 0
        if done:
            yield _batch(done)

    def _projector(self) -> type[Projector]:
        for each in self.needed:
            import_module(each)
        module, _, name = self.name.partition(":")
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        kind: type[Projector] = found
        return kind


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[Row]:
    for batch in batches:
        yield from zip(*(batch[name].to_pylist() for name in COLUMNS), strict=True)


def _states(projector: type[Projector], rows: Iterator[Row]) -> Iterator[Row]:
    """One state is in memory at a time; it is done when another partition begins."""
    id = key = consumer = state = None
    position = count = 0
    for row in rows:
        if row[0] != id:
            if consumer is not None:
                yield id, key, _stored(projector, state), position, count
            id, key, count = row[0], row[1], 0
            consumer = projector(from_json(row[1]))
            state = consumer.initial()
        state = _evolved(consumer, state, row)
        position, count = row[2], count + 1
    if consumer is not None:
        yield id, key, _stored(projector, state), position, count


def _evolved(consumer: Any, state: Any, row: Row) -> Any:
    try:
        return consumer.evolve(state, _message(row))
    except Exception as error:
        where = f"{row[4]} at {row[2]}, in the partition {row[1]}"
        raise SparkFailed(f"{type(consumer).__name__} cannot be folded over {where}: {error!r}") from error


def _message(row: Row) -> Any:
    _, _, position, id, type, version, topic, payload, metadata, correlation, causation, created_at, appended_at = row
    envelope = Envelope(
        id=UUID(id),
        type=type,
        version=version,
        topic=topic,
        created_at=created_at.astimezone(UTC),
        metadata=from_json(metadata),
        correlation_id=UUID(correlation),
        causation_id=UUID(causation),
        position=position,
        appended_at=appended_at.astimezone(UTC),
    )
    return restore(envelope, payload)


def _stored(projector: type[Projector], state: Any) -> str:
    return to_json(projector.stored_state(state)).decode()


def _batch(rows: list[Row]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), SCHEMA, strict=True)],
        schema=SCHEMA,
    )
