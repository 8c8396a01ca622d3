"""Figures: what pages show beside the rows themselves, read once for all rows of a page."""

from collections.abc import Iterable
from typing import Any

from django.contrib.admin.views.main import ChangeList
from django.http import HttpRequest

from ccc_django.admin.read_only import ReadOnlyAdmin
from ccc_django.groups.previews import MOST_COUNTED


class ListWithFigures(ChangeList):
    """A list that knows the figures of the page that is shown, and reads no others."""

    model_admin: "AdminWithFigures"

    def get_results(self, request: HttpRequest) -> None:
        """The rows of the page, with their figures."""
        super().get_results(request)
        self.model_admin.add_figures(self.result_list)


class AdminWithFigures(ReadOnlyAdmin):
    """Lists and pages whose rows have figures that are not in their table."""

    def add_figures(self, rows: Iterable[Any]) -> None:
        """Give each row its figures."""
        raise NotImplementedError

    def get_changelist(self, request: HttpRequest, **_: Any) -> type[ChangeList]:  # noqa: ARG002 - Django's signature
        """With figures."""
        return ListWithFigures

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """A row for its own page, with its figures."""
        found = super().get_object(request, object_id, from_field)
        if found is not None:
            self.add_figures([found])
        return found


def in_all(counts: Iterable[int]) -> str:
    """A sum of counts, each of which may be "more than" what is counted."""
    listed = [*counts]
    total = sum(min(count, MOST_COUNTED) for count in listed)
    return f"{total:,}+" if any(count > MOST_COUNTED for count in listed) else f"{total:,}"
