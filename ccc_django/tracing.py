"""Tracing: OpenTelemetry spans, where it is set up; a trace goes on in other processes, carried in metadata.

Without OpenTelemetry, or without a tracer provider, nothing is done and nothing is carried.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from ccc_django.extras import is_installed

if TYPE_CHECKING:
    from ccc_django.messages import Message

CARRIED = ("traceparent", "tracestate")  # as W3C calls them, in the metadata of messages
LIBRARY = "ccc_django"


def carrier() -> dict[str, str]:
    """What a message is to carry so that whoever handles it goes on with the trace that runs here."""
    carried: dict[str, str] = {}
    if _tracer() is not None:
        _propagator().inject(carried)
    return carried


@contextmanager
def appending(messages: Sequence["Message"]) -> Iterator[dict[str, str]]:
    """A span around an append; what those of its messages are to carry that carry nothing yet.

    Outside of any trace, and where all of them carry one, it belongs to the one that its first message carries.
    """
    with _produced("append", messages) as carried:
        yield carried


@contextmanager
def scheduling(messages: Sequence["Message"]) -> Iterator[dict[str, str]]:
    """The same around messages that wait for their time."""
    with _produced("schedule", messages) as carried:
        yield carried


@contextmanager
def _produced(verb: str, messages: Sequence["Message"]) -> Iterator[dict[str, str]]:
    if _tracer() is None:
        yield {}
        return
    carry = all(_carried(message) for message in messages)
    with _span(verb, "PRODUCER", messages, is_root=carry or not _is_traced()):
        yield carrier()


@contextmanager
def handling(group: str, messages: Sequence["Message"]) -> Iterator[None]:
    """A span around what a consumer does with messages; it goes on with the first one's trace, and links the others."""
    with _span("handle", "CONSUMER", messages, is_root=True, group=group):
        yield


def going_on(function: Callable[[], object]) -> Callable[[], object]:
    """The same function, which will be called in the trace that runs here."""
    if _tracer() is None:
        return function
    from opentelemetry import context  # noqa: PLC0415 - an extra

    running = context.get_current()

    def call() -> object:
        token = context.attach(running)
        try:
            return function()
        finally:
            context.detach(token)

    return call


@contextmanager
def _span(verb: str, kind: str, messages: Sequence["Message"], *, is_root: bool, group: str = "") -> Iterator[None]:
    tracer = _tracer()
    if tracer is None or not messages:
        yield
        return
    from opentelemetry.trace import SpanKind  # noqa: PLC0415 - an extra

    contexts = _contexts(messages)
    with tracer.start_as_current_span(
        f"{verb} {group or messages[0].type}",
        context=contexts[0] if is_root and contexts else None,
        kind=SpanKind[kind],
        links=_links(contexts[1:] if is_root else contexts),
        attributes=_attributes(verb, messages, group),
    ):
        yield


def _attributes(verb: str, messages: Sequence["Message"], group: str) -> dict[str, Any]:
    """By the names of OpenTelemetry's conventions, and a few of our own."""
    said = {
        "messaging.system": LIBRARY,
        "messaging.operation.name": verb,
        "messaging.batch.message_count": len(messages),
        "messaging.message.id": str(messages[0].id),
        "messaging.message.conversation_id": str(messages[0].correlation_id),
        "ccc.message_types": sorted({message.type for message in messages}),
    }
    if group:
        said["messaging.consumer.group.name"] = group
    if messages[0].position is not None:
        said["ccc.position"] = messages[0].position
    return said


def _contexts(messages: Iterable["Message"]) -> list[Any]:
    """Each trace that messages carry, once."""
    carried = dict.fromkeys(values for message in messages if (values := _carried(message)))
    return [_propagator().extract(dict(values)) for values in carried]


def _carried(message: "Message") -> tuple[tuple[str, str], ...]:
    """What a message carries; what is no text there is somebody else's, and none of ours."""
    known = ((name, message.envelope.metadata.get(name)) for name in CARRIED)
    found = tuple((name, value) for name, value in known if isinstance(value, str))
    return found if found and found[0][0] == CARRIED[0] else ()


def _links(contexts: Iterable[Any]) -> list[Any]:
    from opentelemetry.trace import Link, get_current_span  # noqa: PLC0415 - an extra

    return [Link(get_current_span(context).get_span_context()) for context in contexts]


def _is_traced() -> bool:
    from opentelemetry.trace import get_current_span  # noqa: PLC0415 - an extra

    return bool(get_current_span().get_span_context().is_valid)


def _tracer() -> Any:
    """None unless somebody has said where spans go."""
    if not _is_there():
        return None
    from opentelemetry import trace  # noqa: PLC0415 - an extra

    provider = trace.get_tracer_provider()
    return None if isinstance(provider, trace.ProxyTracerProvider) else provider.get_tracer(LIBRARY)


@cache
def _is_there() -> bool:
    return is_installed("opentelemetry") and is_installed("opentelemetry.trace")


@cache
def _propagator() -> Any:
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415 - an extra

    return TraceContextTextMapPropagator()
