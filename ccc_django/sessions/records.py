"""Records: what a session hands out."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ccc_django.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumedRecord:
    """A message of a topic; its offset is its position, its timestamp when it was appended."""

    offset: int
    key: str | None
    headers: Mapping[str, Any]
    value: Message
    timestamp: datetime | None


def record_of(message: Message) -> ConsumedRecord:
    """A message as sessions show it; its key is what its metadata calls so."""
    envelope = message.envelope
    key = envelope.metadata.get("partition_key", envelope.metadata.get("key"))
    return ConsumedRecord(
        offset=envelope.position or 0,
        key=None if key is None else str(key),
        headers=envelope.metadata,
        value=message,
        timestamp=envelope.appended_at,
    )
