"""Outside: a thread's own connection to the log, which no pool can keep waiting and no handler's transaction holds."""

from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy

from django.db import connections

from ccc_django.conf import conf

SHORT = 2  # seconds that SQLite waits for a writer: what runs outside comes again soon


@contextmanager
def outside() -> Iterator[None]:
    """Let this thread use a connection of its own, for as long as this lasts."""
    connection = connections.create_connection(conf.database)
    connection.settings_dict = deepcopy(connection.settings_dict)
    settings = connection.settings_dict["OPTIONS"]
    settings.pop("pool", None)
    if connection.vendor == "sqlite":
        settings["timeout"] = SHORT
    before = {each.alias: each for each in connections.all(initialized_only=True)}.get(conf.database)
    connections[conf.database] = connection
    try:
        yield
    finally:
        connection.close()
        if before is None:
            del connections[conf.database]
        else:
            connections[conf.database] = before
