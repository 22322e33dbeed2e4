"""The producer of a replay: batches out, in order, never more than the client's queue holds."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from worker.client import base_properties, quiet
from worker.errors import Failure, UsageFailure

QUEUE_ROWS = 131_072
"""The client's queue: about 0.2 s of a fast replay; each message costs it some 300 bytes beside its own."""

QUEUE_BYTES = 256 << 20
"""What the queued messages may weigh together; wide rows get a shorter queue."""

LIBRDKAFKA_MOST_KBYTES = 2_147_483_647
"""Largest `queue.buffering.max.kbytes`: the window below is the bound, so that a full queue never refuses a
message in the middle of a batch and takes a shorter one after it, which would change their order."""

READY_SECONDS = 30.0
STOP_SECONDS = 10.0
"""How long a stopped replay waits for what it has already queued."""

OWNED = {
    "queue.buffering.max.messages": "replay bounds the queue itself, so that rows keep their order",
    "queue.buffering.max.kbytes": "replay bounds the queue itself, so that rows keep their order",
    "delivery.report.only.error": "failed deliveries are counted with it",
}


def check_owned(properties: Mapping[str, Any]) -> None:
    """Refuse client properties that the replay itself must set.

    Raises
    ------
    UsageFailure
        Names the property and the reason.
    """
    for name in properties:
        if name in OWNED:
            raise UsageFailure(f"client property {name} cannot be set: {OWNED[name]}")


class Stop:
    """Whether the user asked to stop: once = deliver what is queued, twice = leave now. A signal handler."""

    def __init__(self) -> None:
        self.requests = 0
        self.signal: int | None = None

    def __call__(self, signal: int, _frame: object = None) -> None:
        """Ask once more."""
        self.requests += 1
        self.signal = signal


class Sender:
    """Produces batches of values to one topic, idempotently, and counts the deliveries that failed.

    The callback is attached to every message inside the client's C code and called for failures only
    (`delivery.report.only.error`), so nothing runs in Python for a message that arrives.

    Parameters
    ----------
    bootstrap : str
        Address of a broker.
    properties : mapping
        The user's client properties.
    topic : str
        Where to.
    partitions : int
        How many partitions the topic has.
    stop : Stop
        Ends every wait.

    Raises
    ------
    UsageFailure
        A property that the replay owns, or that the client refuses.
    """

    def __init__(self, bootstrap: str, properties: Mapping[str, Any], topic: str, partitions: int, stop: Stop) -> None:
        from confluent_kafka import KafkaException, Producer

        check_owned(properties)
        self.topic = topic
        self.partitions = partitions
        self.errors = 0
        self.first_error: str | None = None
        self.fatal = False
        self._stop = stop
        chosen = {
            # What the partitioner of Kafka's Java clients computes for a key.
            "partitioner": "murmur2_random",
            **quiet(base_properties(bootstrap, properties)),
            "enable.idempotence": True,
            "acks": properties.get("acks", "all"),
            "queue.buffering.max.messages": QUEUE_ROWS,
            "queue.buffering.max.kbytes": LIBRDKAFKA_MOST_KBYTES,
            "delivery.report.only.error": True,
            "on_delivery": self._failed,
        }
        try:
            self._producer = Producer(chosen)
        except KafkaException as error:
            raise UsageFailure(f"client property refused: {error.args[0].str()}") from None

    def await_topic(self) -> None:
        """Wait until the client sees all partitions, so that the first row already has a connection.

        Raises
        ------
        Failure
            They did not appear within 30 s.
        """
        from confluent_kafka import KafkaException

        deadline = time.monotonic() + READY_SECONDS
        seen = 0
        while seen != self.partitions:
            if time.monotonic() > deadline:
                raise Failure(f"topic {self.topic} shows {seen} of {self.partitions} partitions")
            try:
                topic = self._producer.list_topics(self.topic, timeout=READY_SECONDS).topics[self.topic]
            except KafkaException as error:
                raise Failure(f"cannot read topic {self.topic}: {error.args[0].str()}") from None
            seen = len(topic.partitions)
            if seen != self.partitions:
                self._producer.poll(0.05)

    def send(self, first: int, values: Sequence[bytes], keys: Sequence[bytes] | None) -> None:
        """Queue rows first, first + 1, ...; at most `QUEUE_ROWS`, and only after `room` has said yes.

        Without keys row i goes to partition i mod `partitions`. With keys the client hashes the key.
        """
        if keys is not None:
            self._queue([{"value": v, "key": k} for v, k in zip(values, keys, strict=True)], -1)
            return
        for partition in range(self.partitions):
            share = values[(partition - first) % self.partitions :: self.partitions]
            # One call per partition: the batch call of this client ignores a message's own partition.
            if share:
                self._queue([{"value": value} for value in share], partition)

    def room(self, rows: int, row_bytes: int) -> bool:
        """Wait until the queue takes `rows` more of at most `row_bytes` each; False if stopped before."""
        window = max(rows, min(QUEUE_ROWS, QUEUE_BYTES // max(1, row_bytes)))
        self._producer.poll(0)
        while len(self._producer) + rows > window:
            if self._stop.requests or self.fatal:
                return False
            self._producer.poll(0.05)
        return not (self._stop.requests or self.fatal)

    def rest(self, seconds: float) -> None:
        """Sleep, for 0.1 s at most, so that a stop is noticed; a single wait, not a loop over poll."""
        self._producer.poll(0)
        time.sleep(min(seconds, 0.1))

    def finish(self) -> None:
        """Wait for the broker's answers; what stays unanswered after a stop counts as an error."""
        given_up = None
        while left := self._producer.flush(0.2):
            if self._stop.requests and given_up is None:
                given_up = time.monotonic() + STOP_SECONDS
            if self._stop.requests > 1 or (given_up is not None and time.monotonic() > given_up):
                self.first_error = self.first_error or f"{left} messages were given up when stopped"
                self._producer.purge()
                # Purging reports each message as failed, through `_failed` and inside this very call; a sum on
                # one line would read the count before that and write it back after.
                unreported = self._producer.flush(1.0)
                self.errors += unreported
                return

    def _queue(self, messages: list[dict[str, Any]], partition: int) -> None:
        from confluent_kafka import KafkaError

        queued = self._producer.produce_batch(self.topic, messages, partition=partition)
        if queued == len(messages):
            return
        for message in messages:
            error = message.get("_error")
            if error is None:
                continue
            # librdkafka's own refusals; a retry would fail in the same way.
            self.fatal = self.fatal or error.code() == KafkaError._FATAL
            self._failed(error, None)

    def _failed(self, error: Any, _message: object) -> None:
        self.errors += 1
        self.first_error = self.first_error or error.str()
