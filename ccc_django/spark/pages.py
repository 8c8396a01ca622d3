"""Pages: a report as one HTML page with plots that needs nothing else.

What comes from the log is escaped, and the page forbids itself to load anything.
"""

import re
from collections.abc import Sequence
from datetime import timedelta
from html import escape
from typing import TYPE_CHECKING, Any

from ccc_django.spark import plots
from ccc_django.spark.plots import Figure, size
from ccc_django.spark.sections import Section, by, listed, moment, sections, title_of

if TYPE_CHECKING:
    from ccc_django.spark.reports import Report, Skew

UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
BREAKS = re.compile(r"(?<=\w)([._@/:,-])(?=\w)")  # where long words may go on in the next line
FOLDED = ("days", "hot")  # tables of what a plot shows

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<header><h1>{title}</h1><p>{about}</p>{totals}</header>
{sections}
</main>
</body>
</html>
"""
STYLE = """
:root { color-scheme: light dark; --page: #f4f5f7; --card: #fff; --ink: #1b1f24; --soft: #5b6470; --line: #dfe3e8; }
@media (prefers-color-scheme: dark) {
  :root { --page: #14171b; --card: #1d2126; --ink: #e8eaed; --soft: #9aa4b0; --line: #343a42; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 70rem; margin: 0 auto; padding: 1.5rem 1rem; }
h1 { margin: 0; font-size: 1.5rem; overflow-wrap: anywhere; } h2 { margin: 0 0 .5rem; font-size: 1.1rem; }
h3 { margin: 1rem 0 .25rem; font-size: .95rem; overflow-wrap: anywhere; }
p, figcaption, .legend { margin: 0 0 .75rem; color: var(--soft); font-size: .875rem; text-align: left; }
section, .totals div { background: var(--card); border: 1px solid var(--line); border-radius: .5rem; }
section { margin-top: 1rem; padding: 1rem; }
.totals { display: grid; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr)); gap: .75rem; margin: 0; }
.totals div { padding: .5rem 1rem; } dt { color: var(--soft); font-size: .8rem; }
dd { margin: 0; font-size: 1.25rem; font-weight: 600; }
figure { margin: 0 0 1rem; min-width: 0; } .pair { display: grid; gap: 0 2rem; }
@media (min-width: 50rem) { .pair { grid-template-columns: 1fr 1fr; } }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1rem; padding: 0; list-style: none; overflow-wrap: anywhere; }
.scroll { position: relative; overflow-x: auto; } summary { color: var(--soft); font-size: .875rem; cursor: pointer; }
caption { position: absolute; clip-path: inset(50%); }
table { width: 100%; border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
th { font-weight: 600; } thead th { color: var(--soft); white-space: nowrap; } tbody th { font-weight: 400; }
.figure { padding: .3rem 0 .3rem .7rem; text-align: right; white-space: nowrap; }
.word { min-width: 6rem; overflow-wrap: anywhere; }
"""


def page(report: "Report") -> str:
    """A report as HTML, whole in itself."""
    flow = report.throughput
    title = f"Report on {title_of(report)}"
    about = f"Made on {moment(report.made_at)}, of what is after position {report.after:,} and up to {report.upto:,}."
    shown = [each for each in sections(report)[1:] if each.rows or flow.messages]
    parts = ([] if flow.messages else [_empty(report)]) + [_section(each, report) for each in shown]
    return PAGE.format(
        title=escape(title),
        style=STYLE + plots.style(),
        about=escape(about),
        totals=_totals(report),
        sections="\n".join(parts),
    )


def _totals(report: "Report") -> str:
    flow = report.throughput
    lag = max((each.lag for each in report.groups), default=0)
    found = {"Messages": f"{flow.messages:,}", "Payload": size(flow.bytes), "Largest lag": f"{lag:,}"}
    if flow.messages:
        found["Mean payload"] = size(flow.bytes / flow.messages)
    parts = "".join(f"<div><dt>{name}</dt><dd>{text}</dd></div>" for name, text in found.items())
    return f'<dl class="totals">{parts}</dl>'


def _empty(report: "Report") -> str:
    """Nothing was read: what to do about it."""
    doing = "Append some: store.append(…)" if report.archive is None else "Add some: manage.py ccc_spark export --to …"
    said = f"{doing}. Or ask for other positions: --after, --upto."
    return f"<section><h2>There are no messages here</h2><p>{escape(said)}</p></section>"


def _section(section: Section, report: "Report") -> str:
    note = f"<p>{escape(section.note)}</p>" if section.note else ""
    table = _table(section) if section.rows else "<p>There are none.</p>"
    if section.name in FOLDED and section.rows:
        table = f"<details><summary>As a table</summary>{table}</details>"
    return f"<section><h2>{escape(section.title)}</h2>{note}{_drawn(section.name, report)}{table}</section>"


def _drawn(name: str, report: "Report") -> str:
    """The plots of a section, if it has any."""
    if name == "days" and report.throughput.days:
        return "".join(map(_figure, plots.of_days(report.throughput.days)))
    if name == "groups":
        return "".join(map(_figure, plots.of_groups(report.groups)))
    return "".join(_side_by_side(each) for each in report.partitions if each.partitions) if name == "hot" else ""


def _side_by_side(skew: "Skew") -> str:
    figures = "".join(map(_figure, plots.of_partitions(skew)))
    return f'<h3>By {escape(by(skew))}: {escape(listed(skew.groups))}</h3><div class="pair">{figures}</div>'


def _figure(figure: Figure) -> str:
    names = "".join(f"<li>{plots.mark(colour)}{escape(name)}</li>" for colour, name in figure.legend.items())
    legend = f'<ul class="legend">{names}</ul>' if names else ""
    return f"<figure><figcaption>{escape(figure.caption)}</figcaption>{legend}{figure.svg}</figure>"


def _table(section: Section) -> str:
    kinds = ["word" if number < section.words else "figure" for number in range(len(section.columns))]
    head = "".join(
        f'<th scope="col" class="{kind}">{escape(column.replace("_", " "))}</th>'
        for kind, column in zip(kinds, section.columns, strict=True)
    )
    body = "".join(f"<tr>{_cells(section, kinds, row)}</tr>" for row in section.rows)
    said = escape(section.title)
    return (
        f'<div class="scroll" role="region" aria-label="{said}" tabindex="0"><table><caption>{said}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _cells(section: Section, kinds: Sequence[str], row: dict[str, Any]) -> str:
    """The first cell of a row is what the others are about."""
    texts = [escape(_text(row[column])) for column in section.columns]
    texts[: section.words] = [BREAKS.sub(r"\1<wbr>", text) for text in texts[: section.words]]
    first, *others = zip(kinds, texts, strict=True)
    cells = [f'<td class="{kind}">{text}</td>' for kind, text in others]
    return f'<th scope="row" class="{first[0]}">{first[1]}</th>{"".join(cells)}'


def _text(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, timedelta):
        unit, length = next((each for each in UNITS if value.total_seconds() >= each[1]), UNITS[-1])
        return f"{int(value.total_seconds() / length):,} {unit}"
    return f"{value:,}" if isinstance(value, int) else str(value)
