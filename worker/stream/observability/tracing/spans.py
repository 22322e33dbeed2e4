"""The spans of a worker, named by OpenTelemetry's conventions for messaging and Kafka.

A batch of a partition is a span `process TOPIC` with links to the spans that its producers have put into `traceparent`
headers. A commit is a span `commit TOPIC` with links to the batches that it makes visible.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np
from confluent_kafka import KafkaException
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Status, StatusCode, TracerProvider, get_current_span
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from driftway.worker.settings import WorkerSettings
from driftway.worker.stream.task.task import Task
from driftway.worker.wire.events import Records
from driftway.worker.wire.headers import Header

MAX_LINKS = 16
"""Links of a span, at most. Of a larger batch only so many records are looked at, evenly spread, the first and the last
among them: to read a record's headers takes about 6 us."""
MAX_WAITING = 10_000
"""Batches of a partition that are remembered until their commit, at most."""
SCOPE = "driftway.worker"
PROCESS, COMMIT = "process", "commit"
SYSTEM, TOPIC, GROUP = "messaging.system", "messaging.destination.name", "messaging.consumer.group.name"
PARTITION, CLIENT, COUNT = "messaging.destination.partition.id", "messaging.client.id", "messaging.batch.message_count"
OPERATION, OPERATION_TYPE = "messaging.operation.name", "messaging.operation.type"
OFFSET, ERROR_TYPE = "messaging.kafka.offset", "error.type"
FIRST_OFFSET, LAST_OFFSET = "driftway.offset.first", "driftway.offset.last"
COMMITTED_OFFSET, TASK_STATE = "driftway.offset.committed", "driftway.task.state"
CONTEXT_HEADERS = "traceparent", "tracestate"


class Batch(NamedTuple):
    """A batch that waits for its commit."""

    last: int
    """Offset of its last record."""
    records: int
    context: SpanContext


class Spans:
    """Makes spans of batches and commits; used on the loop's thread only.

    Parameters
    ----------
    settings : WorkerSettings
        The worker's.
    provider : TracerProvider
        Takes the spans.
    """

    def __init__(self, settings: WorkerSettings, provider: TracerProvider) -> None:
        self._tracer = provider.get_tracer(SCOPE)
        self._topic = settings.input
        self._propagator = TraceContextTextMapPropagator()
        self._common: dict[str, str] = {
            SYSTEM: "kafka",
            TOPIC: settings.input,
            GROUP: settings.group,
        }
        if client := settings.passthrough.get("client.id"):
            self._common[CLIENT] = str(client)
        self._waiting: defaultdict[int, deque[Batch]] = defaultdict(lambda: deque(maxlen=MAX_WAITING))

    def begin_batch(self, task: Task, records: Records) -> Span:
        """Begin the span of a batch, before the task advances: only then are its headers sure to be there."""
        return self._tracer.start_span(
            f"{PROCESS} {self._topic}",
            kind=SpanKind.CONSUMER,
            links=self._links(records),
            attributes={
                **self._of(task, PROCESS, "process"),
                COUNT: len(records),
                FIRST_OFFSET: int(records.offsets[0]),
                LAST_OFFSET: int(records.offsets[-1]),
                TASK_STATE: task.state.value,
            },
        )

    def end_batch(self, span: Span, task: Task, records: Records, error: BaseException | None) -> None:
        """End the span of a batch; remember it for its commit if its predictions are emitted."""
        if error is not None:
            _set_error(span, error)
        elif task.running:
            batch = Batch(int(records.offsets[-1]), len(records), span.get_span_context())
            self._waiting[task.partition].append(batch)
        span.end()

    def commit_ended(self, task: Task, seconds: float, error: BaseException | None) -> None:
        """Make the span of a commit that took so long; an error: it failed, and its batches will be read again."""
        batches = self._committed(task) if error is None else list(self._waiting.pop(task.partition, ()))
        now = time.time_ns()
        span = self._tracer.start_span(
            f"{COMMIT} {self._topic}",
            kind=SpanKind.CLIENT,
            links=[Link(one.context) for one in islice(batches, MAX_LINKS)],
            attributes={
                **self._of(task, COMMIT, "settle"),
                COUNT: sum(one.records for one in batches),
                COMMITTED_OFFSET: task.committed,
            },
            start_time=now - int(seconds * 1e9),
        )
        if error is not None:
            _set_error(span, error)
        span.end(now)

    def forget(self, partition: int) -> None:
        """Forget a partition's batches: it is restored, and what was not committed will be read again."""
        self._waiting.pop(partition, None)

    def _of(self, task: Task, operation: str, kind: str) -> dict[str, str | int]:
        return {
            **self._common,
            PARTITION: str(task.partition),
            OPERATION: operation,
            OPERATION_TYPE: kind,
        }

    def _committed(self, task: Task) -> list[Batch]:
        """Take the batches out that a commit has made visible."""
        waiting, found = self._waiting[task.partition], []
        while waiting and waiting[0].last < task.committed:
            found.append(waiting.popleft())
        return found

    def _links(self, records: Records) -> list[Link]:
        """Return links to the recorded spans that the headers of a batch name, each with its record's offset."""
        found: list[Link] = []
        if records.headers is None:
            return found
        for i in _spread(len(records)):
            context = self._context(records.headers[i])
            if context is not None:
                found.append(Link(context, {OFFSET: int(records.offsets[i])}))
        return found

    def _context(self, headers: Sequence[Header]) -> SpanContext | None:
        """Return the span that a record's headers name; None: they name none, or one that nobody has recorded."""
        carrier = {
            name: (value or b"").decode("ascii", "replace") for name, value in headers if name in CONTEXT_HEADERS
        }
        if not carrier:
            return None
        context = get_current_span(self._propagator.extract(carrier)).get_span_context()
        return context if context.is_valid and context.trace_flags.sampled else None


def _spread(n: int) -> list[int]:
    """Return the indices of up to MAX_LINKS of n records, evenly spread, both ends among them."""
    if n <= MAX_LINKS:
        return list(range(n))
    indices: list[int] = np.linspace(0, n - 1, MAX_LINKS).astype(np.int64).tolist()
    return indices


def _set_error(span: Span, error: BaseException) -> None:
    kind, text = type(error).__name__, str(error)
    if isinstance(error, KafkaException) and error.args:
        kind, text = error.args[0].name(), error.args[0].str()
    span.set_attribute(ERROR_TYPE, kind)
    span.set_status(Status(StatusCode.ERROR, text))
