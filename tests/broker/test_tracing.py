"""Spans of a worker on a real Kafka, received by the test's OTLP collector, which is also stopped at times."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.fault_scenario import FaultScenario
from tests.support.kafka import await_until, committed_offset, produce, read_all
from tests.support.process import Driftway
from tests.support.selection import slow_but

pytestmark = pytest.mark.broker

ROWS, PIECE = 400, 100
PATH = "/v1/traces"
SETTINGS = {
    "OTEL_SERVICE_NAME": "fraud",
    "OTEL_BSP_SCHEDULE_DELAY": "50",
    "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
}


class Collector:
    """Receives spans by OTLP over HTTP; responds with 503 while it refuses, and not at all while it hangs."""

    def __init__(self, port: int = 0) -> None:
        self.spans: list[Any] = []
        self.services: set[str] = set()
        self.refuses, self.asked = False, 0
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                collector.asked += 1
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == PATH and not collector.refuses:
                    collector.take(ExportTraceServiceRequest.FromString(body))
                self.send_response(503 if collector.refuses else 200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                """Log nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def take(self, request: ExportTraceServiceRequest) -> None:
        for resource in request.resource_spans:
            self.services |= {
                one.value.string_value for one in resource.resource.attributes if one.key == "service.name"
            }
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]

    def named(self, operation: str) -> list[Any]:
        """The spans of an operation so far."""
        return [span for span in list(self.spans) if span.name.startswith(f"{operation} ")]

    def stop(self) -> None:
        """Close the port: connections are refused from now on."""
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def collector() -> Iterator[Collector]:
    running_collector = Collector()
    yield running_collector
    running_collector.stop()


def attributes(span: Any) -> dict[str, Any]:
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}


def trace(offset: int) -> bytes:
    return f"00-{offset + 1:032x}-{offset + 1:016x}-01".encode()


def fill(scenario: FaultScenario, first: int) -> None:
    """Write some events, each with the context of its producer's span."""
    rows = range(first, first + PIECE)
    values = [scenario.events[0][i] for i in rows]
    produce(scenario.bootstrap, scenario.topic, values, headers=[[("traceparent", trace(i))] for i in rows])


def await_predictions(scenario: FaultScenario, n: int) -> None:
    await_until(
        lambda: committed_offset(scenario.bootstrap, scenario.group, scenario.topic)[0] >= n, 60, f"{n} rows committed"
    )


@pytest.mark.parametrize("client", slow_but(["native"], ["native", "python"]))
def test_a_collector_receives_spans_and_its_absence_delays_nothing(
    kafka: str, collector: Collector, client: str
) -> None:
    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    environ = {**SETTINGS, "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.port}"}
    fill(scenario, 0)
    with Driftway(*scenario.worker("--client", client), env=environ) as worker:
        await_predictions(scenario, PIECE)
        await_until(lambda: last_committed(collector) == PIECE, 30, "the span of the commit")
        check(collector, scenario)

        collector.refuses, before = True, collector.asked
        fill(scenario, PIECE)
        await_predictions(scenario, 2 * PIECE)
        await_until(lambda: collector.asked > before, 30, "spans are refused")
        worker.await_text("spans may be lost")

        collector.stop()
        fill(scenario, 2 * PIECE)
        await_predictions(scenario, 3 * PIECE)

        again = Collector(collector.port)
        fill(scenario, 3 * PIECE)
        await_predictions(scenario, ROWS)
        await_until(lambda: last_committed(again) == ROWS, 60, "spans arrive again")

        again.stop()
        begun = time.monotonic()
        worker.terminate()
        assert worker.wait() == 0, worker.summary()
        assert time.monotonic() - begun < 20
        assert "Traceback" not in worker.stderr
        assert worker.stderr.count("spans may be lost") <= 2, worker.summary()
    written = [record.value for record in read_all(kafka, f"{scenario.prefix}.predictions")]
    assert len(written) == ROWS


def last_committed(collector: Collector) -> int:
    return max((attributes(span)["driftway.offset.committed"] for span in collector.named("commit")), default=0)


def check(collector: Collector, scenario: FaultScenario) -> None:
    """Spans of the first events: every row is in one, with links to producers, and commits link to batches."""
    batches, commits = collector.named("process"), collector.named("commit")
    assert collector.services == {"fraud"}
    assert {span.name for span in batches} == {f"process {scenario.topic}"}
    assert sum(attributes(span)["messaging.batch.message_count"] for span in batches) == PIECE
    for span in batches:
        given = attributes(span)
        first, last = given["driftway.offset.first"], given["driftway.offset.last"]
        assert (given["messaging.system"], given["messaging.consumer.group.name"]) == ("kafka", scenario.group)
        assert (given["messaging.destination.name"], given["messaging.destination.partition.id"]) == (
            scenario.topic,
            "0",
        )
        offsets = [attributes(link)["messaging.kafka.offset"] for link in span.links]
        assert offsets
        assert set(offsets) <= set(range(first, last + 1))
        assert [int.from_bytes(link.trace_id) for link in span.links] == [offset + 1 for offset in offsets]
        assert span.start_time_unix_nano <= span.end_time_unix_nano
    linked = {link.span_id for span in commits for link in span.links}
    assert linked == {span.span_id for span in batches}
    assert sum(attributes(span)["messaging.batch.message_count"] for span in commits) == PIECE


def test_a_worker_ends_in_time_although_its_collector_never_answers(kafka: str) -> None:
    import socket

    scenario = FaultScenario(kafka, partitions=1, rows=ROWS)
    scenario.fill()
    with socket.create_server(("127.0.0.1", 0)) as place:
        environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{place.getsockname()[1]}"}
        with Driftway(*scenario.worker("--stop-at-end"), env=environ) as worker:
            worker.await_text(" left ")
            begun = time.monotonic()
            assert worker.wait() == 0, worker.summary()
            assert time.monotonic() - begun < 8  # the SDK alone would wait for 10 s or more
    assert len(read_all(kafka, f"{scenario.prefix}.predictions")) == ROWS
