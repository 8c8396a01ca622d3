"""Benching: what ccc_bench says before and after a measurement."""

from dataclasses import asdict
from typing import Any

from ccc_django.conf import conf
from ccc_django.instrumentation.bench import Figure, Report
from ccc_django.instrumentation.bench.measuring import STEPS
from ccc_django.instrumentation.bench.report import APPEND
from ccc_django.management.tables import table

COLUMNS = ("what", "calls/s", "messages/s", "p50", "p99")


def preview(*, seconds: float, clients: int) -> str:
    """What will be done, before anybody says yes."""
    return (
        f"For about {STEPS * seconds + 5:.0f} s, {clients} {_clients(clients)} will append messages of the types "
        f'ccc.bench.* to the log in the database "{conf.database}" and consume them. Everything is removed afterwards; '
        "the positions stay used, and groups are behind by as many until a worker looks."
    )


def described(report: Report) -> str:
    """A report for people."""
    [append] = [figure for figure in report.figures if figure.name == APPEND]
    return "\n".join(
        [
            f"{report.database}, {report.clients} {_clients(report.clients)}, {report.seconds:g} s each",
            "",
            table(COLUMNS, [_row(figure) for figure in report.figures]),
            "",
            f"This process used {append.processor:.0%} of a processor while it appended.",
            report.limit,
            f"{report.removed:,} messages were removed; their positions stay used.",
        ]
    )


def as_json(report: Report) -> dict[str, Any]:
    """A report for scripts; times are seconds."""
    rates = [
        {"calls_per_second": each.calls_per_second, "messages_per_second": each.messages_per_second}
        for each in report.figures
    ]
    figures = [{**asdict(figure), **each} for figure, each in zip(report.figures, rates, strict=True)]
    return {**asdict(report), "figures": figures}


def _row(figure: Figure) -> dict[str, str]:
    return {
        "what": figure.name,
        "calls/s": f"{figure.calls_per_second:,.0f}",
        "messages/s": f"{figure.messages_per_second:,.0f}" if figure.messages else "-",
        "p50": f"{figure.p50 * 1000:.2f} ms",
        "p99": f"{figure.p99 * 1000:.2f} ms",
    }


def _clients(count: int) -> str:
    return "client" if count == 1 else "clients"
