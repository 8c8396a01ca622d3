"""Plots: a report's figures as SVG, in columns over days and sizes, and in rows by name.

Across everything is in percent, and downwards in pixels: a plot is as wide as there is room, and its text stays as
large. What stands left of zero is shown, for the style leaves room for it.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from pydantic_core import from_json, to_json

if TYPE_CHECKING:
    from ccc_django.instrumentation.overview import GroupOverview
    from ccc_django.spark.reports import Day, Skew

HEIGHT, TOP, BELOW = 180, 12, 24  # pixels of columns, and of text above and below them
ROW, BAR = 36, 10
FEWEST_DAYS, MOST_DAYS = 14, 92  # columns of days; if there are more, of weeks
FEWEST_COLUMNS = 8
MOST_STEPS = 5
MOST_ROWS = 15
LONGEST = 40  # characters of a name
STANDS_OUT = 6  # characters of a name that is wider than its column
THOUSAND = 1000
OTHERS = "all others"
COLOURS = {
    "c1": ("#2a78d6", "#3987e5"),
    "c2": ("#1baf7a", "#199e70"),
    "c3": ("#eda100", "#c98500"),
    "c4": ("#4a3aa7", "#9085e9"),
    "c5": ("#e34948", "#e66767"),
    "c6": ("#e87ba4", "#d55181"),
    "rest": ("#9aa4b0", "#6b7580"),
}  # by light and by dark
STYLE = """
svg { display: block; width: 100%; overflow: visible; font-size: 12px; }
svg.columns { width: calc(100% - 3.5rem); margin-left: 3.5rem; }
svg text { fill: var(--soft); } svg.rows text { fill: var(--ink); }
svg line { stroke: var(--line); } svg.columns rect { stroke: var(--card); stroke-width: .5; }
svg .track { fill: var(--line); } svg.mark { display: inline-block; width: .7rem; height: .7rem; margin-right: .4rem; }
"""


class Figure(NamedTuple):
    """A plot, what it shows in a sentence, and the names of its colours."""

    caption: str
    svg: str
    legend: dict[str, str]


class Series(NamedTuple):
    """A value for each column, what is said to whoever points at it, and the class of its colour."""

    colour: str
    values: Sequence[float]
    titles: list[str]


class Bar(NamedTuple):
    """A value by name, and what is said to whoever points at it."""

    name: str
    value: int
    text: str
    title: str


def style() -> str:
    """The style of plots, in light and in dark."""
    light, dark = (
        "".join(f" .{name} {{ fill: {pair[number]}; }}" for name, pair in COLOURS.items()) for number in (0, 1)
    )
    return f"{STYLE}{light}\n@media (prefers-color-scheme: dark) {{{dark} }}\n"


def of_days(days: "Sequence[Day]") -> list[Figure]:
    """Messages by day and type, and the bytes of their payloads."""
    by, periods = _periods(days)
    names = [*periods]
    stack = _stack(days[0].types, [*periods.values()])
    series = [
        Series(colour, counts, [f"{name}: {count:,} {type}" for name, count in zip(names, counts, strict=True)])
        for colour, (type, counts) in stack.items()
    ]
    sizes = [sum(day.bytes for day in period) for period in periods.values()]
    payload = Series("c1", sizes, [f"{name}: {size(value)}" for name, value in zip(names, sizes, strict=True)])
    legend = {colour: type for colour, (type, _) in stack.items()}
    return [
        Figure(f"Messages by {by}, and by type.", columns(f"Messages by {by}", names, series, text=short), legend),
        Figure(f"Payload by {by}.", columns(f"Payload by {by}", names, [payload], text=size), {}),
    ]


def of_partitions(skew: "Skew") -> list[Figure]:
    """How many partitions are how large, and the hottest by name."""
    by = ", ".join(skew.partition_by)
    sizes = {each.least: each for each in skew.sizes}
    steps = [1 << bits for bits in range(min(sizes).bit_length() - 1, max(sizes).bit_length())]
    shown = [sizes.get(step) for step in steps]
    partitions, messages = (
        [each.partitions if each else 0 for each in shown],
        [each.messages if each else 0 for each in shown],
    )
    series = [_shares("c1", "partitions", steps, partitions), _shares("c3", "messages", steps, messages)]
    names = [short(step) for step in steps]
    svg = columns(f"Sizes of partitions by {by}", names, series, text="{:.0f}%".format, stacked=False, most_names=6)
    bars = [
        Bar(_values(key), count, f"{count:,} · {share(count, skew.messages)}", key)
        for key, count in skew.hottest.items()
    ]
    legend = {"c1": "of the partitions", "c3": "of their messages"}
    return [
        Figure("Partitions by their number of messages: from 1, from 2, from 4 and so on.", svg, legend),
        Figure("The hottest of them.", rows(f"Hottest partitions by {by}", bars), {}),
    ]


def of_groups(groups: "Sequence[GroupOverview]") -> list[Figure]:
    """Those that lag, most first."""
    bars = [Bar(_cut(each.name), each.lag, f"{each.lag:,}", each.name) for each in groups if each.lag][:MOST_ROWS]
    return [Figure("Positions behind the head of the log.", rows("Lag by group", bars), {})] if bars else []


def _periods(days: "Sequence[Day]") -> "tuple[str, dict[str, list[Day]]]":
    """Days by what a column stands for, without any gap: a day, or a week that begins on Monday."""
    dated = {date.fromisoformat(each.name): each for each in days if each.name is not None}
    newest = max(dated)
    oldest = min(*dated, newest - timedelta(days=FEWEST_DAYS - 1))
    by, length = ("day", 1) if (newest - oldest).days < MOST_DAYS else ("week", 7)
    oldest -= timedelta(days=oldest.weekday() if length > 1 else 0)
    found: dict[str, list[Day]] = {}
    for number in range((newest - oldest).days + 1):
        day = oldest + timedelta(days=number)
        period = found.setdefault(str(day - timedelta(days=number % length)), [])
        period += [dated[day]] if day in dated else []
    return by, found


def _stack(types: Iterable[str], periods: "Sequence[Sequence[Day]]") -> dict[str, tuple[str, list[int]]]:
    """By colour, a type and how many messages each period has of it; and those of all others, if there are any."""
    counts = {type: [sum(day.types.get(type, 0) for day in period) for period in periods] for type in types}
    totals = [sum(day.messages for day in period) for period in periods]
    rests = [total - sum(found) for total, *found in zip(totals, *counts.values(), strict=True)]
    stack = {f"c{number}": each for number, each in enumerate(counts.items(), start=1)}
    return stack | ({"rest": (OTHERS, rests)} if any(rests) else {})


def _shares(colour: str, what: str, steps: Sequence[int], counts: Sequence[int]) -> Series:
    titles = [f"{step:,} to {2 * step - 1:,}: {count:,} {what}" for step, count in zip(steps, counts, strict=True)]
    return Series(colour, [100 * count / sum(counts) for count in counts], titles)


def _values(key: str) -> str:
    """The values of a partition, without their names."""
    found = from_json(key).values()
    return _cut(" · ".join(each if isinstance(each, str) else to_json(each).decode() for each in found))


def _cut(name: str) -> str:
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"


def columns(
    label: str,
    names: Sequence[str],
    series: Sequence[Series],
    *,
    text: Callable[[float], str],
    stacked: bool = True,
    most_names: int = 3,
) -> str:
    """Columns by name, in which series stand on each other, or side by side."""
    heights = [
        sum(values) if stacked else max(values) for values in zip(*(each.values for each in series), strict=True)
    ]
    top, step = scale(max(heights, default=0))
    width = 100 / max(len(names), FEWEST_COLUMNS)
    parts = [_line(_down(number * step, top), text(number * step)) for number in range(round(top / step) + 1)]
    for number, series_number in ((n, s) for n in range(len(names)) for s in range(len(series))):
        each = series[series_number]
        below = sum(other.values[number] for other in series[:series_number]) if stacked else 0
        wide = 0.8 * width / (1 if stacked else len(series))
        left = width * (number + 0.1) + (0 if stacked else wide * series_number)
        high, low = _down(below + each.values[number], top), _down(below, top)
        if each.values[number]:
            parts.append(_rect(each.colour, left, wide, high, low, each.titles[number]))
    parts += [_name(names[number], number, width) for number in _chosen(len(names), most_names)]
    return _svg("columns", label, TOP + HEIGHT + BELOW, parts)


def rows(label: str, bars: Sequence[Bar]) -> str:
    """Bars below each other, each with its name and value above."""
    largest = max((bar.value for bar in bars), default=0) or 1
    parts = []
    for number, bar in enumerate(bars):
        above, below = number * ROW + 15, number * ROW + 21
        parts.append(
            f"<g><title>{escape(bar.title)}</title>"
            f'<text x="0" y="{above}">{escape(bar.name)}</text>'
            f'<text x="100%" y="{above}" text-anchor="end">{escape(bar.text)}</text>'
            f'<rect class="track" x="0" y="{below}" width="100%" height="{BAR}" rx="2"/>'
            f'<rect class="c1" x="0" y="{below}" width="{100 * bar.value / largest:.2f}%" height="{BAR}" rx="2"/></g>'
        )
    return _svg("rows", label, ROW * len(bars), parts)


def scale(largest: float) -> tuple[float, float]:
    """The top of an axis that has room for a value, and the step between its lines: 1, 2, 5, 10, 20 and so on."""
    steps = (float(digit * 10**exponent) for exponent in range(20) for digit in (1, 2, 5))
    step = next(each for each in steps if largest <= each * MOST_STEPS)
    return max(math.ceil(largest / step), 1) * step, step


def size(value: float) -> str:
    """Bytes in a unit that people read."""
    return _scaled(value, (" B", " kB", " MB", " GB", " TB", " PB"))


def short(value: float) -> str:
    """A number for an axis."""
    return f"{value:,.0f}" if value < 10 * THOUSAND else _scaled(value, ("", "k", "M", "G", "T"))


def _scaled(value: float, units: Sequence[str]) -> str:
    """With one digit behind the point at most; 999,960 is a million, and not a thousand thousands."""
    exponent = min(int(math.log10(max(value, 1) * 1.00005) // 3), len(units) - 1)
    return f"{value / THOUSAND**exponent:,.{min(exponent, 1)}f}".removesuffix(".0") + units[exponent]


def share(part: int, whole: int) -> str:
    """What a part is of the whole; a little is not nothing."""
    return f"{part / max(whole, 1):.1%}" if part >= whole / THOUSAND or not part else "<0.1%"


def _down(value: float, top: float) -> float:
    return TOP + HEIGHT * (1 - value / top)


def _rect(colour: str, left: float, width: float, high: float, low: float, title: str) -> str:
    return (
        f'<rect class="{colour}" x="{left:.3f}%" y="{high:.1f}" width="{width:.3f}%" height="{max(low - high, 1):.1f}">'
        f"<title>{escape(title)}</title></rect>"
    )


def _line(down: float, text: str) -> str:
    return (
        f'<line x1="0" x2="100%" y1="{down:.1f}" y2="{down:.1f}"/>'
        f'<text x="-8" y="{down + 4:.1f}" text-anchor="end">{escape(text)}</text>'
    )


def _chosen(count: int, most: int) -> list[int]:
    """Which of several names are shown: the first, the last and some between."""
    return sorted({round(number * (count - 1) / (most - 1)) for number in range(most)}) if count else []


def _name(name: str, number: int, width: float) -> str:
    """A name below its column; a long one begins or ends with the plot."""
    left, right = width * number, width * (number + 1)
    anchor, x = "middle", (left + right) / 2
    if len(name) > STANDS_OUT and not number:
        anchor, x = "start", left
    elif len(name) > STANDS_OUT and math.isclose(right, 100):
        anchor, x = "end", right
    return f'<text x="{x:.3f}%" y="{TOP + HEIGHT + 17}" text-anchor="{anchor}">{escape(name)}</text>'


def mark(colour: str) -> str:
    """A colour, to stand before its name."""
    return f'<svg class="mark" aria-hidden="true"><rect class="{colour}" width="100%" height="100%" rx="2"/></svg>'


def _svg(kind: str, label: str, height: int, parts: Sequence[str]) -> str:
    return f'<svg class="{kind}" role="img" aria-label="{escape(label)}" height="{height}">{"".join(parts)}</svg>'
