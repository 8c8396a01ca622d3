"""A report counts what Python counts, names what is hot, and is a page that needs nothing else."""

from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from itertools import pairwise

import pytest
from django.db.models import TextField
from django.db.models.functions import Cast
from pydantic_core import from_json, to_json, to_jsonable_python

from ccc_django import groups, store, topics
from ccc_django.errors import NoArchive
from ccc_django.instrumentation.overview import GroupOverview
from ccc_django.management.tables import table
from ccc_django.models import StoredMessage, Topic
from ccc_django.spark import pages, plots, reporting
from ccc_django.spark.archives import File, Segment
from ccc_django.spark.exporting import export
from ccc_django.spark.reporting import report
from ccc_django.spark.reports import Day, PrunedTopic, Report, Sizes, Skew, Throughput, Volume
from ccc_django.spark.sections import sections
from tests.retaining import age
from tests.spark.portable import Announced, Gathered, Joined

NASTY = "</td><script>alert('x')</script>&\"\u202e"
NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


def a_log() -> None:
    """A hot course among quiet ones, on several days, in two topics."""
    hot = [Joined(course_name="Algebra", user_id=f"user-{number % 3}") for number in range(20)]
    quiet = [Joined(course_name=f"Course {number}", user_id="joe") for number in range(5)]
    store.append([*hot, *quiet, Joined(user_id="joe"), Gathered(courses=["Algebra", NASTY], user_id="ann")])
    topics.publish("news", [Announced(text="é" * number) for number in range(3)])
    for position, hours in enumerate([0, 11, 12, 13, 24 * 40, 24 * 800], start=1):
        StoredMessage.objects.filter(position=position).update(appended_at=NOON - timedelta(hours=hours, minutes=30))
    StoredMessage.objects.after(6).update(appended_at=NOON)


def volumes(name: str) -> dict[str, tuple[int, int]]:
    """By one column, messages and the bytes of their payloads, counted one by one."""
    found: dict[str, list[int]] = defaultdict(list)
    rows = StoredMessage.objects.annotate(text=Cast("payload", TextField()))
    for value, text in rows.values_list(name, "text"):
        key = value.astimezone(UTC).date().isoformat() if isinstance(value, datetime) else value
        found[key].append(len(text.encode()))
    return {key: (len(sizes), sum(sizes)) for key, sizes in found.items()}


def as_pairs(found: list[Volume]) -> dict[str | None, tuple[int, int]]:
    return {each.name: (each.messages, each.bytes) for each in found}


def sizes_by_workers(name: str) -> dict[str, int]:
    """How many messages of each partition a group is given."""
    found: Counter[str] = Counter()
    while claim := groups.claim_next(name, worker="test"):
        found[claim.partition_key] += len(claim.messages)
        groups.ack(claim)
    return dict(found)


def test_figures_are_those_that_python_counts(spark, monkeypatch):
    a_log()
    monkeypatch.setattr(reporting, "MOST_DAYS", 60)
    spark.conf.set("spark.sql.session.timeZone", "Pacific/Auckland")
    try:
        flow = report(spark).throughput
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    assert (flow.messages, flow.first, flow.last) == (30, 1, 30)
    assert as_pairs(flow.types) == volumes("message_type")
    assert as_pairs(flow.topics) == volumes("topic")
    days = volumes("appended_at")
    assert as_pairs(flow.days) == {day if day > "2025" else None: figures for day, figures in days.items()}
    assert [each.name for each in flow.days] == [*sorted((day for day in days if day > "2025"), reverse=True), None]
    assert sum(day.types["spark.joined"] for day in flow.days if day.name) == 25


def test_what_is_not_named_is_summed_up(spark, monkeypatch):
    a_log()
    monkeypatch.setattr(reporting, "MOST", 1)
    groups.register("one", handled_types=[Joined])
    groups.register("other", handled_types=[Joined])
    Topic.objects.bulk_create([Topic(name=name, pruned=number, pruned_upto=9) for number, name in enumerate("abc")])
    found = report(spark, after=2, upto=28)
    assert (found.after, found.upto, found.throughput.first, found.throughput.last) == (2, 28, 3, 28)
    assert [(each.name, each.messages) for each in found.throughput.types] == [("spark.joined", 24), (None, 2)]
    assert ([each.name for each in found.groups], found.other_groups) == (["one"], 2)  # the queue of news has one too
    assert [(each.topic, each.messages) for each in found.pruned] == [("c", 2), (None, 1)]


def test_partitions_are_as_large_as_workers_find_them_and_the_hottest_is_first(spark):
    a_log()
    topics.configure("seats", semantics=topics.PUB_SUB)
    topics.publish(
        "seats", [Joined(course_name="Algebra", user_id="ann"), Joined(user_id="ann"), Joined(user_id="joe")]
    )
    groups.register("courses", partition_by=["course_name"], handled_types=[Joined, Gathered])
    groups.register("gatherings", partition_by=["course_name"], handled_types=[Gathered])
    groups.register("idle", partition_by=["course_name"], handled_types=[Announced])
    groups.register("rosters", partition_by=["course_name"], handled_types=[Joined, Gathered])
    groups.register("seating", partition_by=["course_name", "user_id"], handled_types=[Joined])
    groups.register("whole", handled_types=[Joined])
    topics.subscribe("seats", group="seating", mode="all")
    found = {tuple(each.groups): each for each in report(spark).partitions}
    assert [*found] == [("courses", "rosters"), ("gatherings",), ("idle",), ("seating",)]
    for names, skew in found.items():
        assert_is_of(skew, sizes_by_workers(names[0]))
    courses, seating = found["courses", "rosters"], found["seating",]
    assert next(iter(courses.hottest.items())) == ('{"course_name":"Algebra"}', 22)
    assert [(each.least, each.partitions) for each in courses.sizes] == [(1, 6), (16, 1)]
    assert (seating.topics, seating.hottest) == (("seats",), {'{"course_name":"Algebra","user_id":"ann"}': 2})


def assert_is_of(skew: Skew, sizes: dict[str, int]) -> None:
    """It tells how even partitions of these sizes are."""
    in_order = sorted(sizes.values())
    assert (skew.partitions, skew.messages) == (len(sizes), sum(in_order))
    assert skew.hottest.items() <= sizes.items()
    assert [*skew.hottest.values()] == in_order[::-1][:10]
    assert sum(each.partitions for each in skew.sizes) == skew.partitions
    assert all(each.least <= each.messages / each.partitions < 2 * each.least for each in skew.sizes)
    if sizes:
        assert (skew.largest, skew.percentile_99) == (in_order[-1], in_order[-1])
        assert skew.median == in_order[(len(in_order) - 1) // 2]
        assert skew.share == skew.largest / skew.messages


def test_lag_and_what_was_pruned_are_told(spark):
    topics.configure("news", semantics=topics.PUB_SUB, unsubscribed_retention=timedelta(days=1))
    topics.publish("news", [Announced(text=f"old {number}") for number in range(3)])
    age(days=10)
    topics.prune("news")
    groups.register("late", handled_types=[Joined])
    store.append([Joined(), Joined()])
    found = report(spark)
    assert [(each.name, each.lag) for each in found.groups if each.lag] == [("late", store.head())]
    assert [(each.topic, each.messages, each.upto) for each in found.pruned] == [("news", 3, 3)]


def test_an_archive_says_the_same_as_the_log(spark, tmp_path):
    a_log()
    export(spark, tmp_path, upto=25)
    found = report(spark, archive=tmp_path)
    assert found.throughput == report(spark, upto=25).throughput
    assert (found.archive, found.upto, found.throughput.messages) == (str(tmp_path), 25, 25)
    assert [(each.after, each.upto, each.rows) for each in found.archived] == [(0, 25, 25)]
    assert all(each.files and each.bytes for each in found.archived)
    with pytest.raises(NoArchive):
        report(spark, archive=tmp_path / "nowhere")


def test_a_report_on_nothing_says_what_to_do(spark):
    groups.register("courses", partition_by=["course_name"], handled_types=[Joined])
    found = report(spark)
    assert (found.throughput, found.partitions) == (Throughput(), [])
    assert "There are no messages here" in well_formed(pages.page(found))
    assert "store.append" in pages.page(found)
    assert table(*tabled(found, "days")) == "There are none."


def test_only_the_newest_segments_are_told_one_by_one():
    file = File(path="x", rows=2, first=1, last=2, bytes=5, sha256="")
    segments = [Segment(after=n, upto=n + 1, rows=2, files=(file,), made_at=NOON) for n in range(25)]
    found = reporting._archived(segments)
    assert len(found) == reporting.MOST_RANGES + 1
    assert (found[0].after, found[0].upto, found[0].segments, found[0].rows, found[0].bytes) == (0, 5, 5, 10, 25)
    assert all(one.upto == other.after for one, other in pairwise(found))


def a_report(**given: object) -> Report:
    """One that says something of everything, without Spark."""
    name = to_json({"course_name": NASTY, "seats": 3}).decode()
    day = Day(name="2026-01-31", messages=3_000, bytes=2_000_000, types={NASTY: 2_999})
    skew = Skew(
        groups=[NASTY, "b", "c", "d"],
        partition_by=("course_name", "seats"),
        topics=(NASTY,),
        partitions=1_500,
        messages=3_000,
        largest=1_000,
        share=1 / 3,
        median=1,
        percentile_99=2,
        sizes=[
            Sizes(least=1, partitions=1_499, messages=2_000),
            Sizes(least=512, partitions=1, messages=1_000),
        ],
        hottest={name: 1_000},
    )
    group = GroupOverview(
        name=NASTY, kind="ordered", status="active", error_context=NASTY, lag=12_345, pending=7, in_flight=1,
        failures=0, dead_letters=0, partitions=3, oldest_age=timedelta(hours=5), rate=2.5,
    )  # fmt: skip
    made = {
        "made_at": NOON,
        "archive": f"/{NASTY}",
        "after": 0,
        "upto": 3_000,
        "throughput": Throughput(
            messages=3_000,
            bytes=2_000_000,
            types=[Volume(name=NASTY, messages=2_999, bytes=1_999_000), Volume(name=None, messages=1, bytes=1_000)],
            topics=[Volume(name="", messages=3_000, bytes=2_000_000)],
            days=[day],
        ),
        "partitions": [skew],
        "groups": [group],
        "other_groups": 0,
        "archived": [],
        "pruned": [PrunedTopic(topic=NASTY, upto=9, messages=4, pruned_at=None)],
    }
    return Report(**{**made, **given})


def tabled(found: Report, name: str) -> tuple[tuple[str, ...], list[dict[str, object]]]:
    return next((each.columns, each.rows) for each in sections(found) if each.name == name)


class Reader(HTMLParser):
    """Reads a page as a browser would, and refuses what is not closed, and whatever leads out of it."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.said: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in {"script", "link", "img", "iframe", "image", "use", "object", "embed", "base"}
        names = {name for name, _ in attrs}
        assert not names & {"src", "href", "xlink:href", "srcset", "data", "action", "style"}
        assert not any(name.startswith("on") for name in names)
        if tag == "svg":
            assert "role" in names or "aria-hidden" in names
        if tag not in {"meta", "wbr"}:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in {"rect", "line"}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.said.append(data)


def well_formed(page: str) -> str:
    """What a page says, if everything in it is closed and nothing leads out."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    said = "".join(reader.said)
    assert not any(outside in said for outside in ("http:", "https:", "url(", "@import"))
    return said


def test_a_page_shows_everything_and_leads_nowhere():
    said = well_formed(pages.page(a_report()))
    for text in [NASTY, "3,000", "2 MB", "33.3%", "all others", "(none)", "12,345", "5 h", "2026-01-31", "1,499"]:
        assert text in said
    assert "<script" not in pages.page(a_report())


def test_a_page_of_years_has_weeks():
    dates = [NOON.date() - timedelta(days=number) for number in range(0, 390, 3)]
    days = [Day(name=str(each), messages=1, bytes=10, types={"a": 1}) for each in dates]
    found = a_report(
        throughput=Throughput(messages=200, bytes=2000, days=[*days, Day(name=None, messages=70, bytes=9)])
    )
    page = pages.page(found)
    assert "by week" in well_formed(page)
    assert page.count('<rect class="c1"') < 150
    assert len(tabled(found, "days")[1]) == 32
    assert sum(row["messages"] for row in tabled(found, "days")[1]) == 200


def test_a_report_is_tables_for_a_terminal_and_json_for_scripts():
    found = a_report()
    for section in sections(found):
        assert len(table(section.columns, section.rows).splitlines()) == len(section.rows) + 1 or not section.rows
    assert "course_name, seats" in table(*tabled(found, "partitions"))
    read = from_json(to_json(to_jsonable_python(found, timedelta_mode="float")))
    assert read["throughput"]["types"][1] == {"name": None, "messages": 1, "bytes": 1_000}
    assert [from_json(key)["seats"] for key in read["partitions"][0]["hottest"]] == [3]


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (999, "999 B"), (1_000, "1 kB"), (1_250, "1.2 kB"), (999_960, "1 MB"), (2**50, "1.1 PB")],
)
def test_sizes_are_said_in_units(number, text):
    assert plots.size(number) == text


@pytest.mark.parametrize(("largest", "top"), [(0, 1), (1, 1), (6, 6), (7, 8), (99, 100), (101, 150), (1e9, 1e9)])
def test_axes_end_at_round_numbers(largest, top):
    assert plots.scale(largest)[0] == top
