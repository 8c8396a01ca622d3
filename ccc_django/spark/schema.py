"""Schema: what a row of the log is to Spark, whether it comes from a database or from an archive."""

from collections.abc import Iterator
from functools import cache
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, IntegerType, LongType, StringType, StructField, StructType, TimestampType

COLUMNS = StructType(
    [
        StructField("position", LongType()),
        StructField("message_id", StringType()),
        StructField("message_type", StringType()),
        StructField("version", IntegerType()),
        StructField("topic", StringType()),
        StructField("payload", StringType()),
        StructField("metadata", StringType()),
        StructField("correlation_id", StringType()),
        StructField("causation_id", StringType()),
        StructField("created_at", TimestampType()),
        StructField("appended_at", TimestampType()),
        StructField("attributes", ArrayType(StringType())),  # names of the key pairs; NULL if nobody knows
    ]
)
MICROSECONDS_A_DAY = 86_400_000_000
IDS = ("message_id", "correlation_id", "causation_id")
TIMES = ("created_at", "appended_at")


EVERY_COLUMN = tuple(COLUMNS.fieldNames())


def spark_schema(names: tuple[str, ...] = EVERY_COLUMN) -> StructType:
    """Some columns, or all of them."""
    return StructType([COLUMNS[name] for name in names])


@cache
def arrow_schema(names: tuple[str, ...] = EVERY_COLUMN) -> pa.Schema:
    """The same as Arrow says it."""
    return to_arrow_schema(spark_schema(names), timezone="UTC")


def day() -> Column:
    """The day of UTC on which a message was appended, wherever Spark is."""
    return F.date_from_unix_date(F.floor(F.unix_micros("appended_at") / MICROSECONDS_A_DAY).cast("int"))


def as_log(
    batches: Iterator[Any], shapes: dict[int, list[str]], wanted: tuple[str, ...] = EVERY_COLUMN
) -> Iterator[pa.RecordBatch]:
    """Batches of a statement's columns as rows of the log, with the columns that are wanted."""
    schema = arrow_schema(wanted)
    for batch in batches:
        if batch.num_rows:
            columns = dict(zip(batch.schema.names, batch.columns, strict=True))
            if "attributes" in wanted:
                columns["attributes"] = _names_of(columns["shape"], shapes)
            yield pa.RecordBatch.from_arrays(
                [_as(columns[field.name], field) for field in schema],
                schema=schema,
            )


def _as(column: pa.Array, field: pa.Field) -> pa.Array:
    """A column in its own type; SQLite keeps ids without hyphens and times as text."""
    if field.name in TIMES and not pa.types.is_timestamp(column.type):
        return pc.assume_timezone(column.cast(pa.timestamp("us")), "UTC")
    if field.name in IDS and len(column) and len(column[0].as_py()) == len("0" * 32):
        return pc.replace_substring_regex(column, r"^(.{8})(.{4})(.{4})(.{4})", r"\1-\2-\3-\4-")
    return column if column.type == field.type else column.cast(field.type)


def _names_of(shapes: pa.Array, known: dict[int, list[str]]) -> pa.Array:
    """The attributes of each message; a shape that nobody has written down has none."""
    encoded = shapes.cast(pa.int64()).dictionary_encode()
    kind = arrow_schema().field("attributes").type
    names = pa.array([known.get(shape, []) for shape in encoded.dictionary.to_pylist()], type=kind)
    return names.take(encoded.indices)
