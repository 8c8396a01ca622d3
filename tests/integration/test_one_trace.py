"""A trace goes through a request, two workers and a scheduled message: one OpenTelemetry trace, one tree."""

import subprocess
import sys

import pytest

from ccc_django.instrumentation.traces import trace
from ccc_django.models import StoredMessage
from tests import spans
from tests.worker.running import ROOT, environment, eventually, worker

LED_TO = {"traced.reminded by reminding": {}, "traced.noticed": {}}

pytestmark = pytest.mark.django_db(transaction=True)


def types() -> list[str]:
    return sorted(StoredMessage.objects.values_list("message_type", flat=True))


def test_a_request_two_workers_and_a_scheduled_message_are_one_trace(tmp_path):
    given = {"CCC_TEST_SPANS": str(tmp_path), "CCC_TEST_APP": "tests.traced_app"}
    with worker("--group", "joining", **given) as one, worker("--group", "reminding", **given) as two:
        made = [sys.executable, "-m", "tests.traced_app.request"]
        asked = subprocess.run(made, env=environment(**given), cwd=ROOT, capture_output=True, text=True, check=True)
        eventually(lambda: "traced.reminded" in types(), within=30)
        for process in (one, two):
            process.terminate()
            assert process.wait(15) == 0
    assert shape(trace(asked.stdout.strip()).root) == {
        "traced.join": {"traced.joined by joining": {"traced.remind by joining": LED_TO}}
    }
    written = {label(span): span for span in spans.read(tmp_path)}
    assert len({span["context"]["trace_id"] for span in written.values()}) == 1
    assert len({span["process"] for span in written.values()}) == 3, "a server and two workers"
    labels = {span["context"]["span_id"]: name for name, span in written.items()}
    assert {name: labels.get(span["parent_id"]) for name, span in written.items()} == {
        "POST /join": None,
        "append traced.join": "POST /join",
        "handle joining: traced.join": "append traced.join",
        "append traced.joined": "handle joining: traced.join",
        "handle joining: traced.joined": "handle joining: traced.join",
        "schedule traced.remind": "handle joining: traced.joined",
        "handle reminding: traced.remind": "handle joining: traced.joined",
        "append traced.reminded": "handle reminding: traced.remind",
        "append traced.noticed": "handle reminding: traced.remind",
    }


def shape(node) -> dict:
    """A tree as types and makers."""
    name = f"{node.message.type} by {node.by}" if node.by else node.message.type
    return {name: {key: value for child in node.children for key, value in shape(child).items()}}


def label(span: dict) -> str:
    """What a span is about; a consumer handles several types."""
    handled = span["attributes"].get("ccc.message_types", []) if span["name"].startswith("handle") else []
    return ": ".join([span["name"], *handled])
