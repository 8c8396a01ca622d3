"""Confirm: a page that says what an action will do, and asks, before it is done."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import QuerySet
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin

MOST_SHOWN = 50  # rows of the page; any number can be selected

Text = str | Promise


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of values, under the names of their columns."""

    columns: Sequence[Text]
    rows: Iterable[Sequence[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question(Table):
    """An action, what it will do to all that is selected, and what to each of them."""

    action: str
    title: Text
    consequence: Text


class Confirmation(forms.Form):
    """The answer; not valid until there is one."""

    confirmed = forms.BooleanField(widget=forms.HiddenInput, initial=True)

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request.POST if "confirmed" in request.POST else None)


class Reason(Confirmation):
    """An answer that can say why."""

    reason = forms.CharField(label=_("Reason"), required=False, widget=forms.TextInput(attrs={"class": "vTextField"}))


def ask(
    model_admin: "ModelAdmin[Any]",
    request: HttpRequest,
    selected: QuerySet[Any],
    form: Confirmation,
    question: Question,
) -> TemplateResponse:
    """The page. Its answer comes back to the list that it came from, as the same action on the same selection."""
    context = {
        **model_admin.admin_site.each_context(request),
        "title": question.title,
        "question": question,
        "more": max(selected.count() - MOST_SHOWN, 0),
        "form": form,
        "across": request.POST.get("select_across", "0"),
        "checkbox": ACTION_CHECKBOX_NAME,
        "checked": request.POST.getlist(ACTION_CHECKBOX_NAME),
        "opts": model_admin.opts,
        "media": model_admin.media,
    }
    return TemplateResponse(request, "admin/ccc_django/confirm.html", context)
