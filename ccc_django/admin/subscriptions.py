"""Subscriptions: a list of who gets what from where, and actions that pause, resume, cancel and remove."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib import admin
from django.contrib.messages import WARNING
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext, ngettext_lazy

from ccc_django import topics
from ccc_django.admin.confirming import MOST_SHOWN, Confirmation, Question, Text, ask
from ccc_django.admin.doing import each_done, foretold
from ccc_django.admin.read_only import ReadOnlyAdmin, shortened
from ccc_django.models import TopicSubscription
from ccc_django.models.topic_subscription import TopicSubscriptionQuerySet as Subscriptions
from ccc_django.topics.previewing import Verb

SCOPE = ("topic", "namespace", "task")


@dataclass(frozen=True, slots=True, kw_only=True)
class Steering:
    """What is done to a subscription, and how it is told."""

    verb: Verb
    call: Callable[..., object]
    title: Text
    consequence: Text
    said: Any


PAUSE = Steering(
    verb="pause",
    call=topics.pause,
    title=_("Pause subscriptions"),
    consequence=_("Nothing is delivered to these groups until they are resumed. Messages are kept for them."),
    said=ngettext_lazy("%(count)d subscription was paused.", "%(count)d subscriptions were paused.", "count"),
)
RESUME = Steering(
    verb="resume",
    call=topics.resume,
    title=_("Resume subscriptions"),
    consequence=_("Messages are delivered to these groups again, from where they stood."),
    said=ngettext_lazy("%(count)d subscription was resumed.", "%(count)d subscriptions were resumed.", "count"),
)
CANCEL = Steering(
    verb="cancel",
    call=topics.cancel,
    title=_("Cancel subscriptions"),
    consequence=_(
        "Nothing is delivered to these groups any more, and nothing is kept for them. Where they stand is remembered."
    ),
    said=ngettext_lazy("%(count)d subscription was cancelled.", "%(count)d subscriptions were cancelled.", "count"),
)
REMOVE = Steering(
    verb="remove",
    call=topics.remove_group,
    title=_("Remove subscriptions"),
    consequence=_(
        "These subscriptions are forgotten, and what is open by them is not delivered. Claims in hand are lost."
    ),
    said=ngettext_lazy("%(count)d subscription was removed.", "%(count)d subscriptions were removed.", "count"),
)


class TopicSubscriptionAdmin(ReadOnlyAdmin):
    """Every subscription: whose, to what, from where, and whether it lives."""

    list_display = (
        "group_name",
        "to",
        "mode",
        "status",
        "start_position",
        "subscribed_at",
        "last_active_at",
        "last_heartbeat_at",
    )
    list_filter = ("status", "mode")
    search_fields = ("group_name", *SCOPE)
    ordering = ("group_name", *SCOPE, "partition_id")  # as the index has it: each partition may have one
    actions = ("pause", "resume", "cancel", "remove")
    fields = (
        "group_name",
        *SCOPE,
        "partition_key",
        "mode",
        "status",
        "start_position",
        "start_at",
        "subscribed_at",
        "last_active_at",
        "last_heartbeat_at",
        "heartbeat_interval",
        "heartbeat_timeout",
        "died_at",
    )

    @admin.display(description=_("subscribed to"), ordering="topic")
    def to(self, record: TopicSubscription) -> str:
        """A topic, or what is in a namespace or of a task; of an ordered group also one partition."""
        fields: list[Any] = [self.opts.get_field(name) for name in (*SCOPE, "partition_key")]
        named = [(field.verbose_name, field.value_from_object(record)) for field in fields]
        return shortened(", ".join(f"{what} {name}" for what, name in named if name))

    @admin.action(description=_("Pause selected subscriptions …"), permissions=["operate"])
    def pause(self, request: HttpRequest, queryset: Subscriptions) -> TemplateResponse | None:
        """Deliver nothing until they are resumed."""
        return self._steer(request, queryset, PAUSE)

    @admin.action(description=_("Resume selected subscriptions …"), permissions=["operate"])
    def resume(self, request: HttpRequest, queryset: Subscriptions) -> TemplateResponse | None:
        """Deliver again."""
        return self._steer(request, queryset, RESUME)

    @admin.action(description=_("Cancel selected subscriptions …"), permissions=["operate"])
    def cancel(self, request: HttpRequest, queryset: Subscriptions) -> TemplateResponse | None:
        """Deliver nothing any more."""
        return self._steer(request, queryset, CANCEL)

    @admin.action(description=_("Remove selected subscriptions …"), permissions=["operate"])
    def remove(self, request: HttpRequest, queryset: Subscriptions) -> TemplateResponse | None:
        """Forget them."""
        return self._steer(request, queryset, REMOVE)

    def _steer(self, request: HttpRequest, selected: Subscriptions, how: Steering) -> TemplateResponse | None:
        """Those of single partitions are left alone: they have a start of their own, and nothing else."""
        whole, form = selected.whole(), Confirmation(request)
        if whole.exists() and not form.is_valid():
            return ask(self, request, whole, form, self._question(whole, how))
        left = selected.count() - whole.count()
        if done := each_done(self, request, whole, lambda record: how.call(**_named(record))):
            self._log(request, done, how)
            self.say(request, how.said, len(done))
        if left:
            said = ngettext(
                "%(count)d subscription of a single partition was left alone.",
                "%(count)d subscriptions of single partitions were left alone.",
                left,
            )
            self.message_user(request, said % {"count": left}, WARNING)
        return None

    def _question(self, selected: Subscriptions, how: Steering) -> Question:
        found = selected[:MOST_SHOWN]
        return Question(
            action=how.verb,
            title=how.title,
            consequence=how.consequence,
            columns=[_("group"), _("subscribed to"), _("status"), _("what will be done")],
            rows=[
                (each.group_name, self.to(each), each.get_status_display(), foretold(how.verb, **_named(each)))
                for each in found
            ],
        )

    def _log(self, request: HttpRequest, done: list[TopicSubscription], how: Steering) -> None:
        if how is REMOVE:
            self.log_gone(request, done)
        else:
            for record in done:
                self.log_change(request, record, how.said % {"count": 1})


def _named(record: TopicSubscription) -> dict[str, Any]:
    """As the verbs name it."""
    return {"group": record.group_name, **{name: getattr(record, name) for name in SCOPE}}
