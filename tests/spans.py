"""Spans of processes that tests start, written to a file of each process as they end."""

import json
import os
from pathlib import Path

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult


class ToFile(SpanExporter):
    """Appends a line for each span."""

    def __init__(self, folder: str) -> None:
        self.path = Path(folder) / str(os.getpid())

    def export(self, spans: "list[ReadableSpan]") -> SpanExportResult:
        with self.path.open("a") as lines:
            for span in spans:
                lines.write(span.to_json(indent=None) + "\n")
        return SpanExportResult.SUCCESS


def write_to(folder: str) -> None:
    """Let the spans of this process be written."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(ToFile(folder)))
    trace.set_tracer_provider(provider)


def read(folder: Path) -> list[dict]:
    """All spans, with the process that each comes from."""
    return [
        {**json.loads(line), "process": path.name}
        for path in sorted(folder.iterdir())
        for line in path.read_text().splitlines()
    ]
