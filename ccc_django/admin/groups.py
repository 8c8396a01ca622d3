"""Groups: a list with what is open, and actions that start, stop and reset."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import Case, Count, F, OuterRef, QuerySet, Subquery, Sum, Value, When
from django.db.models.functions import Coalesce, Now
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from ccc_django import groups
from ccc_django.admin.confirming import MOST_SHOWN, Confirmation, Question, Reason, ask
from ccc_django.admin.figures import AdminWithFigures, in_all
from ccc_django.models import ConsumerGroup, DeadLetter, Delivery, GroupTopic, Offset, StoredMessage
from ccc_django.models.consumer_group import GroupStatus, Kind
from ccc_django.models.topic_subscription import LIVE

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


class ConsumerGroupAdmin(AdminWithFigures):
    """Every group: what it handles, how far it is, what waits."""

    list_display = (
        "name",
        "kind",
        "now",
        "partitioned_by",
        "types",
        "reached",
        "pending",
        "open_letters",
        "updated_at",
    )
    list_filter = (StatusFilter,)
    search_fields = ("name",)
    actions = ("start", "stop", "reset")
    fieldsets = (
        (
            None,
            {"fields": ("name", "kind", "now", "error_context", "retry_at", "partition_by", "handled_types", "topics")},
        ),
        (_("Progress"), {"fields": ("reached", "pending", "open_letters", "start", "begins_at", "updated_at")}),
        (
            _("Settings"),
            {"fields": ("retry", "most_partitions", "evolved_types", "is_session", "holds", "created_at")},
        ),
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

    shared_fieldsets = (  # what it has for each topic is on the pages of topics
        (None, {"fields": ("name", "kind", "now", "error_context", "retry_at", "handled_types", "topics")}),
        (_("Progress"), {"fields": ("pending", "open_letters", "updated_at")}),
        (_("Settings"), {"fields": ("retry", "created_at")}),
        (_("Internals"), {"classes": ("collapse",), "fields": ("epoch",)}),
    )

    def get_fieldsets(self, request: HttpRequest, obj: ConsumerGroup | None = None) -> Any:
        """A shared group has neither partitions nor one place in the log."""
        is_shared = obj is not None and obj.kind == Kind.SHARED
        return self.shared_fieldsets if is_shared else super().get_fieldsets(request, obj)

    def get_queryset(self, request: HttpRequest) -> Groups:
        """With counts, so that a page of groups is one query; what shared groups have open is added to a page."""
        pending = Offset.objects.filter(group=OuterRef("pk"), next_position__isnull=False)
        letters = DeadLetter.objects.open().filter(group=OuterRef("pk"))
        found: Groups = super().get_queryset(request)
        found = found.annotate(pending=_count(pending), open_letters=_count(letters))
        return found.alias(waiting=F("pending") + _open_messages())

    def add_figures(self, rows: Iterable[Any]) -> None:
        """What shared groups have open: messages, counted to a limit, in one statement for all of them."""
        shared = {group.name: group for group in rows if group.kind == Kind.SHARED}
        for status in groups.statuses(shared) if shared else ():
            shared[status.name].pending = status.pending

    @admin.display(description=_("status"), ordering="status")
    def now(self, group: ConsumerGroup) -> Any:
        """Whether its partitions can be claimed."""
        return group.status_now.label

    @admin.display(description=_("partition by"))
    def partitioned_by(self, group: ConsumerGroup) -> str:
        """The attributes, if there are any."""
        return ", ".join(group.partition_by)

    @admin.display(description=_("types"))
    def types(self, group: ConsumerGroup) -> Any:
        """How many it handles; a shared group without any gets all."""
        return len(group.handled_types) or _("all")

    @admin.display(description=_("watermark"), ordering="watermark")
    def reached(self, group: ConsumerGroup) -> int | None:
        """Up to where the log has become open work; a shared group has such a place in each topic."""
        return None if group.kind == Kind.SHARED else group.watermark

    @admin.display(description=_("pending"), ordering="waiting")
    def pending(self, group: Any) -> str | int:
        """Partitions with open work, or open messages of a shared group."""
        return in_all([group.pending]) if group.kind == Kind.SHARED else int(group.pending)

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
    found = [(group.kind == Kind.SHARED, groups.preview("reset", group.name)) for group in selected[:MOST_SHOWN]]
    return Question(
        action="reset",
        title=_("Reset groups"),
        consequence=_(
            "Every partition of these groups goes back to the start, a shared group to its start in each topic, and "
            "everything is delivered again; what was acked before, as replayed. Running claims are fenced: their "
            "workers cannot ack any more."
        ),
        columns=[
            _("group"),
            _("start"),
            _("partitions that go back to it"),
            _("claims that are fenced"),
            _("dead letters that are delivered again"),
        ],
        rows=[
            (each.group, *(("-", "-") if is_shared else (each.first, each.partitions)), each.claims, each.dead_letters)
            for is_shared, each in found
        ],
    )


def _open_messages() -> Coalesce:
    """How many messages wait for a shared group, all of them counted: only for who sorts by it."""
    delivered = Delivery.objects.filter(group_topic=OuterRef("pk"))
    coming = StoredMessage.objects.filter(topic=OuterRef("topic"), position__gt=OuterRef("watermark"))
    places = GroupTopic.objects.filter(group=OuterRef("pk"), group__kind=Kind.SHARED, subscription__status__in=LIVE)
    places = places.annotate(open=_count(delivered, by="group_topic") + _count(coming, by="topic"))
    return Coalesce(Subquery(places.order_by().values("group").annotate(sum=Sum("open")).values("sum")), 0)


def _count(rows: QuerySet[Any], *, by: str = "group") -> Coalesce:
    """How many rows there are; as a subquery, because two joins would multiply each other."""
    counted = rows.order_by().values(by).annotate(count=Count("*")).values("count")
    return Coalesce(Subquery(counted), 0)
