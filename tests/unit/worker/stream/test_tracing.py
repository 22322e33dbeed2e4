"""Spans of batches and commits: their content and links, and that none of their failures reaches the loop."""

from __future__ import annotations

import io
import json
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from driftway.worker.kafka.deadline import Deadline
from driftway.worker.state.model import Model
from driftway.worker.stream.observability.event_log import EventLog
from driftway.worker.stream.observability.tracing import environment, export
from driftway.worker.stream.observability.tracing.environment import INSTALL, TraceTarget, trace_target
from driftway.worker.stream.observability.tracing.spans import MAX_LINKS, Spans
from driftway.worker.stream.observability.tracing.tracing import Tracing
from driftway.worker.stream.task.task import Task
from driftway.worker.wire.events import Records
from driftway.worker.wire.headers import Header, Headers, LazyHeaders
from tests.support.clock import Clock
from tests.unit.worker.rows import events, records
from tests.unit.worker.stream.recording_checkpoint import MODEL, new_task, worker_settings

VALUES = events(400)
ROOT = Path(__file__).parents[4]


def parent(number: int, flags: str = "01") -> Header:
    """The header of a producer's span."""
    return "traceparent", f"00-{number + 1:032x}-{number + 1:016x}-{flags}".encode()


class TracedTask:
    """A task whose spans are kept in memory."""

    def __init__(self, **more: Any) -> None:
        self.task, _ = new_task()
        self.lines = io.StringIO()
        self.tracing = Tracing(worker_settings(**more), EventLog("json", self.lines), {})
        self.memory, provider = InMemorySpanExporter(), TracerProvider()
        provider.add_span_processor(SimpleSpanProcessor(self.memory))
        self.tracing._spans = Spans(worker_settings(**more), provider)

    def advance(self, first: int, last: int, headers: Headers | None = None, task: Task | None = None) -> None:
        task = task or self.task
        batch = records(VALUES[first:last], first, headers=headers)
        with self.tracing.batch(task, batch):
            task.advance(batch)

    def commit(self) -> None:
        begun = self.task.begin_commit()
        self.task.end_commit(begun, begun.run(None, Deadline(1)))
        self.tracing.commit_ended(self.task, 0.25, None)

    def spans(self) -> list[ReadableSpan]:
        return list(self.memory.get_finished_spans())

    def linked(self, at: int = -1) -> list[Any]:
        """Offsets that the links of a span name."""
        return [(one.attributes or {})["messaging.kafka.offset"] for one in self.spans()[at].links]

    def said(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines.getvalue().splitlines()]


def warning_of(message: str) -> logging.LogRecord:
    return logging.LogRecord("opentelemetry.x", logging.WARNING, "x.py", 1, message, None, None)


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_a_batch_is_a_span_with_the_standard_attributes() -> None:
    traced = TracedTask(passthrough={"client.id": "w1"})
    traced.advance(0, 5, [[parent(i)] for i in range(5)])
    (span,) = traced.spans()
    assert (span.name, span.kind, span.status.status_code) == ("process EVENTS", SpanKind.CONSUMER, StatusCode.UNSET)
    assert attributes(span) == {
        "messaging.system": "kafka",
        "messaging.destination.name": "EVENTS",
        "messaging.consumer.group.name": "g",
        "messaging.client.id": "w1",
        "messaging.destination.partition.id": "3",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.batch.message_count": 5,
        "driftway.offset.first": 0,
        "driftway.offset.last": 4,
        "driftway.task.state": "running",
    }
    assert [(one.context.trace_id, one.context.span_id) for one in span.links] == [(i + 1, i + 1) for i in range(5)]
    assert traced.linked() == [0, 1, 2, 3, 4]


def test_only_headers_that_name_a_recorded_span_are_linked() -> None:
    traced = TracedTask()
    traced.advance(
        0,
        7,
        [
            [],
            [parent(1, "00")],
            [("traceparent", None)],
            [("traceparent", b"\xff broken")],
            [("traceparent", b"00-" + b"0" * 32 + b"-0000000000000001-01")],
            [("other", b"x"), parent(5), ("tracestate", b"vendor=value")],
            [("Traceparent", parent(6)[1])],
        ],
    )
    assert traced.linked() == [5]
    assert traced.spans()[0].links[0].context.trace_state == {"vendor": "value"}
    traced.advance(7, 8)
    assert traced.linked() == []


def test_links_are_limited_and_few_headers_of_a_large_batch_are_read() -> None:
    traced, n, read = TracedTask(), len(VALUES), list[int]()

    def headers(i: int) -> Sequence[Header]:
        read.append(i)
        return [parent(i)] if i == n - 1 else []

    traced.advance(0, n, LazyHeaders.of(headers, n))
    assert len(read) == MAX_LINKS
    assert (read[0], read[-1]) == (0, n - 1)
    assert traced.linked() == [n - 1]
    again = TracedTask()
    again.advance(0, n, [[parent(i)] for i in range(n)])
    assert len(again.linked()) == MAX_LINKS


def test_a_commit_is_linked_to_the_batches_that_it_makes_visible() -> None:
    traced = TracedTask()
    traced.advance(0, 10)
    traced.advance(10, 30)
    begun = traced.task.begin_commit()
    traced.advance(30, 33)  # while the commit is under way: it belongs to the next one
    traced.task.end_commit(begun, begun.run(None, Deadline(1)))
    traced.tracing.commit_ended(traced.task, 0.25, None)
    traced.commit()
    one, two, three, first, second = traced.spans()
    assert (first.name, first.kind) == ("commit EVENTS", SpanKind.CLIENT)
    assert attributes(first)["messaging.operation.type"] == "settle"
    assert attributes(first)["messaging.batch.message_count"] == 30
    assert attributes(first)["driftway.offset.committed"] == 30
    assert [link.context for link in first.links] == [one.context, two.context]
    assert [link.context for link in second.links] == [three.context]
    assert attributes(second)["driftway.offset.committed"] == 33
    assert (first.end_time or 0) - (first.start_time or 0) == 250_000_000


def test_a_commit_of_many_batches_has_few_links() -> None:
    traced = TracedTask()
    for i in range(MAX_LINKS + 5):
        traced.advance(i, i + 1)
    traced.commit()
    assert len(traced.spans()[-1].links) == MAX_LINKS
    assert attributes(traced.spans()[-1])["messaging.batch.message_count"] == MAX_LINKS + 5


def test_a_failed_commit_has_the_error_and_its_batches_are_dropped() -> None:
    traced = TracedTask()
    traced.advance(0, 10)
    traced.tracing.commit_ended(traced.task, 0.1, KafkaException(KafkaError(KafkaError.REQUEST_TIMED_OUT)))
    batch, commit = traced.spans()
    assert commit.status.status_code is StatusCode.ERROR
    assert attributes(commit)["error.type"] == "REQUEST_TIMED_OUT"
    assert [link.context for link in commit.links] == [batch.context]
    traced.advance(10, 12)
    traced.commit()
    assert len(traced.spans()[-1].links) == 1


def test_rows_that_a_restore_learns_again_are_marked_and_not_committed() -> None:
    traced = TracedTask()
    model = Model(MODEL, 3)
    model.advance(records(VALUES[:10]), emit=False)
    task, _ = new_task(position=10, committed=20, model=model)
    traced.advance(10, 15, task=task)
    traced.advance(15, 25, task=task)
    assert [attributes(one)["driftway.task.state"] for one in traced.spans()] == ["restoring", "restoring"]
    traced.tracing.restored(task)
    traced.tracing.commit_ended(task, 0.1, None)
    assert traced.spans()[-1].links == ()


def test_an_error_of_a_batch_is_in_its_span_and_is_raised_in_the_loop() -> None:
    traced = TracedTask()
    with pytest.raises(ValueError, match="of the task"), traced.tracing.batch(traced.task, records(VALUES[:3])):
        raise ValueError("of the task")
    assert attributes(traced.spans()[0])["error.type"] == "ValueError"
    assert traced.said() == []


def test_a_failure_of_tracing_ends_only_tracing() -> None:
    def closed(_: int) -> Sequence[Header]:
        raise RuntimeError("the headers are gone")

    traced = TracedTask()
    traced.advance(0, 5, LazyHeaders.of(closed, 5))
    assert traced.task.position == 5
    traced.advance(5, 9)
    traced.commit()
    assert traced.spans() == []
    (line,) = traced.said()
    assert (line["event"], line["level"]) == ("no more spans", "warning")
    assert line["error"] == "RuntimeError: the headers are gone"


HERE = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://user:secret@collector:4318"}


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, TraceTarget(None)),
        ({"OTEL_SERVICE_NAME": "fraud"}, TraceTarget(None)),
        (HERE, TraceTarget("http://***@collector:4318")),
        ({**HERE, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://t/v1/traces"}, TraceTarget("http://t/v1/traces")),
        ({**HERE, "OTEL_SDK_DISABLED": "True"}, TraceTarget(None)),
        ({**HERE, "OTEL_TRACES_EXPORTER": "none"}, TraceTarget(None)),
        ({**HERE, "OTEL_TRACES_EXPORTER": "otlp"}, TraceTarget("http://***@collector:4318")),
    ],
)
def test_the_standard_environment_variables_apply(environ: dict[str, str], wanted: TraceTarget) -> None:
    assert trace_target(environ) == wanted


def test_a_failed_tracing_setup_is_reported_once_and_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    grpc = trace_target({**HERE, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"})
    assert grpc.obstacle == "only the protocol http/protobuf is supported, not grpc"
    assert (trace_target({**HERE, "OTEL_TRACES_EXPORTER": "zipkin"}).obstacle or "").endswith("not zipkin")
    monkeypatch.setattr(environment, "PACKAGES", ("not_there_at_all.sdk",))
    lines = io.StringIO()
    tracing = Tracing(worker_settings(), EventLog("json", lines), HERE)
    tracing.begin()
    task, _ = new_task()
    with tracing.batch(task, records(VALUES[:3])):
        task.advance(records(VALUES[:3]))
    tracing.end()
    (line,) = map(json.loads, lines.getvalue().splitlines())
    assert (line["event"], line["error"]) == ("no spans", INSTALL)
    assert "secret" not in lines.getvalue()


def test_without_an_endpoint_the_sdk_is_not_imported() -> None:
    code = (
        "import sys, driftway.worker.stream.worker\n"
        "from driftway.worker.stream.observability.event_log import EventLog\n"
        "from driftway.worker.stream.observability.tracing.tracing import NOTHING, Tracing\n"
        "made = Tracing(None, EventLog(), {})\n"
        "made.begin()\n"
        "assert made.batch(None, None) is NOTHING\n"
        "made.commit_ended(None, 1.0, None), made.end()\n"
        "print([name for name in sys.modules if name.startswith(('opentelemetry', 'requests', 'google'))])\n"
    )
    environ = {key: value for key, value in os.environ.items() if not key.startswith("OTEL_")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environ, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr


def test_a_setting_that_the_sdk_refuses_stops_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "-1")
    lines = io.StringIO()
    tracing = Tracing(worker_settings(), EventLog("json", lines), HERE)
    tracing.begin()
    tracing.end()
    assert json.loads(lines.getvalue())["event"] == "no more spans"


def test_warnings_of_the_sdk_are_logged_once_a_minute() -> None:
    lines, clock = io.StringIO(), Clock()
    handler = export.SdkLogHandler(EventLog("json", lines), clock)
    for _ in range(5):
        handler.handle(warning_of("refused"))
    clock.now += export.QUIET_SECONDS
    handler.handle(warning_of("still refused"))
    first, second = map(json.loads, lines.getvalue().splitlines())
    assert (first["event"], first["error"], "left_out" in first) == ("spans may be lost", "refused", False)
    assert (second["error"], second["left_out"]) == ("still refused", 4)


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a collector that takes connections and never answers.

    Its exporters end with the test: they would try again for seconds, after pauses that `random` draws, and hypothesis
    does not allow that while it draws itself.
    """
    made: list[OTLPSpanExporter] = []

    def make() -> OTLPSpanExporter:
        made.append(OTLPSpanExporter())
        return made[-1]

    monkeypatch.setattr(export, "OTLPSpanExporter", make)
    with socket.create_server(("127.0.0.1", 0)) as place:
        yield f"http://127.0.0.1:{place.getsockname()[1]}"
    for exporter in made:
        exporter.shutdown()
    for thread in threading.enumerate():
        if thread.name == "last spans":
            thread.join(30)
            assert not thread.is_alive()


def test_a_collector_that_never_answers_delays_neither_batches_nor_the_end(
    silent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "END_SECONDS", 0.3)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", silent)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "10")
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "50")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "10")
    lines = io.StringIO()
    tracing = Tracing(worker_settings(), EventLog("json", lines), os.environ)
    tracing.begin()
    task, _ = new_task()
    batch: Records = records(VALUES[:3])
    started, longest = time.monotonic(), 0.0
    while "Queue full" not in lines.getvalue():
        assert time.monotonic() < started + 60, lines.getvalue()
        begun = time.monotonic()
        with tracing.batch(task, batch):
            pass
        longest = max(longest, time.monotonic() - begun)
    begun = time.monotonic()
    tracing.end()
    assert time.monotonic() - begun < 5.0  # the exporter alone would wait for 10 s
    assert longest < 5.0
    assert [json.loads(line)["event"] for line in lines.getvalue().splitlines()] == ["spans", "spans may be lost"]
