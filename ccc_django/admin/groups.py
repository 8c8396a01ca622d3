"""Groups: a list with what is open, and actions that start, stop and reset."""

from typing import Any

from django.contrib import admin
from django.db.models import Case, Count, F, OuterRef, QuerySet, Subquery, Value, When
from django.db.models.functions import Coalesce, Now
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from ccc_django import groups
from ccc_django.admin.confirming import MOST_SHOWN, Confirmation, Question, Reason, ask
from ccc_django.admin.read_only import ReadOnlyAdmin
from ccc_django.models import ConsumerGroup, DeadLetter, Offset
from ccc_django.models.consumer_group import GroupStatus

Groups = QuerySet[ConsumerGroup]


class StatusFilter(admin.SimpleListFilter):
    """By the status that the list shows."""

    title = _("status")
    parameter_name = "status"

    def lookups(self, *_: Any) -> list[tuple[str, Any]]:
        """Every status."""
        return GroupStatus.choices

    def queryset(self, request: HttpRequest, queryset: Groups) -> Groups:  # noqa: ARG002 - Django's signature
        """A stop whose time is over is none."""
        now = Case(When(retry_at__lte=Now(), then=Value(GroupStatus.ACTIVE)), default=F("status"))
        return queryset.alias(now=now).filter(now=self.value()) if self.value() else queryset


class ConsumerGroupAdmin(ReadOnlyAdmin):
    """Every group: what it handles, how far it is, what waits."""

    list_display = (
        "name",
        "kind",
        "now",
        "partitioned_by",
        "types",
        "watermark",
        "pending",
        "open_letters",
        "updated_at",
    )
    list_filter = (StatusFilter,)
    search_fields = ("name",)
    actions = ("start", "stop", "reset")
    fieldsets = (
        (None, {"fields": ("name", "kind", "now", "error_context", "retry_at", "partition_by", "handled_types")}),
        (_("Progress"), {"fields": ("watermark", "pending", "open_letters", "start", "begins_at", "updated_at")}),
        (_("Settings"), {"fields": ("retry", "most_partitions", "created_at")}),
        (
            _("Internals"),
            {
                "classes": ("collapse",),
                "fields": (
                    "epoch",
                    "catch_up_to",
                    "catch_up_types",
                    "marking_upto",
                    "marking_number",
                    "marking_after",
                ),
            },
        ),
    )

    def get_queryset(self, request: HttpRequest) -> Groups:
        """With counts, so that a page of groups is one query."""
        pending = Offset.objects.filter(group=OuterRef("pk"), next_position__isnull=False)
        letters = DeadLetter.objects.open().filter(group=OuterRef("pk"))
        found: Groups = super().get_queryset(request)
        return found.annotate(pending=_count(pending), open_letters=_count(letters))

    @admin.display(description=_("status"), ordering="status")
    def now(self, group: ConsumerGroup) -> Any:
        """Whether its partitions can be claimed."""
        return group.status_now.label

    @admin.display(description=_("partition by"))
    def partitioned_by(self, group: ConsumerGroup) -> str:
        """The attributes, if there are any."""
        return ", ".join(group.partition_by)

    @admin.display(description=_("types"))
    def types(self, group: ConsumerGroup) -> int:
        """How many it handles."""
        return len(group.handled_types)

    @admin.display(description=_("pending"), ordering="pending")
    def pending(self, group: Any) -> int:
        """Partitions with open work."""
        return int(group.pending)

    @admin.display(description=_("dead letters"), ordering="open_letters")
    def open_letters(self, group: Any) -> int:
        """Messages that wait for somebody's decision."""
        return int(group.open_letters)

    @admin.action(description=_("Start selected groups"), permissions=["operate"])
    def start(self, request: HttpRequest, queryset: Groups) -> None:
        """Let their partitions be claimed."""
        for group in queryset:
            groups.start(group.name)
            self.log_change(request, group, gettext("Started."))
        said = ngettext("%(count)d group was started.", "%(count)d groups were started.", len(queryset))
        self.say(request, said, len(queryset))

    @admin.action(description=_("Stop selected groups …"), permissions=["operate"])
    def stop(self, request: HttpRequest, queryset: Groups) -> TemplateResponse | None:
        """Let nobody claim their partitions, for a reason."""
        form = Reason(request)
        if not form.is_valid():
            return ask(self, request, queryset, form, to_stop(queryset))
        reason = form.cleaned_data["reason"]
        for group in queryset:
            groups.stop(group.name, reason=reason)
            self.log_change(request, group, f"{gettext('Stopped.')} {reason}".strip())
        said = ngettext("%(count)d group was stopped.", "%(count)d groups were stopped.", len(queryset))
        self.say(request, said, len(queryset))
        return None

    @admin.action(description=_("Reset selected groups …"), permissions=["operate"])
    def reset(self, request: HttpRequest, queryset: Groups) -> TemplateResponse | None:
        """Put their partitions back to the start."""
        form = Confirmation(request)
        if not form.is_valid():
            return ask(self, request, queryset, form, to_reset(queryset))
        for group in queryset:
            groups.reset(group.name)
            self.log_change(request, group, gettext("Reset."))
        said = ngettext("%(count)d group was reset.", "%(count)d groups were reset.", len(queryset))
        self.say(request, said, len(queryset))
        return None


def to_stop(selected: Groups) -> Question:
    """What a stop does."""
    found = [groups.preview("stop", group.name) for group in selected[:MOST_SHOWN]]
    return Question(
        action="stop",
        title=_("Stop groups"),
        consequence=_(
            "Until they are started nobody can claim partitions of these groups. Running claims are fenced: "
            "their workers cannot ack any more, and the messages will be delivered again."
        ),
        columns=[_("group"), _("status"), _("claims that are fenced")],
        rows=[(each.group, GroupStatus(each.status).label, each.claims) for each in found],
    )


def to_reset(selected: Groups) -> Question:
    """What a reset does."""
    found = [groups.preview("reset", group.name) for group in selected[:MOST_SHOWN]]
    return Question(
        action="reset",
        title=_("Reset groups"),
        consequence=_(
            "Every partition of these groups goes back to the start, and everything is delivered again; what was "
            "acked before, as replayed. Running claims are fenced: their workers cannot ack any more."
        ),
        columns=[
            _("group"),
            _("start"),
            _("partitions that go back to it"),
            _("claims that are fenced"),
            _("dead letters that are delivered again"),
        ],
        rows=[(each.group, each.first, each.partitions, each.claims, each.dead_letters) for each in found],
    )


def _count(of_group: QuerySet[Any]) -> Coalesce:
    """How many rows a group has; as a subquery, because two joins would multiply each other."""
    counted = of_group.order_by().values("group").annotate(count=Count("*")).values("count")
    return Coalesce(Subquery(counted), 0)
