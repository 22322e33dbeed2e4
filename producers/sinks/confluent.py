"""The sink that uses confluent-kafka's producer: for every kind of message, with one object for each."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from driftway.producers.messages import Messages
from driftway.producers.sinks.kafka import KafkaSink
from driftway.producers.sinks.latency import Latencies
from driftway.producers.sinks.properties import producer_properties
from driftway.producers.sinks.sink import MAX_IDLE_SECONDS
from driftway.producers.streams.ground_truth import headers_of
from driftway.producers.streams.stream import Array
from driftway.worker.kafka.client_config import refused_properties


class ConfluentSink(KafkaSink):
    """A `KafkaSink` on confluent-kafka, the only one with latencies, timestamps and headers.

    The callback is attached to every message inside the client's C code and called for failures only
    (`delivery.report.only.error`), so no Python runs for a message that arrives. With `latencies`, a callback runs
    for each.

    Parameters
    ----------
    bootstrap : str
        Address of a broker.
    latencies : Latencies or None
        Collects the time of each message from due to acknowledged.
    own : mapping or None
        Further properties, which take precedence.
    properties, *given, **more
        As `KafkaSink`.
    """

    def __init__(
        self,
        bootstrap: str,
        properties: Mapping[str, Any],
        *given: Any,
        latencies: Latencies | None = None,
        own: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        from confluent_kafka import Producer

        super().__init__(properties, *given, **more)
        self._latencies = latencies
        required = {"delivery.report.only.error": latencies is None, "on_delivery": self._on_failure, **(own or {})}
        with refused_properties(properties):
            self._producer = Producer(producer_properties(bootstrap, properties, required))

    def _produce(self, topic: str, messages: Messages, due: Array | None) -> None:
        fields: list[dict[str, Any]]
        if messages.keys is None:
            fields = [{"value": value} for value in messages.values]
        else:
            fields = [{"value": v, "key": k} for v, k in zip(messages.values, messages.keys, strict=True)]
        if self._latencies is not None and due is not None:
            for field, moment in zip(fields, due.tolist(), strict=True):
                field["callback"] = partial(self._on_delivery, moment)
            self._latencies.tidy()
        if messages.times is not None:
            for field, at in zip(fields, messages.times, strict=True):
                field["timestamp"] = at
        if messages.truth is not None:
            for field, headers in zip(fields, headers_of(messages.truth[messages.row_indices()]), strict=True):
                field["headers"] = headers
        single = messages.times is not None or messages.truth is not None
        if self._partition is not None or messages.keys is not None:
            self._queue(topic, fields, -1 if self._partition is None else self._partition, single)
            return
        # One call per partition: the client's batch call ignores a partition set on a message.
        for partition, share in messages.by_partition(self.partitions):
            self._queue(topic, [fields[i] for i in share], partition, single)

    def idle(self, seconds: float) -> None:
        if self._latencies is None:
            super().idle(seconds)
            return
        self._maybe_commit()
        # A latency is taken when its report arrives, so wait in `poll`, which returns after each, and do not sleep.
        self._poll(min(seconds, MAX_IDLE_SECONDS))

    def _partition_count(self, topic: str, seconds: float) -> int:
        return len(self._producer.list_topics(topic, timeout=seconds).topics[topic].partitions)

    def _queued(self) -> int:
        return len(self._producer)

    def _purge(self) -> None:
        self._producer.purge()

    def _poll(self, seconds: float) -> None:
        with self._fatality():
            self._producer.poll(seconds)

    def _flush(self, seconds: float) -> int:
        with self._fatality():
            self._producer.flush(seconds)
        return len(self._producer)

    def _queue(self, topic: str, messages: list[dict[str, Any]], partition: int, single: bool) -> None:
        """Pass messages to the client; `single` if they have fields that its batch call ignores."""
        if single:
            self._queue_singly(topic, messages, partition)
            return
        queued = self._producer.produce_batch(topic, messages, partition=partition)
        if queued == len(messages):
            return
        for message in messages:
            error = message.get("_error")
            if error is None:
                continue
            self._refused(error)

    def _queue_singly(self, topic: str, messages: list[dict[str, Any]], partition: int) -> None:
        from confluent_kafka import KafkaException

        for message in messages:
            callback = {"on_delivery": message.pop("callback")} if "callback" in message else {}
            try:
                self._producer.produce(topic, partition=partition, **message, **callback)
            except KafkaException as error:
                self._refused(error.args[0])

    def _refused(self, error: Any) -> None:
        """Count a message that librdkafka itself refuses; a retry would fail in the same way."""
        from confluent_kafka import KafkaError

        self.fatal = self.fatal or error.code() == KafkaError._FATAL
        self._on_failure(error, None)

    @contextlib.contextmanager
    def _fatality(self) -> Iterator[None]:
        """Record a fatal error, which the client raises from whichever call comes next."""
        from confluent_kafka import KafkaError, KafkaException

        from driftway.worker.kafka.error_handling import reported_fatal_error

        try:
            with reported_fatal_error(self._producer):
                yield
        except KafkaException as failure:
            if not failure.args[0].fatal():
                raise
            self._fatal_error(failure.args[0])
        except SystemError as failure:
            if failure.__cause__ is not None:
                raise
            # A producer that is not transactional cannot be asked for its fatal error.
            self._fatal_error(KafkaError(KafkaError._FATAL, "it failed for good and gave no reason", fatal=True))

    def _on_delivery(self, due: float, error: Any, _message: object) -> None:
        if error is not None:
            self._on_failure(error, None)
        elif self._latencies is not None:
            self._latencies.note(time.monotonic() - due)

    def _on_failure(self, error: Any, _message: object) -> None:
        if error is None:
            return
        from driftway.worker.kafka.error_handling import refusal

        self.errors += 1
        self.first_error = self.first_error or refusal(error)
