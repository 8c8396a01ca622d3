"""Views: health and metrics, for load balancers and scrapers; anybody may ask, and nothing secret is told."""

from collections.abc import Callable
from typing import TypeVar

from django.contrib.auth.decorators import login_not_required
from django.db import Error, connections, transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from ccc_django import db
from ccc_django.errors import CCCError, ExtraMissing
from ccc_django.instrumentation import metrics as figures
from ccc_django.instrumentation.health import UNUSABLE, check

View = TypeVar("View", bound=Callable[..., HttpResponse])
UNHEALTHY, NOT_INSTALLED = 503, 501
TEXT = "text/plain; charset=utf-8"


def for_machines(view: View) -> View:
    """Open to all, never cached, and outside of ATOMIC_REQUESTS, which would fail before the view could say why."""
    for alias in connections:
        view = transaction.non_atomic_requests(using=alias)(view)
    return login_not_required(csrf_exempt(never_cache(require_safe(view))))


def leave_cut_connection() -> None:
    """A connection that was kept from another request, and was cut since, says nothing about the database."""
    database = db.connection()
    if database.connection is not None and not database.in_atomic_block and not database.is_usable():
        database.close()


@for_machines
def health(request: HttpRequest) -> HttpResponse:
    """Whether all is well by the limits of CCC_HEALTH: 200, or 503 with the reasons; ?group=NAME asks for one group."""
    leave_cut_connection()
    found = check(names=request.GET.getlist("group"))
    body = {"is_healthy": found.is_healthy, "reasons": found.reasons}
    return JsonResponse(body, status=200 if found.is_healthy else UNHEALTHY)


@for_machines
def metrics(request: HttpRequest) -> HttpResponse:
    """The figures of the log, its groups and its workers, as Prometheus reads them."""
    leave_cut_connection()
    try:
        text, content_type = figures.exposition(request.headers.get("Accept", ""))
    except ExtraMissing as missing:
        return HttpResponse(f"{missing}\n", content_type=TEXT, status=NOT_INSTALLED)
    except (Error, CCCError):
        return HttpResponse(f"{UNUSABLE}\n", content_type=TEXT, status=UNHEALTHY)
    return HttpResponse(text, content_type=content_type)
