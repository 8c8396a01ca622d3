"""Tracing: what is appended inside of a span carries it; who handles it goes on."""

import pytest
from django.db import transaction
from django.utils import timezone
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ccc_django import RunAfterCommit, consumer, consumers, groups, store
from ccc_django.consumers.declaring import declare
from ccc_django.consumers.runner import run
from ccc_django.errors import DuplicateMessage
from tests.consuming import take
from tests.domain import CourseClosed, CourseCreated, UserJoinedCourse

pytestmark = pytest.mark.django_db(transaction=True)

joined = UserJoinedCourse(course_name="Algebra", user_id="joe")


@pytest.fixture
def exporter(monkeypatch) -> InMemorySpanExporter:
    """Where the spans of this process go."""
    provider, exporter = TracerProvider(shutdown_on_exit=False), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    return exporter


def span(name: str):
    return trace.get_tracer_provider().get_tracer("test").start_as_current_span(name)


def test_without_a_provider_nothing_is_carried():
    with trace.get_tracer("test").start_as_current_span("nobody looks"):
        [stored] = store.append(joined)
    assert dict(stored.metadata) == {}


def test_what_is_appended_carries_the_span_of_its_append(exporter):
    with span("request") as request:
        [stored] = store.append(joined.with_metadata(user="ann"))
    append, _ = exporter.get_finished_spans()
    assert append.parent.span_id == request.get_span_context().span_id
    assert append.attributes["messaging.batch.message_count"] == 1
    identity = append.get_span_context()
    carried = f"00-{identity.trace_id:032x}-{identity.span_id:016x}-{identity.trace_flags:02x}"
    assert stored.metadata == {"user": "ann", "traceparent": carried}
    assert next(store.stream()) == stored


def test_the_same_message_may_come_again_in_another_trace(exporter):
    [first] = store.append(joined)
    with span("again"):
        [second] = store.append(joined)
    assert first.position == second.position
    with pytest.raises(DuplicateMessage):
        store.append(joined.with_metadata(user="ann"))


def test_a_batch_goes_on_with_its_first_trace_and_links_the_others(exporter, no_consumers):
    @consumer(group="batches", partition_by=["course_name"], handles=["user.joined_course"], batch=True)
    def handle(messages):
        yield CourseClosed(course_name="Algebra")
        yield RunAfterCommit(lambda: store.append(CourseCreated(course_name="Geometry")))

    for name in ("one", "two"):
        with span(name):
            store.append(UserJoinedCourse(course_name="Algebra", user_id=name))
    declare(handle)
    run(handle, groups.claim_next("batches", worker="w"))
    spans = {each.name: each for each in exporter.get_finished_spans()}
    handled = spans["handle batches"]
    traces = {name: each.get_span_context().trace_id for name, each in spans.items()}
    assert traces["handle batches"] == traces["one"]
    assert [link.context.trace_id for link in handled.links] == [traces["two"]]
    assert traces["append course.closed"] == traces["one"]
    assert spans["append course.closed"].parent.span_id == handled.get_span_context().span_id
    assert traces["append course.created"] == traces["one"], "also what runs after the commit"
    closed = next(store.stream(type=CourseClosed))
    assert closed.metadata["consumer"] == "batches"
    assert closed.metadata["traceparent"].split("-")[2] == f"{handled.get_span_context().span_id:016x}"


def test_what_fails_is_marked_in_its_span(exporter, no_consumers):
    @consumer(group="failing", partition_by=["course_name"], handles=["user.joined_course"])
    def handle(message):
        raise ValueError("no")

    store.append(joined)
    declare(handle)
    run(handle, groups.claim_next("failing", worker="w"))
    failed = exporter.get_finished_spans()[-1]
    assert failed.name == "handle failing"
    assert not failed.status.is_ok
    assert failed.events[0].attributes["exception.message"] == "no"


def test_a_message_says_by_itself_who_made_it(no_consumers):
    """What a consumer appends names its group, unless it names another."""

    @consumer(group="making", partition_by=["course_name"], handles=["user.joined_course"])
    def handle(message):
        yield CourseClosed(course_name="Algebra")
        yield CourseClosed(course_name="Algebra", metadata={"consumer": "another"})

    store.append(joined)
    declare(handle)
    run(handle, groups.claim_next("making", worker="w"))
    assert [dict(each.metadata) for each in store.stream(type=CourseClosed)] == [
        {"consumer": "making"}, {"consumer": "another"}
    ]  # fmt: skip


def test_what_is_scheduled_inside_of_a_span_goes_on_with_it(exporter):
    with span("request") as request:
        store.schedule(joined, at=timezone.now())
    assert store.promote() == 1
    [stored] = store.stream()
    scheduled = exporter.get_finished_spans()[0]
    assert scheduled.parent.span_id == request.get_span_context().span_id
    assert stored.metadata["traceparent"].split("-")[2] == f"{scheduled.get_span_context().span_id:016x}"


def test_what_is_appended_after_the_commit_belongs_to_the_trace_in_which_it_was_asked_for(exporter):
    with transaction.atomic(), span("request") as request:
        store.append_on_commit(joined)
    [append] = [each for each in exporter.get_finished_spans() if each.name.startswith("append")]
    assert append.get_span_context().trace_id == request.get_span_context().trace_id


def test_metadata_of_others_that_looks_like_a_trace_is_left_alone(exporter):
    [stored] = store.append(joined.with_metadata(traceparent=5))
    assert stored.metadata["traceparent"] == 5


def test_what_a_command_leads_to_stands_under_its_handling_also_inside_of_a_request(exporter, offered):
    with span("request"):
        consumers.handle(take("joe"))
    spans = {each.name: each for each in exporter.get_finished_spans()}
    handled, append = spans["handle seating"], spans["append seat.taken"]
    assert append.parent.span_id == handled.get_span_context().span_id
