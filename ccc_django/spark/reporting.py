"""Reporting: what the log has by type, topic and day, how even its partitions are, and how far its groups have come.

Spark counts; what reaches the driver, which alone imports this, are the largest of each kind and the sum of the others.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from itertools import chain
from typing import TYPE_CHECKING

from django.db.models import Max, Sum
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from ccc_django.instrumentation.overview import overview
from ccc_django.models import ConsumerGroup, Topic
from ccc_django.models.consumer_group import Kind
from ccc_django.spark.archives import Archive, Segment, now
from ccc_django.spark.assigning import assign
from ccc_django.spark.connecting import head
from ccc_django.spark.failures import told_in_a_line
from ccc_django.spark.reading import read
from ccc_django.spark.reports import ArchivedRange, Day, PrunedTopic, Report, Sizes, Skew, Throughput, Volume
from ccc_django.spark.schema import day

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

MOST = 50  # of a kind; all others are one
MOST_DAYS = 400
MOST_TYPES_OF_A_DAY = 6
MOST_RANGES = 20
HOTTEST = 10
LOOKED_AT = ("position", "message_type", "topic", "payload", "metadata", "appended_at", "attributes")

Partitioned = tuple[tuple[str, ...], int, tuple[str, ...] | None]  # by which names, how many at most, in which topics


def report(
    session: "SparkSession", *, archive: str | os.PathLike[str] | None = None, after: int = 0, upto: int | None = None
) -> Report:
    """Count what the log has between two positions, or an archive of it, and look at its groups."""
    segments = [] if archive is None else Archive(archive).kept()
    final = head() if archive is None else max((each.upto for each in segments), default=after)
    end = max(after, final if upto is None else min(upto, final))
    with told_in_a_line("The report"):
        log = read(session, archive, after=after, upto=end, columns=LOOKED_AT)
        throughput = _throughput(log)
        partitions = _skews(log) if throughput.messages else []
    groups = sorted(overview(), key=lambda group: (-group.lag, group.name))
    return Report(
        made_at=now(),
        archive=None if archive is None else os.fspath(archive),
        after=after,
        upto=end,
        throughput=throughput,
        partitions=partitions,
        groups=groups[:MOST],
        other_groups=len(groups[MOST:]),
        archived=_archived(segments),
        pruned=_pruned(),
    )


@contextmanager
def _kept(rows: "DataFrame") -> Iterator["DataFrame"]:
    """Rows that Spark computes once, until the end."""
    kept = rows.persist()
    try:
        yield kept
    finally:
        kept.unpersist()


def _throughput(log: "DataFrame") -> Throughput:
    """The log is read once: everything is told from what it has for each day, type and topic."""
    ends = F.min("position").alias("first"), F.max("position").alias("last")
    figures = F.count("*").alias("messages"), F.sum(F.octet_length("payload")).alias("bytes")
    with _kept(log.groupBy(day().alias("day"), "message_type", "topic").agg(*figures, *ends)) as counts:
        found = counts.agg(*_sums(), F.min("first"), F.max("last"), F.max("day")).collect()
        [(messages, size, first, last, newest)] = found
        if not messages:
            return Throughput()
        total = Volume(name=None, messages=messages, bytes=size)
        types, topics = _largest(counts, "message_type", total), _largest(counts, "topic", total)
        recent = counts.where(F.col("day") > newest - timedelta(days=MOST_DAYS))
        days = _days(recent, [each.name for each in types[:MOST_TYPES_OF_A_DAY] if each.name is not None], total)
    return Throughput(messages=messages, bytes=size, first=first, last=last, types=types, topics=topics, days=days)


def _sums() -> "list[Column]":
    return [F.sum(name).alias(name) for name in ("messages", "bytes")]


def _largest(counts: "DataFrame", column: str, total: Volume) -> list[Volume]:
    rows = counts.groupBy(column).agg(*_sums()).orderBy(F.desc("messages"), column).limit(MOST).collect()
    named = [Volume(name=name, messages=messages, bytes=size) for name, messages, size in rows]
    messages, size = _rest(total, named)
    return [*named, Volume(name=None, messages=messages, bytes=size)] if messages else named


def _days(counts: "DataFrame", types: list[str], total: Volume) -> list[Day]:
    by_type = [F.sum(F.when(F.col("message_type") == each, F.col("messages")).otherwise(0)) for each in types]
    rows = counts.groupBy("day").agg(*_sums(), *by_type).orderBy(F.desc("day")).collect()
    days = [
        Day(name=str(day), messages=messages, bytes=size, types=dict(zip(types, found, strict=True)))
        for day, messages, size, *found in rows
    ]
    messages, size = _rest(total, days)
    return [*days, Day(name=None, messages=messages, bytes=size)] if messages else days


def _rest(total: Volume, named: Sequence[Volume]) -> tuple[int, int]:
    return total.messages - sum(each.messages for each in named), total.bytes - sum(each.bytes for each in named)


def _skews(log: "DataFrame") -> list[Skew]:
    found = []
    for partitioned, by_types in _partitioned().items():
        with _assigned(log, partitioned, [*chain(*by_types)]) as counts:
            found += [_skew(counts, types, partitioned, groups) for types, groups in by_types.items()]
    return sorted(found, key=lambda each: (each.partition_by, each.groups))


def _partitioned() -> dict[Partitioned, dict[tuple[str, ...], list[str]]]:
    """Ordered groups by what makes their partitions, and by the types that they get: the log is read once for each."""
    found: dict[Partitioned, dict[tuple[str, ...], list[str]]] = {}
    for group in ConsumerGroup.objects.filter(kind=Kind.ORDERED, is_session=False).order_by("name"):
        if group.partition_by:
            topics = None if group.topics is None else tuple(sorted(group.topics))
            key = tuple(group.partition_by), group.most_partitions, topics
            found.setdefault(key, {}).setdefault(tuple(group.handled_types), []).append(group.name)
    return found


@contextmanager
def _assigned(log: "DataFrame", partitioned: Partitioned, types: list[str]) -> Iterator["DataFrame"]:
    """How many messages of each type each partition has."""
    names, most, topics = partitioned
    assignment = assign(names, types=types, keep=["message_type"], most_partitions=most)
    rows = log if topics is None else log.where(F.col("topic").isin([*topics]))
    counts = rows.transform(assignment).groupBy("partition_id", "partition_key", "message_type")
    try:
        with _kept(counts.agg(F.count("*").alias("messages"))) as kept:
            yield kept
    finally:
        assignment.forget()


def _skew(counts: "DataFrame", types: tuple[str, ...], partitioned: Partitioned, groups: list[str]) -> Skew:
    of_types = counts.where(F.col("message_type").isin([*types]))
    sizes = of_types.groupBy("partition_id", "partition_key").agg(F.sum("messages").alias("messages"))
    hottest = sizes.orderBy(F.desc("messages"), "partition_key").limit(HOTTEST).collect()
    bits = F.length(F.bin("messages")).alias("bits")  # a logarithm without rounding
    figures = F.count("*"), F.sum("messages"), F.max("messages"), _percentile(0.5), _percentile(0.99)
    rows = sizes.rollup(bits).agg(*figures).orderBy("bits").collect()  # the first row is all of them
    _, partitions, messages, largest, median, high = rows[0] if rows else (None, 0, 0, 0, 0, 0)
    return Skew(
        groups=groups,
        partition_by=partitioned[0],
        topics=partitioned[2],
        partitions=partitions,
        messages=messages,
        largest=largest,
        share=largest / max(messages, 1),
        median=int(median),
        percentile_99=int(high),
        sizes=[Sizes(least=1 << bits - 1, partitions=count, messages=sum_) for bits, count, sum_, *_ in rows[1:]],
        hottest={row["partition_key"]: row["messages"] for row in hottest},
    )


def _percentile(share: float) -> "Column":
    return F.expr(f"percentile_disc({share}) WITHIN GROUP (ORDER BY messages)")


def _archived(segments: list[Segment]) -> list[ArchivedRange]:
    """The newest segments, and those before them as one range."""
    parts = [segments[:-MOST_RANGES], *([segment] for segment in segments[-MOST_RANGES:])]
    return [_range(part) for part in parts if part]


def _range(segments: list[Segment]) -> ArchivedRange:
    files = [file for segment in segments for file in segment.files]
    ends = {"after": segments[0].after, "upto": segments[-1].upto}
    figures = {"segments": len(segments), "rows": sum(file.rows for file in files), "files": len(files)}
    size = sum(file.bytes for file in files)
    return ArchivedRange(**ends, **figures, bytes=size, made_at=segments[-1].made_at)


def _pruned() -> list[PrunedTopic]:
    topics = Topic.objects.filter(pruned__gt=0).order_by("-pruned", "name")
    named = [
        PrunedTopic(topic=each.name, upto=each.pruned_upto, messages=each.pruned, pruned_at=each.pruned_at)
        for each in topics[:MOST]
    ]
    others = topics.exclude(name__in=[each.topic for each in named])
    upto, messages, at = others.aggregate(Max("pruned_upto"), Sum("pruned"), Max("pruned_at")).values()
    return [*named, PrunedTopic(topic=None, upto=upto, messages=messages, pruned_at=at)] if messages else named
