"""Topics: a list of channels with what waits in them, how each group is doing, and an action that forgets them."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils import timezone
from django.utils.formats import localize
from django.utils.timesince import timesince
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from ccc_django import topics
from ccc_django.admin.confirming import MOST_SHOWN, Confirmation, Question, Table, ask
from ccc_django.admin.doing import each_done, foretold
from ccc_django.admin.figures import AdminWithFigures, in_all
from ccc_django.models import Topic
from ccc_django.models.topic_subscription import Mode, SubscriptionStatus
from ccc_django.topics import GroupHealth

Topics = QuerySet[Topic]


class Force(Confirmation):
    """An answer that can give up open messages."""

    force = forms.BooleanField(label=_("Also topics with open messages, which are then not delivered"), required=False)


class TopicAdmin(AdminWithFigures):
    """Every topic: what it is, who gets it, what waits."""

    list_display = ("name", "semantics", "namespace", "task", "kept", "groups", "pending", "lag")
    list_filter = ("semantics",)
    list_per_page = 50
    search_fields = ("name", "namespace", "task")
    actions = ("delete",)
    change_form_template = "admin/ccc_django/topic.html"
    fields = (
        "name",
        "semantics",
        "namespace",
        "task",
        "group_name",
        "kept",
        "kept_unsubscribed",
        "kept_partial",
        "pruned_upto",
        "pruned",
        "pruned_at",
        "created_at",
        "updated_at",
    )

    def add_figures(self, rows: Iterable[Any]) -> None:
        """How their groups are doing, in one statement for all of them."""
        listed = [*rows]
        found: dict[str, list[GroupHealth]] = defaultdict(list)
        for each in topics.fan_out([topic.name for topic in listed]) if listed else ():
            found[each.topic].append(each)
        for topic in listed:
            topic.health = found[topic.name]

    @admin.display(description=_("retention"), ordering="retention")
    def kept(self, topic: Topic) -> str | None:
        """How long its messages are kept."""
        return _length(topic.retention)

    @admin.display(description=_("retention without subscribers"))
    def kept_unsubscribed(self, topic: Topic) -> str | None:
        """The same while nobody has subscribed."""
        return _length(topic.unsubscribed_retention)

    @admin.display(description=_("keep partial messages"))
    def kept_partial(self, topic: Topic) -> str | None:
        """The same of what partitions to come may need."""
        return _length(topic.keep_partial)

    @admin.display(description=_("groups"))
    def groups(self, topic: Any) -> int:
        """How many get it."""
        return len(topic.health)

    @admin.display(description=_("pending"))
    def pending(self, topic: Any) -> str:
        """What waits, for all groups together."""
        return in_all(each.pending for each in topic.health)

    @admin.display(description=_("lag"))
    def lag(self, topic: Any) -> str:
        """Of the group that is furthest behind."""
        return f"{max((each.lag for each in topic.health), default=0):,}"

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """With a table of its groups."""
        groups = of_groups(context["original"].health, nothing=self.get_empty_value_display())
        return super().render_change_form(request, context | {"health": groups}, *args, **kwargs)

    @admin.action(description=_("Delete selected topics …"), permissions=["operate"])
    def delete(self, request: HttpRequest, queryset: Topics) -> TemplateResponse | None:
        """Forget topics, and who has subscribed to them."""
        form = Force(request)
        if not form.is_valid():
            return ask(self, request, queryset, form, to_delete(queryset))
        force = form.cleaned_data["force"]
        done = each_done(self, request, queryset, lambda topic: topics.delete(topic.name, force=force))
        if done:
            self.log_gone(request, done)
            said = ngettext("%(count)d topic was deleted.", "%(count)d topics were deleted.", len(done))
            self.say(request, said, len(done))
        return None


def of_groups(found: Iterable[GroupHealth], *, nothing: str) -> Table:
    """How groups are doing in a topic."""
    return Table(
        columns=[
            _("group"),
            _("status"),
            _("mode"),
            _("lag"),
            _("pending"),
            _("processed"),
            _("oldest pending"),
            _("last heartbeat"),
            _("lost"),
        ],
        rows=[
            (
                each.group,
                SubscriptionStatus(each.status).label,
                Mode(each.mode).label,
                f"{each.lag:,}",
                each.pending_text,
                f"{each.processed:,}",
                _ago(each, nothing),
                localize(timezone.localtime(each.last_heartbeat_at)) if each.last_heartbeat_at else nothing,
                _lost(each, nothing),
            )
            for each in found
        ],
    )


def _length(duration: timedelta | None) -> str | None:
    """Without a time of day that says nothing."""
    return None if duration is None else str(duration).removesuffix(", 0:00:00")


def _ago(each: GroupHealth, nothing: str) -> str:
    age = each.oldest_pending_age
    return nothing if age is None else timesince(timezone.now() - age)


def _lost(each: GroupHealth, nothing: str) -> str:
    between = {"first": f"{each.lost_from:,}", "last": f"{each.lost_to:,}"} if each.lost_from is not None else None
    return nothing if between is None else str(_("%(first)s to %(last)s") % between)


def to_delete(selected: Topics) -> Question:
    """What a deletion does."""
    return Question(
        action="delete",
        title=_("Delete topics"),
        consequence=_("These topics are forgotten, and who has subscribed to them. Their messages stay in the log."),
        columns=[_("topic"), _("semantics"), _("what will be done")],
        rows=[
            (topic.name, topic.get_semantics_display(), foretold("delete", topic.name))
            for topic in selected[:MOST_SHOWN]
        ],
    )
