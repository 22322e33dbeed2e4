"""The way to topics by the C library under the client: columns of messages, without an object for any of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from driftway.producers.messages import Messages
from driftway.producers.sinks.kafka import Sender
from driftway.producers.sinks.properties import producer_properties
from driftway.producers.streams.stream import Array
from driftway.worker.wire.columns import Listed, Strings


class NativeSender(Sender):
    """See `Sender`; timestamps, headers and latencies are for `PlainSender`."""

    def __init__(self, bootstrap: str, properties: Mapping[str, Any], *given: Any, **more: Any) -> None:
        from driftway.worker.kafka.client_factory import make_feeder

        super().__init__(properties, *given, **more)
        must = {"delivery.report.only.error": True, "error_cb": self._told}
        self._feeder = make_feeder(producer_properties(bootstrap, properties, must))
        self._counted = 0
        """Failures that `errors` has in it."""

    def _put(self, topic: str, messages: Messages, due: Array | None) -> None:
        values = messages.values if isinstance(messages.values, Strings) else Listed(messages.values)
        if messages.keys is None:
            spread = messages.spread() % self.partitions
            self._feeder.feed(topic, values, None, spread if self._partition is None else self._partition)
        else:
            self._feeder.feed(topic, values, Listed(messages.keys), self._partition)
        self._count()

    def _seen(self, topic: str, seconds: float) -> int:
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
        """Take note of what has failed since last time."""
        failed, error = self._feeder.failed, self._feeder.first_error
        self.errors += failed - self._counted
        self._counted = failed
        if error is not None:
            self.first_error = self.first_error or error.str()

    def _told(self, error: Any) -> None:
        """What the client says of itself; called from inside its calls."""
        from confluent_kafka import KafkaError

        if error.code() == KafkaError._FATAL:
            self._doomed(error)
