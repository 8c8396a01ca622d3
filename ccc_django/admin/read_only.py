"""Read-only pages: nobody edits the log's tables by hand; actions are for those who may change."""

from typing import Any

from django.contrib import admin
from django.contrib.messages import SUCCESS
from django.http import HttpRequest
from django.utils.text import Truncator

LONGEST = 60  # characters of a text in a list


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg] # not generic at run time
    """Lists and pages to look at, also for superusers; an action asks for ``permissions=["operate"]``."""

    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER

    def has_add_permission(self, request: HttpRequest, *_: Any) -> bool:  # noqa: ARG002 - Django's signature
        """Rows come from the log."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Rows change by actions only."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:  # noqa: ARG002
        """Rows go with their group."""
        return False

    def has_operate_permission(self, request: HttpRequest) -> bool:
        """Whether the user has the model's permission to change, which its actions need."""
        return super().has_change_permission(request)

    def log_gone(self, request: HttpRequest, rows: list[Any]) -> None:
        """Rows that were forgotten, in the admin's own history."""
        gone: Any = rows
        self.log_deletions(request, gone)

    def say(self, request: HttpRequest, text: str, count: int) -> None:
        """What has been done, to how many."""
        self.message_user(request, text % {"count": count}, SUCCESS)


def shortened(text: str) -> str:
    """A text that fits into a list."""
    return Truncator(text).chars(LONGEST)
