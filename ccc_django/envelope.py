"""Envelope: what every message carries besides its payload."""

import os
import time
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, ConfigDict, StringConstraints, TypeAdapter, with_config
from typing_extensions import TypedDict  # pydantic needs this one before Python 3.12

from ccc_django.canonical import in_utc, stored_form

MAX_NAME = 255
MAX_TAGS = 100
NOTES = frozenset({"consumer", "traceparent", "tracestate"})  # metadata that we add: messages are not told apart by it


class Envelope(NamedTuple):
    """Who a message is, where it comes from, and, once stored, where it stands in the log."""

    id: UUID
    type: str
    version: int
    topic: str
    created_at: datetime
    metadata: dict[str, Any]
    correlation_id: UUID
    causation_id: UUID
    position: int | None = None
    appended_at: datetime | None = None

    def __eq__(self, other: object) -> bool:
        """The place in the log does not count."""
        return isinstance(other, Envelope) and self[:WITHOUT_PLACE] == other[:WITHOUT_PLACE]

    def __hash__(self) -> int:
        return hash(self.id)


WITHOUT_PLACE = -2  # position and appended_at come last


def stored_metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Metadata in the form in which the log will return it."""
    stored: dict[str, Any] = stored_form(metadata)
    tags = stored.get("tags", [])
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags) or len(tags) > MAX_TAGS:
        raise ValueError(f"tags must be a list of at most {MAX_TAGS} strings")
    return stored


@with_config(ConfigDict(extra="forbid"))
class Given(TypedDict, total=False):
    """The parts of an envelope that a caller may give."""

    id: UUID
    topic: Annotated[str, StringConstraints(max_length=MAX_NAME), AfterValidator(stored_form)]
    created_at: Annotated[AwareDatetime, AfterValidator(in_utc)]
    metadata: Annotated[dict[str, Any], AfterValidator(stored_metadata)]
    correlation_id: UUID
    causation_id: UUID


given_parts = TypeAdapter(Given)


def new_envelope(*, type: str, version: int, topic: str, given: Given) -> Envelope:
    """An envelope for a message made now, with an id of its own where none is given."""
    id = given.get("id") or uuid7()
    return Envelope(
        id=id,
        type=type,
        version=version,
        topic=given.get("topic", topic),
        created_at=given.get("created_at") or datetime.now(UTC),
        metadata=given.get("metadata", {}),
        correlation_id=given.get("correlation_id", id),
        causation_id=given.get("causation_id", id),
    )


def uuid7() -> UUID:
    """A UUID of version 7: it starts with the time in milliseconds, so that ids sort by it."""
    milliseconds = time.time_ns() // 1_000_000
    random = int.from_bytes(os.urandom(10))
    return UUID(int=milliseconds << 80 | 0x7 << 76 | (random >> 68) << 64 | 0b10 << 62 | random & (1 << 62) - 1)
