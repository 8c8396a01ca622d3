"""Duplicates: the same message twice is one message; one id with two contents is an error."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models.functions import Cast
from pydantic_core import from_json

from ccc_django.entries import Entry
from ccc_django.envelope import NOTES
from ccc_django.errors import DuplicateMessage
from ccc_django.models import StoredMessage
from ccc_django.models.stored_message import COLUMNS


def merged(entries: list[Entry]) -> list[Entry]:
    """Entries without repetitions."""
    once: dict[UUID, Entry] = {}
    for entry in entries:
        if once.setdefault(entry.message_id, entry) != entry:
            raise DuplicateMessage(f"Two messages of this append have the id {entry.message_id}.")
    return list(once.values())


def known(entries: list[Entry]) -> dict[UUID, tuple[int, datetime]]:
    """Where those entries stand that are in the log already."""
    given = {entry.message_id: entry for entry in entries}
    places = {}
    columns = StoredMessage.objects.annotate(
        payload_text=Cast("payload", models.TextField()), metadata_text=Cast("metadata", models.TextField())
    )
    for row in columns.filter(message_id__in=list(given)).values_list(*COLUMNS):
        if contents(given[row[1]]) != (*row[2:5], from_json(row[5]), _own(row[6]), *row[7:10]):
            raise DuplicateMessage(f"A message with the id {row[1]} is in the log at {row[0]}, with other content.")
        places[row[1]] = (row[0], row[10])
    return places


def contents(entry: Entry) -> tuple[Any, ...]:
    """What must be equal for two messages to be one."""
    return (*entry[1:4], from_json(entry.payload), _own(entry.metadata), *entry[6:9])


def _own(metadata: str) -> dict[str, Any]:
    """Metadata without our notes: the same command may come again in another trace."""
    return {name: value for name, value in from_json(metadata).items() if name not in NOTES}
