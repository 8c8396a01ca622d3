"""Reports: what one says, as values; the largest of each kind, and the sum of the others."""

from dataclasses import dataclass, field
from datetime import datetime

from ccc_django.instrumentation.overview import GroupOverview


@dataclass(frozen=True, slots=True, kw_only=True)
class Volume:
    """Messages of a type, a topic or a day, and the bytes of their payloads; without a name, those of all others."""

    name: str | None
    messages: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Day(Volume):
    """What was appended on a day of UTC, and how many messages of it have each of the largest types."""

    types: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """How much was appended, and at which positions; the largest types and topics first, and the newest days."""

    messages: int = 0
    bytes: int = 0
    first: int | None = None
    last: int | None = None
    types: list[Volume] = field(default_factory=list)
    topics: list[Volume] = field(default_factory=list)
    days: list[Day] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How many partitions have at least so many messages, but not twice as many; and how many they have together."""

    least: int
    partitions: int
    messages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Skew:
    """How even the partitions of some groups are; a message counts in each of them that it belongs to.

    ``share`` is what the largest has of all messages; ``hottest`` are the largest ones by their keys.
    """

    groups: list[str]
    partition_by: tuple[str, ...]
    topics: tuple[str, ...] | None
    partitions: int
    messages: int
    largest: int
    share: float
    median: int
    percentile_99: int
    sizes: list[Sizes]
    hottest: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedRange:
    """A part of the log that an archive has, in one segment or several."""

    after: int
    upto: int
    segments: int
    rows: int
    files: int
    bytes: int
    made_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PrunedTopic:
    """How many messages of a topic were pruned, the last of them up to a position; without a topic, of all others."""

    topic: str | None
    upto: int
    messages: int
    pruned_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The log between two positions, or an archive of it; and groups as they are now, those that lag most first."""

    made_at: datetime
    archive: str | None
    after: int
    upto: int
    throughput: Throughput
    partitions: list[Skew]
    groups: list[GroupOverview]
    other_groups: int
    archived: list[ArchivedRange]
    pruned: list[PrunedTopic]
