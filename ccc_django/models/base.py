"""Base: every table of the log is read and written in the database of the log."""

from typing import Any, TypeVar

from django.db import models

from ccc_django.conf import conf

Row = TypeVar("Row", bound=models.Model, covariant=True)  # noqa: PLC0105


class LogManager(models.Manager[Row]):
    """Reads and writes where CCC_DATABASE says, whatever another router would answer."""

    def get_queryset(self) -> models.QuerySet[Row]:
        """Rows of the log's own database."""
        queryset: Any = super().get_queryset()
        return queryset if self._db else queryset.using(conf.database)  # type: ignore[no-any-return]
