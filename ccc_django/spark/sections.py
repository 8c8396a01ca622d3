"""Sections: what a report says, as tables for a terminal and for a page."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ccc_django.spark.plots import OTHERS, share, size

if TYPE_CHECKING:
    from ccc_django.spark.reports import Report, Skew, Volume

DAYS = 31
LISTED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A table of a report; its first columns are words, and the others figures."""

    name: str
    title: str
    columns: tuple[str, ...]
    rows: list[dict[str, Any]]
    words: int = 1
    note: str = ""


def sections(report: "Report") -> list[Section]:
    """What a report says, as tables."""
    archived = [] if report.archive is None else [_archived(report)]
    return [
        _log(report),
        _days(report),
        _volumes(report, "type", report.throughput.types),
        _volumes(report, "topic", report.throughput.topics),
        _partitions(report),
        _hot(report),
        _groups(report),
        *archived,
        _pruned(report),
    ]


def _log(report: "Report") -> Section:
    flow = report.throughput
    row = {"after": report.after, "upto": report.upto, "messages": flow.messages, "payload": size(flow.bytes)}
    return Section(name="log", title=f"Report on {title_of(report)}", columns=(*row,), rows=[row], words=0)


def title_of(report: "Report") -> str:
    """What a report is about."""
    return "the log" if report.archive is None else f"the archive {report.archive}"


def _days(report: "Report") -> Section:
    """The newest, and all before them as one."""
    days, before = report.throughput.days[:DAYS], report.throughput.days[DAYS:]
    found = _volumes(report, "day", days)
    messages, bytes_ = sum(each.messages for each in before), sum(each.bytes for each in before)
    rows = [*found.rows, _volume(report, "day", None, messages, bytes_)] if before else found.rows
    return replace(found, rows=rows, note="Days of UTC, by when messages were appended.")


def _volumes(report: "Report", what: str, volumes: "Sequence[Volume]") -> Section:
    rows = [_volume(report, what, each.name, each.messages, each.bytes) for each in volumes]
    columns = (what, "messages", "share", "payload")
    return Section(name=f"{what}s", title=f"Messages by {what}", columns=columns, rows=rows)


def _volume(report: "Report", what: str, name: str | None, messages: int, bytes_: int) -> dict[str, Any]:
    part = share(messages, report.throughput.messages)
    return {what: _named(name), "messages": messages, "share": part, "payload": size(bytes_)}


def _named(name: str | None) -> str:
    """The default topic has no name."""
    return OTHERS if name is None else name or "(none)"


def _partitions(report: "Report") -> Section:
    columns = ("partition_by", "groups", "partitions", "messages", "largest", "share", "median", "percentile_99")
    rows = [
        {
            **_fields(each, columns),
            "partition_by": by(each),
            "groups": listed(each.groups),
            "share": share(each.largest, each.messages),
        }
        for each in report.partitions
    ]
    note = "Of ordered groups. A message counts in each partition that it belongs to; the share is that of the largest."
    return Section(name="partitions", title="Partitions", columns=columns, rows=rows, words=2, note=note)


def _hot(report: "Report") -> Section:
    columns = ("partition_by", "partition", "messages", "share")
    rows = [
        {"partition_by": by(each), "partition": key, "messages": count, "share": share(count, each.messages)}
        for each in report.partitions
        for key, count in each.hottest.items()
    ]
    return Section(name="hot", title="Hot partitions", columns=columns, rows=rows, words=2)


def by(skew: "Skew") -> str:
    """What makes the partitions."""
    names = ", ".join(skew.partition_by)
    return names if skew.topics is None else f"{names}, in {listed(skew.topics) or 'no topic'}"


def listed(names: Sequence[str]) -> str:
    """The first few names, and how many more there are."""
    more = f" and {len(names) - LISTED:,} more" if len(names) > LISTED else ""
    return ", ".join(names[:LISTED]) + more


def _groups(report: "Report") -> Section:
    columns = ("name", "kind", "status", "lag", "oldest_age", "pending", "in_flight", "failures", "rate")
    rows = [{**_fields(each, columns), "rate": f"{each.rate:,.1f}/s"} for each in report.groups]
    more = f" {report.other_groups:,} more lag no more than these." if report.other_groups else ""
    note = f"As it was when the report was made.{more}"
    return Section(name="groups", title="Lag by group", columns=columns, rows=rows, words=3, note=note)


def _archived(report: "Report") -> Section:
    columns = ("after", "upto", "segments", "rows", "files", "bytes", "made_at")
    rows = [
        {**_fields(each, columns), "bytes": size(each.bytes), "made_at": moment(each.made_at)}
        for each in report.archived
    ]
    return Section(name="archived", title="Archived", columns=columns, rows=rows, words=0)


def _pruned(report: "Report") -> Section:
    columns = ("topic", "upto", "messages", "pruned_at")
    rows = [
        {**_fields(each, columns), "topic": _named(each.topic), "pruned_at": moment(each.pruned_at)}
        for each in report.pruned
    ]
    note = "Up to that position only what had a reason was kept."
    return Section(name="pruned", title="Pruned", columns=columns, rows=rows, note=note)


def _fields(what: Any, names: Sequence[str]) -> dict[str, Any]:
    return {name: getattr(what, name) for name in names}


def moment(time: datetime | None) -> str | None:
    """A time as it is shown."""
    return None if time is None else f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
