"""Pictures: a trace as a tree for people, and as nested JSON for scripts, however deep it is."""

import json
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

from django.utils import timezone
from pydantic_core import to_jsonable_python

from ccc_django.instrumentation.handled import DEAD, DISCARDED, DONE, FAILED, Handled
from ccc_django.instrumentation.showing import shown, shown_payload
from ccc_django.instrumentation.traces import GONE, NONE, Node, Trace
from ccc_django.management.painting import Part, encoding_of, payload_text

LINES = ("├── ", "└── ", "│   ", "    ")
ASCII_LINES = ("|-- ", "`-- ", "|   ", "    ")
STYLES = {DONE: "green", FAILED: "red", DEAD: "red", DISCARDED: "yellow"}
REMARKS = {NONE: "no cause", GONE: "its cause is gone"}
LONGEST = 60  # characters of an error
SECOND, MINUTE, HOUR, DAY = 1, 60, 3_600, 86_400


def picture(trace: Trace, *, lines: tuple[str, ...] = LINES, payload: bool, reveal: bool) -> Iterator[list[Part]]:
    """A line for each message, what follows from it indented below it, and what the limit has left out."""
    branch, last_branch, beside, nothing = lines
    waiting = [(trace.root, "", "")]
    while waiting:
        node, before, below = waiting.pop()
        more = [("  " + payload_text(shown_payload(node.message, reveal=reveal)), "dim")] if payload else []
        yield [(before, "dim"), *_described(node, is_root=node is trace.root), *more]
        for number, child in enumerate(reversed(node.children)):
            ends = number == 0
            waiting.append((child, below + (last_branch if ends else branch), below + (nothing if ends else beside)))
    if trace.left_out:
        wanted = trace.messages + trace.left_out
        yield [(f"{trace.left_out:,} more messages are left out: --limit {wanted} shows them.", "yellow")]


def lines_for(out: Any) -> tuple[str, ...]:
    """Lines that the output's encoding has."""
    try:
        "".join(LINES).encode(encoding_of(out))
    except UnicodeEncodeError:
        return ASCII_LINES
    return LINES


def _described(node: Node, *, is_root: bool) -> Iterable[Part]:
    """Type and position, the time, who made it, and what the groups that get it have done."""
    yield node.message.type, "bold cyan" if node.is_asked else "cyan"
    if node.message.position is not None:
        yield f" @{node.message.position}", "bold"
    yield f"  {_time(node, is_root=is_root)}", "dim"
    if node.by:
        yield f"  by {node.by}", "magenta"
    for number, each in enumerate(node.handled):
        yield ", " if number else "  -> ", "dim"
        yield _judged(each), STYLES.get(each.status, "yellow")
    remarks = [REMARKS[node.cause]] if node.cause in REMARKS and not is_root else []
    remarks += ["asked for"] if node.is_asked and not is_root else []
    if remarks:
        yield f"  ({', '.join(remarks)})", "yellow"


def _time(node: Node, *, is_root: bool) -> str:
    if node.due_at is not None:
        return f"due {timezone.localtime(node.due_at):%Y-%m-%d %H:%M:%S}"
    if is_root:
        return f"{timezone.localtime(node.message.envelope.appended_at):%Y-%m-%d %H:%M:%S}"
    return since(node.after)


def since(duration: timedelta) -> str:
    """A duration in one or two units: +12 ms, +3.2 s, +4 min 10 s, +2 d 3 h."""
    seconds = abs(duration.total_seconds())
    sign = "-" if duration < timedelta(0) else "+"
    if seconds < SECOND:
        return f"{sign}{seconds * 1000:.0f} ms"
    if seconds < MINUTE:
        return f"{sign}{seconds:.1f} s"
    units = [(MINUTE, "min", 1, "s"), (HOUR, "h", MINUTE, "min"), (DAY, "d", HOUR, "h")]
    size, unit, smaller, rest = next(each for each in reversed(units) if seconds >= each[0])
    return f"{sign}{seconds // size:.0f} {unit} {seconds % size // smaller:.0f} {rest}"


def _judged(each: Handled) -> str:
    if not each.error:
        return f"{each.group} {each.status}"
    error = each.error if len(each.error) <= LONGEST else f"{each.error[: LONGEST - 1]}…"
    return f"{each.group} {each.status} ({error})"


def json_of(trace: Trace, *, reveal: bool) -> Iterator[str]:
    """The same for scripts, piece by piece: a chain of messages may be deeper than Python's own encoder goes."""
    about = {"correlation_id": str(trace.correlation_id), "messages": trace.messages, "left_out": trace.left_out}
    yield json.dumps(about)[:-1] + ', "root": '
    waiting: list[Node | str] = ["}", trace.root]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
            continue
        yield json.dumps(_as_json(each, reveal=reveal))[:-1] + ', "children": ['
        waiting.append("]}")
        for number, child in enumerate(reversed(each.children)):
            waiting += [", ", child] if number else [child]


def _as_json(node: Node, *, reveal: bool) -> dict[str, Any]:
    handled = [{"group": each.group, "status": each.status, "error": each.error} for each in node.handled]
    return {
        **shown(node.message, reveal=reveal),
        "after": round(node.after.total_seconds(), 6),
        "by": node.by,
        "cause": node.cause,
        "due_at": to_jsonable_python(node.due_at),
        "is_asked": node.is_asked,
        "handled": handled,
    }
