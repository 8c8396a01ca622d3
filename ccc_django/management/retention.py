"""Retention at a command line: what was pruned of each topic or would be, and how far a backfill is."""

from collections.abc import Iterable
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.utils import timezone

from ccc_django import topics
from ccc_django.management.tables import progress_bar, span, table
from ccc_django.topics import Backfill, Pruned

COLUMNS = ("topic", "retention", "pruned", "oldest_kept", "age", "held_by")


def pruned(names: list[str], *, dry_run: bool, quiet: bool) -> list[Pruned]:
    """What was pruned of some topics or of all, with a bar on a terminal, or would be."""
    if dry_run:
        return topics.prune(*names, dry_run=True)
    expected = {each.topic: each.count for each in topics.prune(*names, dry_run=True)}
    done: dict[str, int] = {}
    with progress_bar("prune", sum(expected.values()), quiet=quiet) as draw:

        def told(each: Pruned) -> None:
            done[each.topic] = each.count
            if draw is not None:
                draw(sum(done.values()))

        return topics.prune(*names, progress=told)


def pruned_text(found: Iterable[Pruned], *, dry_run: bool) -> str:
    """Topics in lines."""
    listed = [*found]
    if not listed:
        return "All topics keep their messages. manage.py ccc_topics NAME --configure --retention 7d lets them go."
    columns = [("would be pruned" if column == "pruned" and dry_run else column) for column in COLUMNS]
    lines = table(columns, [{**_row(each), "would be pruned": each.count} for each in listed])
    busy = ", ".join(each.topic for each in listed if not each.is_complete)
    return f"{lines}\n{busy}: somebody else is at it; try again." if busy else lines


def _row(each: Pruned) -> dict[str, Any]:
    at = each.oldest_kept_at
    return {
        **asdict(each),
        "pruned": each.count,
        "age": None if at is None else max(timezone.now() - at, timedelta(0)),
        "held_by": [*each.held_by],
    }


def backfilled(topic: str, given: dict[str, Any], *, quiet: bool) -> Backfill:
    """Make open work of what was there before a group came, with a bar on a terminal."""
    if "rate" in given:
        topics.limit_backfill(topic, group=given["group"], rate=given["rate"])
    state = topics.backfill_status(topic, group=given["group"])
    with progress_bar("backfill", max(state.upto - state.start + 1, 1), quiet=quiet) as draw:

        def told(each: Backfill) -> None:
            if draw is not None:
                draw(min(each.position, each.upto) - each.start + 1)

        return topics.backfill(topic, group=given["group"], progress=told)


def backfill_text(state: Backfill) -> str:
    """How far it is, in a line."""
    return f"{state.group}, {state.topic}: everything up to {state.upto:,} is open work, or done."


def warned(preview: Iterable[Pruned]) -> str:
    """What a person is asked to agree to."""
    counts = [
        f"{each.count:,} messages of {each.topic}, which keeps them for {_kept(each)}" for each in preview if each.count
    ]
    return f"Will be deleted for good: {'; '.join(counts)}." if counts else "There is nothing to prune."


def _kept(each: Pruned) -> str:
    return "ever" if each.retention is None else span(each.retention)
