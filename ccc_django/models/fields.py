"""Fields: digests as small as each database can keep them."""

from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.db import models
from django.db.backends.base.base import BaseDatabaseWrapper
from pydantic_core import from_json, to_json

if TYPE_CHECKING:
    UUIDBased = models.Field[UUID, UUID]
else:
    UUIDBased = models.Field


class DigestField(UUIDBased):
    """16 bytes: a uuid in PostgreSQL, a blob in SQLite."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        """A third smaller and faster than text."""
        return "uuid" if connection.vendor == "postgresql" else "blob"

    def get_db_prep_value(self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False) -> Any:  # noqa: ARG002, FBT001, FBT002 - the signature is Django's
        """Bytes where the database has no uuid."""
        return value.bytes if isinstance(value, UUID) and connection.vendor != "postgresql" else value

    def from_db_value(self, value: Any, *_: Any) -> UUID | None:
        """A UUID from whatever the database keeps."""
        return UUID(bytes=bytes(value)) if isinstance(value, bytes | memoryview) else value


class DigestsField(UUIDBased):
    """Several digests: an array in PostgreSQL, JSON of hexadecimal texts in SQLite."""

    def db_type(self, connection: BaseDatabaseWrapper) -> str:
        """An array can be unnested where it stands."""
        return "uuid[]" if connection.vendor == "postgresql" else "text"

    def get_db_prep_value(self, value: Any, connection: BaseDatabaseWrapper, prepared: bool = False) -> Any:  # noqa: ARG002, FBT001, FBT002 - the signature is Django's
        """Text where the database has no arrays."""
        if connection.vendor == "postgresql" or not isinstance(value, list | tuple):
            return value
        return to_json([each.hex for each in value]).decode()

    def from_db_value(self, value: Any, *_: Any) -> list[UUID]:
        """UUIDs from whatever the database keeps."""
        return [UUID(hex=each) for each in from_json(value)] if isinstance(value, str) else value
