"""A request of a browser, in a process of its own, as a server would handle it: with a span around it."""

import sys

import django
from django.http import HttpResponse
from django.test import Client, override_settings
from django.urls import path
from opentelemetry import trace


def join(request):
    from ccc_django import store  # noqa: PLC0415 - once Django is set up
    from tests.traced_app.messages import Join  # noqa: PLC0415

    with trace.get_tracer("server").start_as_current_span("POST /join"):
        [command] = store.append(Join(course_name=request.POST["course_name"]))
    return HttpResponse(str(command.id))


urlpatterns = [path("join", join)]

if __name__ == "__main__":
    django.setup()
    with override_settings(ROOT_URLCONF="tests.traced_app.request", ALLOWED_HOSTS=["*"]):
        sys.stdout.write(Client().post("/join", {"course_name": "Algebra"}).content.decode())
