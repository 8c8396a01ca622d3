"""Contestants of the append benchmark: raw inserts, eventsourcing's DCB recorder, and ours."""

import json
import os
from typing import Any

import psycopg
from django.db import connection

from benchmarks.clients import Contestant, django_backend
from ccc_django import Condition, Event, Guard, store
from tests.settings import postgres


class UserJoinedCourse(Event, type="benchmark.joined"):
    """A message of two attributes."""

    course_name: str
    user_id: str


RAW_TABLE = """
CREATE TABLE IF NOT EXISTS raw_messages (
    position bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, message_type text NOT NULL, payload jsonb NOT NULL
)"""
RAW_INSERT = "INSERT INTO raw_messages (message_type, payload) VALUES ('joined', $1) RETURNING position"
RAW_INSERTS = (
    "INSERT INTO raw_messages (message_type, payload) SELECT 'joined', unnest($1::text[])::jsonb RETURNING position"
)


def payload(number: int, part: int = 0) -> dict[str, str]:
    """Values of which each is new, as ids of orders and users are."""
    return {"course_name": f"course-{number}", "user_id": f"user-{number}-{part}"}


def raw(batch: int) -> Contestant:
    """A committed INSERT of jsonb rows, prepared."""

    def prepare(_client: int) -> Any:
        connection.ensure_connection()
        connection.connection.prepare_threshold = 0
        cursor = psycopg.RawCursor(connection.connection)

        def one(number: int) -> None:
            cursor.execute(RAW_INSERT, [json.dumps(payload(number))]).fetchall()

        def many(number: int) -> None:
            cursor.execute(RAW_INSERTS, [[json.dumps(payload(number, part)) for part in range(batch)]]).fetchall()

        return one if batch == 1 else many, django_backend

    return prepare


def ours(batch: int, *, guarded: bool) -> Contestant:
    """store.append, from making the messages on."""

    def prepare(_client: int) -> Any:
        def work(number: int) -> None:
            messages = [UserJoinedCourse(**payload(number, part)) for part in range(batch)]
            store.append(messages, guard=guard(number) if guarded else None)

        return work, django_backend

    return prepare


def guard(number: int) -> Guard:
    """Nobody has this course with this user."""
    values = payload(number)
    conditions = [Condition(UserJoinedCourse.type, name, value) for name, value in values.items()]
    return Guard(conditions=tuple(conditions), after=0)


def eventsourcing(batch: int, *, guarded: bool) -> Contestant:
    """The PostgreSQL DCB recorder of the package eventsourcing."""

    def prepare(_client: int) -> Any:
        from eventsourcing.dcb.api import DCBAppendCondition, DCBEvent, DCBQuery, DCBQueryItem

        recorder = eventsourcing_recorder()

        def event(values: dict[str, str]) -> Any:
            tags = [f"{name}:{value}" for name, value in values.items()]
            return DCBEvent(type="joined", data=json.dumps(values).encode(), tags=tags)

        def work(number: int) -> None:
            events = [event(payload(number, part)) for part in range(batch)]
            query = DCBQuery(items=[DCBQueryItem(types=["joined"], tags=events[0].tags)])
            recorder.append(events, DCBAppendCondition(fail_if_events_match=query, after=0) if guarded else None)

        def backend() -> int:
            with recorder.datastore.transaction(commit=False) as cursor:
                cursor.execute("SELECT pg_backend_pid() AS pid")
                return int(cursor.fetchone()["pid"])

        return work, backend

    return prepare


def eventsourcing_recorder() -> Any:
    """A recorder with one connection, on the same server."""
    from eventsourcing.dcb.postgres_tt import PostgresDCBRecorderTT
    from eventsourcing.postgres import PostgresDatastore

    server = postgres(os.environ["CCC_TEST_DATABASE_URL"])
    datastore = PostgresDatastore(
        dbname=server["NAME"], host=server["HOST"], port=server["PORT"] or "5432", user=server["USER"], password="none"
    )
    return PostgresDCBRecorderTT(datastore=datastore, events_table_name="dcb_events")
