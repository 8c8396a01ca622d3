"""Pipeline: statements go to PostgreSQL in one journey, by libpq, which psycopg wraps.

psycopg's own pipeline does the same at twice the client's time, because it is written in Python: see decisions.
"""

from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from psycopg import Connection
from psycopg.errors import Error, OperationalError
from psycopg.pq import ExecStatus, TransactionStatus
from psycopg.pq.abc import PGconn, PGresult
from psycopg.waiting import Ready, Wait

Send = Callable[[], None]


def journey(libpq: PGconn, sends: Sequence[Send]) -> Generator[Wait, Ready | int, list[PGresult]]:
    """One result for each statement, with everything after a failure left undone; for a connection's wait()."""
    arrived = False
    try:
        libpq.enter_pipeline_mode()
        for send in sends:
            send()
        libpq.pipeline_sync()
        while libpq.flush():
            if (yield Wait.RW) & Ready.R:
                libpq.consume_input()
        results = yield from _received(libpq)
        libpq.exit_pipeline_mode()
        arrived = True
    finally:
        if not arrived:  # results may be on their way, which the next journey must not take for its own
            _give_up(libpq)
    return results


def _give_up(libpq: PGconn) -> None:
    with suppress(Error):
        libpq.get_cancel().cancel()
    libpq.finish()


def _received(libpq: PGconn) -> Generator[Wait, Ready | int, list[PGresult]]:
    results: list[PGresult] = []
    ends = 0
    while True:
        while libpq.is_busy():
            yield Wait.R
            libpq.consume_input()
        result = libpq.get_result()
        if result is None:
            ends += 1
            if ends > 1:  # nothing is on its way any more: the server has gone
                raise OperationalError(libpq.get_error_message())
        elif result.status == ExecStatus.PIPELINE_SYNC:
            return results
        else:
            ends = 0
            results.append(result)


def beginning(raw: Connection[Any]) -> list[Send]:
    """What starts a transaction, in the way that the connection is set to, if one is wanted and there is none."""
    if raw.autocommit or raw.pgconn.transaction_status != TransactionStatus.IDLE:
        return []
    words = ["BEGIN"]
    if raw.isolation_level is not None:
        words += ["ISOLATION LEVEL", raw.isolation_level.name.replace("_", " ")]
    if raw.read_only is not None:
        words.append("READ ONLY" if raw.read_only else "READ WRITE")
    if raw.deferrable is not None:
        words.append("DEFERRABLE" if raw.deferrable else "NOT DEFERRABLE")
    return [partial(raw.pgconn.send_query_params, " ".join(words).encode(), None)]
