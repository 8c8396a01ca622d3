"""Doing: an action is one call for each row, foretold by a preview; what is refused is said, the others are done."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from django.contrib.messages import ERROR
from django.db.models import Model
from django.http import HttpRequest
from django.utils.translation import gettext

from ccc_django import topics
from ccc_django.errors import CCCError
from ccc_django.topics.previewing import Verb

if TYPE_CHECKING:
    from django.contrib.admin import ModelAdmin

Row = TypeVar("Row", bound=Model)


def each_done(
    model_admin: "ModelAdmin[Any]", request: HttpRequest, rows: Iterable[Row], call: Callable[[Row], object]
) -> list[Row]:
    """Rows that the call was made for, without those that it refused."""
    done = []
    for row in rows:
        try:
            call(row)
        except CCCError as refused:
            model_admin.message_user(request, gettext("Refused: %(reason)s") % {"reason": refused}, ERROR)
        else:
            done.append(row)
    return done


def foretold(verb: Verb, topic: str, **named: Any) -> str:
    """What a verb would do, or why it cannot."""
    try:
        return topics.preview(verb, topic, **named).sentence
    except CCCError as refused:
        return str(refused)
