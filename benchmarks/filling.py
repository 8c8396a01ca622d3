"""Filling: the same messages in our log and in eventsourcing's, with selective and popular attributes."""

import json

from benchmarks import append_contestants as contestants
from benchmarks.measuring import say


def prepare_tables() -> None:
    """Tables of all contestants."""
    import django

    django.setup()
    from django.core.management import call_command
    from django.db import connection

    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute(contestants.RAW_TABLE)
    contestants.eventsourcing_recorder().create_table()


def fill(count: int, start: int) -> None:
    """Messages of 5 to a course, with one value on 10 % of them, in our log and in theirs."""
    from eventsourcing.dcb.api import DCBEvent

    from ccc_django import store

    recorder = contestants.eventsourcing_recorder()
    for first in range(start, start + count, 10_000):
        values = [filled(number) for number in range(first, min(first + 10_000, start + count))]
        store.append([contestants.UserJoinedCourse(**each) for each in values])
        events = [
            DCBEvent(type="joined", data=json.dumps(each).encode(), tags=[f"{k}:{v}" for k, v in each.items()])
            for each in values
        ]
        recorder.append(events)
        if first % 100_000 == 0:
            say(f"filled {first:,}")


def filled(number: int) -> dict[str, str]:
    """Ten messages to a course: five of a rare user, one of a popular one."""
    course = number // 10
    users = {0: "popular"} | dict.fromkeys(range(1, 6), f"few-{course}")
    return {"course_name": f"filled-{course}", "user_id": users.get(number % 10, f"user-{number}")}
