"""Beats: a worker says now and then that it is there, and one of them is elected to sweep."""

import os
import socket
from typing import Any

from pydantic_core import to_json

from ccc_django import db
from ccc_django.conf import conf
from ccc_django.groups.durations import seconds
from ccc_django.models import Worker


def beat(name: str, progress: dict[str, Any]) -> bool:
    """Say that a worker is there and what it has done; whether it is to sweep until the next beat."""
    said = {
        "name": name,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "groups": to_json(sorted(progress)).decode(),
        "progress": to_json(progress).decode(),
        "term": seconds(2.5 * conf.beat_every),
    }
    calls: list[db.Call] = [("beat", said)]
    if not db.is_sqlite():  # which has one writer at a time
        calls.insert(0, ("lock_election", {}))
    [(elected,)] = db.in_one_trip(*calls)[-1]
    return bool(elected)


def leave(name: str) -> None:
    """A worker is gone, and somebody else may sweep."""
    Worker.objects.filter(name=name).delete()
