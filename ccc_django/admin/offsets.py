"""Offsets: a list of the groups' progress in their partitions, of which there may be a million."""

from typing import Any

from django.contrib import admin
from django.contrib.admin.utils import display_for_value
from django.core.paginator import Paginator
from django.utils.functional import cached_property
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from ccc_django.admin.read_only import ReadOnlyAdmin, shortened
from ccc_django.models import Offset

MOST_PAGED = 10_000


class FirstPages(Paginator):  # type: ignore[type-arg] # not generic at run time
    """Pages of the first rows, so that neither counting nor paging reads a million."""

    object_list: Any

    @cached_property
    def count(self) -> int:
        """How many rows there are, or as many as can be paged."""
        return int(self.object_list.order_by()[:MOST_PAGED].count())


class OffsetAdmin(ReadOnlyAdmin):
    """Every partition: how far its group is, who is at it, what has failed."""

    list_display = (
        "group",
        "partition",
        "last",
        "next",
        "head",
        "attempts",
        "short_error",
        "claimed_by",
        "blocked",
        "stopped",
    )
    list_display_links = ("partition",)
    list_filter = ("group",)
    list_select_related = ("group",)
    search_fields = ("partition_key",)
    search_help_text = format_lazy(
        _("A part of the partition key. The first {most} offsets that match are shown."), most=f"{MOST_PAGED:,}"
    )
    ordering = ("-id",)
    sortable_by = ()  # of a million, by anything else, takes seconds
    paginator = FirstPages
    fields = (
        "group",
        "partition_key",
        "partition_id",
        "last_position",
        "next_position",
        "head_position",
        "replay_until",
        "replays",
        "attempts",
        "error",
        "claimed_by",
        "claimed_at",
        "blocked",
        "stopped",
    )

    @admin.display(description=_("partition key"))
    def partition(self, offset: Offset) -> str:
        """The values that its messages share."""
        return shortened(offset.partition_key)

    @admin.display(description=_("last"))
    def last(self, offset: Offset) -> int:
        """Everything up to here is done."""
        return offset.last_position

    @admin.display(description=_("next"))
    def next(self, offset: Offset) -> int | None:
        """The first open message is not before this."""
        return offset.next_position

    @admin.display(description=_("head"))
    def head(self, offset: Offset) -> int:
        """The last message is not behind this."""
        return offset.head_position

    @admin.display(description=_("error"))
    def short_error(self, offset: Offset) -> str:
        """Why the last attempt failed."""
        return shortened(offset.error)

    @admin.display(description=_("blocked until"))
    def blocked(self, offset: Offset) -> str:
        """The end of a lease or of a pause; a partition that is stopped has none."""
        until = None if offset.is_stopped else offset.blocked_until
        return display_for_value(until, self.get_empty_value_display())

    @admin.display(description=_("stopped"))
    def stopped(self, offset: Offset) -> Any:
        """Whether it waits for somebody."""
        return _("yes") if offset.is_stopped else _("no")
