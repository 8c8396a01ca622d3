"""Dead letters: a list of what groups gave up on, and actions that replay and discard."""

from django.contrib import admin
from django.contrib.messages import ERROR
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from ccc_django import dead_letters
from ccc_django.admin.confirming import MOST_SHOWN, Question, Reason, ask
from ccc_django.admin.read_only import ReadOnlyAdmin, shortened
from ccc_django.errors import NoPartition
from ccc_django.models import DeadLetter

Letters = QuerySet[DeadLetter]


class DeadLetterAdmin(ReadOnlyAdmin):
    """Every dead letter: whose, why, and what has become of it."""

    list_display = (
        "group",
        "position",
        "message_type",
        "partition",
        "status",
        "attempts",
        "short_error",
        "created_at",
    )
    list_display_links = ("position",)
    list_filter = ("status", "group", "message_type")
    list_select_related = ("group",)
    ordering = ("-id",)
    actions = ("replay", "discard")
    fields = (
        "group",
        "position",
        "message_type",
        "message_id",
        "partition_key",
        "partition_id",
        "status",
        "decided_by",
        "decided_at",
        "reason",
        "created_at",
        "attempts",
        "error",
        "trace",
    )

    @admin.display(description=_("partition key"))
    def partition(self, letter: DeadLetter) -> str:
        """The partition that gave it up; none if there were too many."""
        return shortened(letter.partition_key)

    @admin.display(description=_("error"))
    def short_error(self, letter: DeadLetter) -> str:
        """Why the last attempt failed."""
        return shortened(letter.error)

    @admin.display(description=_("traceback"))
    def trace(self, letter: DeadLetter) -> str:
        """Where the error comes from, line by line."""
        return format_html("<pre>{}</pre>", letter.traceback) if letter.traceback else self.get_empty_value_display()

    @admin.action(description=_("Replay selected dead letters"), permissions=["operate"])
    def replay(self, request: HttpRequest, queryset: Letters) -> None:
        """Deliver the messages once more."""
        try:
            count = dead_letters.replay(queryset, by=request.user.get_username())
        except NoPartition as refused:
            self.message_user(request, str(refused), ERROR)
            return
        said = ngettext(
            "%(count)d message will be delivered again.", "%(count)d messages will be delivered again.", count
        )
        self.say(request, said, count)

    @admin.action(description=_("Discard selected dead letters …"), permissions=["operate"])
    def discard(self, request: HttpRequest, queryset: Letters) -> TemplateResponse | None:
        """Decide that the messages are not delivered any more, for a reason."""
        form = Reason(request)
        if not form.is_valid():
            return ask(self, request, queryset, form, to_discard(queryset))
        count = dead_letters.discard(queryset, by=request.user.get_username(), reason=form.cleaned_data["reason"])
        said = ngettext("%(count)d dead letter was discarded.", "%(count)d dead letters were discarded.", count)
        self.say(request, said, count)
        return None


def to_discard(selected: Letters) -> Question:
    """What a discard does."""
    found = selected[:MOST_SHOWN]
    return Question(
        action="discard",
        title=_("Discard dead letters"),
        consequence=_(
            "These messages will not be delivered any more, unless somebody replays them. "
            "Those that are not open stay as they are."
        ),
        columns=[_("group"), _("message"), _("partition key"), _("status"), _("error")],
        rows=[
            (each.group, each, shortened(each.partition_key), each.get_status_display(), shortened(each.error))
            for each in found
        ],
    )
