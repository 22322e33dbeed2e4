"""The sink that uses the C library under the client: takes messages as columns, without an object for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from driftway.producers.messages import Messages
from driftway.producers.sinks.kafka import KafkaSink
from driftway.producers.sinks.properties import producer_properties
from driftway.producers.streams.stream import Array
from driftway.worker.wire.columns import BytesColumn, ListColumn


class LibrdkafkaSink(KafkaSink):
    """A `KafkaSink` on librdkafka; timestamps, headers and latencies need `ConfluentSink`."""

    def __init__(self, bootstrap: str, properties: Mapping[str, Any], *given: Any, **more: Any) -> None:
        from driftway.worker.kafka.client_factory import make_bulk_producer

        super().__init__(properties, *given, **more)
        # Statistics tell a client that knows no broker any more (driftway.worker.kafka.client_config.knows_brokers).
        required = {"delivery.report.only.error": True, "error_cb": self._on_error, "statistics.interval.ms": 5_000}
        self._feeder = make_bulk_producer(producer_properties(bootstrap, properties, required))
        self._counted = 0
        """Failures already included in `errors`."""

    def _produce(self, topic: str, messages: Messages, due: Array | None) -> None:
        values = messages.values if isinstance(messages.values, BytesColumn) else ListColumn(messages.values)
        if messages.keys is None:
            partitions = messages.effective_partition_rows() % self.partitions
            self._feeder.produce(topic, values, None, partitions if self._partition is None else self._partition)
        else:
            self._feeder.produce(topic, values, ListColumn(messages.keys), self._partition)
        self._count()

    def _partition_count(self, topic: str, seconds: float) -> int:
        return self._feeder.partitions(topic, seconds)

    def _queued(self) -> int:
        return len(self._feeder)

    def _poll(self, seconds: float) -> None:
        self._feeder.poll(seconds)
        self._count()

    def _flush(self, seconds: float) -> int:
        self._feeder.flush(seconds)
        self._count()
        return len(self._feeder)

    def _purge(self) -> None:
        self._feeder.purge()

    def _count(self) -> None:
        """Add the failures since the last call to `errors`."""
        failed, error = self._feeder.failed, self._feeder.first_error
        self.errors += failed - self._counted
        self._counted = failed
        if error is not None:
            self.first_error = self.first_error or error.str()

    def _on_error(self, error: Any) -> None:
        """Handle an error of the client as a whole; called from inside its calls."""
        from confluent_kafka import KafkaError

        if error.code() == KafkaError._FATAL:
            self._fatal_error(error)
