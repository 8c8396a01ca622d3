"""Progressing: how far Spark is with what it does now, asked now and then while it does it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVERY = 0.25  # seconds


class Progress(NamedTuple):
    """Tasks that are done, of all in the stages that run or have run."""

    done: int
    total: int


@contextmanager
def watched(session: "SparkSession", show: Callable[[Progress], None] | None) -> Iterator[None]:
    """Show how far Spark is while something runs."""
    if show is None:
        yield
        return
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(session, show, ended), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join()


def _watch(session: "SparkSession", show: Callable[[Progress], None], ended: threading.Event) -> None:
    tracker = session.sparkContext.statusTracker()
    seen: dict[int, Progress] = {}
    while not ended.wait(EVERY):
        for stage in [*tracker.getActiveStageIds()]:
            if (info := tracker.getStageInfo(stage)) is not None:
                seen[stage] = Progress(info.numCompletedTasks, info.numTasks)
        active = {*tracker.getActiveStageIds()}
        done = sum(each.done if stage in active else each.total for stage, each in seen.items())
        show(Progress(done, sum(each.total for each in seen.values())))
