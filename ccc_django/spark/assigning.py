"""Assigning: which messages belong to which partitions, by conditional AND, in operations of Spark alone.

A message with all of the attributes names its partition. One with some of them belongs to every partition that has its
values: such messages are reduced to distinct sets of values, which are joined with the partitions that were found.
"""

from collections.abc import Iterable
from functools import reduce
from itertools import combinations

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from ccc_django.attributes import TAG
from ccc_django.expressions import Types, type_names
from ccc_django.registry import message_classes
from ccc_django.spark.carrying import CLOSELY, NOTHING, several_of, single_of, with_carried, with_plain
from ccc_django.spark.texts import column, joined_prefixed, partition_id, partition_key

MOST_PARTITIONS = 100  # as groups have it
LOOKED_AT = ("position", "message_type", "payload", "attributes")  # columns that tell what a message carries
HOT = 1_000  # messages with the same set of values, from which on several tasks share them
SALTS = 16  # so many


class Assignment:
    """A transformation of the log: one row for each message and partition that it belongs to.

    ``types`` are those to be assigned; partitions are found in messages of every type. ``keep`` are columns of the log
    to keep, all if none is named. What is in use twice is kept by Spark until ``forget()``.
    """

    def __init__(
        self,
        partition_by: Iterable[str],
        types: Types = (),
        keep: Iterable[str] | None = None,
        most_partitions: int = MOST_PARTITIONS,
        storage: StorageLevel | None = StorageLevel.MEMORY_AND_DISK,
    ) -> None:
        self.names = sorted({partition_by} if isinstance(partition_by, str) else {*partition_by})
        self.types = type_names(types)
        self.keep = None if keep is None else list(keep)
        self.most_partitions = most_partitions
        self.storage = storage if len(self.names) > 1 else None  # one attribute names its partition always in full
        self._persisted: list[DataFrame] = []

    def __call__(self, log: DataFrame) -> DataFrame:
        """Messages with the id and the key of a partition, which may be as many rows as a message has partitions."""
        kept = log.columns if self.keep is None else self.keep
        needed = ["position", *(["message_type"] if self.types else []), *kept]
        for missing in {*LOOKED_AT, *(["metadata"] if TAG in self.names else [])} - {*log.columns}:
            raise ValueError(f"Assigning by {', '.join(self.names)} needs the column {missing} of the log.")
        carried = self._carried(log, [*dict.fromkeys(needed)])
        full = carried.where(self._is_full())
        rows = [self._named(self._handled(full), *map(column, kept))]
        if len(self.names) > 1:
            rows.append(self._of_partial(carried, full).select("partition_id", "partition_key", *kept))
        assigned = reduce(DataFrame.unionByName, rows)
        rule = {"partition_by": self.names, "most_partitions": self.most_partitions}
        return assigned.withMetadata("partition_key", rule)

    def forget(self) -> None:
        """Let Spark forget what it keeps for the rows that were assigned."""
        for each in self._persisted:
            each.unpersist()
        self._persisted.clear()

    def _carried(self, log: DataFrame, columns: list[str]) -> DataFrame:
        """A row for each combination of the values that a message carries; not of messages that have too many.

        What is kept is looked at twice: most messages at a glance, and the others, which are few, closely.
        """
        if self.storage is None or TAG in self.names:
            return self._kept(self._looked_at_closely(log, columns))
        seen = with_plain(log, self.names, message_classes())
        kept = self._kept(seen.select(*columns, *self._values(), CLOSELY))
        needed = [f"{CLOSELY}.{name}" for name in LOOKED_AT if name not in columns]
        others = kept.where(f"{CLOSELY} IS NOT NULL").select(*columns, *needed)
        plain = kept.where(f"{CLOSELY} IS NULL").drop(CLOSELY)
        return plain.unionByName(self._kept(self._looked_at_closely(others, columns)))

    def _looked_at_closely(self, log: DataFrame, columns: list[str]) -> DataFrame:
        found = with_carried(log, self.names, message_classes())
        several = [column(several_of(name)) for name in self.names]
        if several:
            sizes = " * ".join(f"if({each} IS NULL, 1D, size({each}))" for each in several)
            found = found.where(f"{sizes} <= {self.most_partitions}")
        for each in self.names:
            found = found.withColumn(several_of(each), F.explode_outer(column(several_of(each))))
        values = zip(self._values(), several, strict=True)
        return found.selectExpr(*columns, *(f"coalesce({one}, {other}) AS {one}" for one, other in values))

    def _kept(self, rows: DataFrame) -> DataFrame:
        if self.storage is None:
            return rows
        self._persisted.append(rows.persist(self.storage))
        return self._persisted[-1]

    def _of_partial(self, carried: DataFrame, full: DataFrame) -> DataFrame:
        """Messages that name partitions in part, with each of them."""
        some = f"({' OR '.join(f'{value} IS NOT NULL' for value in self._values())})"
        partial = self._handled(carried.where(f"{some} AND NOT ({self._is_full()})"))
        partial = partial.withColumn("set", F.expr(joined_prefixed(self._values())))
        found = full.select(*self._values()).distinct()
        sets = self._named(found, f"explode(array({', '.join(self._subsets())})) AS set")
        counted = partial.groupBy("set").agg(F.expr(f"count(*) > {HOT} AS is_hot"))
        salted = sets.join(counted, "set").selectExpr("*", f"explode(sequence(0, if(is_hot, {SALTS - 1}, 0))) AS salt")
        hot = F.broadcast(counted.where("is_hot"))
        shared = partial.join(hot, "set", "left").selectExpr(
            "*", f"if(is_hot, CAST(position % {SALTS} AS int), 0) AS salt"
        )
        return shared.drop("is_hot").join(salted.drop("is_hot"), ["set", "salt"])

    def _subsets(self) -> list[str]:
        """Every set of values by which a message can name a partition in part."""
        proper = [chosen for size in range(1, len(self.names)) for chosen in combinations(self.names, size)]
        values = dict(zip(self.names, self._values(), strict=True))
        return [
            joined_prefixed([values[each] if each in chosen else NOTHING for each in self.names]) for chosen in proper
        ]

    def _named(self, rows: DataFrame, *more: str) -> DataFrame:
        """With the partition that their values name in full."""
        values = dict(zip(self.names, self._values(), strict=True))
        names = [f"{partition_id(values)} AS partition_id", f"{partition_key(values)} AS partition_key"]
        return rows.selectExpr(*names, *more)

    def _values(self) -> list[str]:
        return [column(single_of(name)) for name in self.names]

    def _is_full(self) -> str:
        return " AND ".join(f"{value} IS NOT NULL" for value in self._values()) or "true"

    def _handled(self, rows: DataFrame) -> DataFrame:
        return rows.where(F.col("message_type").isin(self.types)) if self.types else rows


def assign(
    partition_by: Iterable[str],
    *,
    types: Types = (),
    keep: Iterable[str] | None = None,
    most_partitions: int = MOST_PARTITIONS,
    storage: StorageLevel | None = StorageLevel.MEMORY_AND_DISK,
) -> Assignment:
    """A transformation that assigns the log to the partitions of these attributes: ``log.transform(assign([…]))``."""
    return Assignment(partition_by, types, keep, most_partitions, storage)
