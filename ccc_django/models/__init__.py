"""Models: the tables of the log, one a file."""

from ccc_django.models.stored_message import StoredMessage

__all__ = ["StoredMessage"]
