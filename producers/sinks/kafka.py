"""What the sinks for topics share: they bound the client's queue and count every failed delivery."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from driftway.producers.messages import Messages
from driftway.producers.sinks.properties import check_owned
from driftway.producers.sinks.sink import MAX_IDLE_SECONDS, Sink, StopRequest
from driftway.producers.streams.stream import Array
from driftway.worker.errors import Failure, plural

QUEUE_ROWS = 131_072
"""Most messages in the client's queue: about 0.2 s of a fast replay, at some 300 bytes of overhead each. Only the
messages of a single row may exceed it: delayed labels, if so many are due at once."""

QUEUE_BYTES = 256 << 20
"""Most bytes of all queued messages; wide rows get a shorter queue."""

KEEP_SECONDS = 1.0
"""Interval at which a resumable replay saves its position; each save waits until the queue is empty."""

READY_SECONDS = 30.0
STOP_SECONDS = 10.0
"""How long a stopped replay waits for what it has already queued."""

Keep = Callable[[int], None]
"""Called with a position once every row before it has arrived."""


class KafkaSink(Sink):
    """Idempotently produces rows and delayed labels to their topics, in batches, and counts failed deliveries.

    Parameters
    ----------
    properties : mapping
        The user's client properties.
    topic : str
        Topic to write to.
    partitions : int
        Number of partitions of the topic.
    stop : StopRequest
        Ends every wait.
    partition : int or None
        Partition for all rows; None: row i goes to i mod `partitions`, or by the hash of its key.
    keep : Keep or None
        Saves the position; called every `KEEP_SECONDS` and at the end, until a delivery fails.
    label_topic : str or None
        Topic of delayed labels, with as many partitions; None: the rows' topic.

    Raises
    ------
    UsageFailure
        The replay owns a property, or the client refuses it.
    """

    def __init__(
        self,
        properties: Mapping[str, Any],
        topic: str,
        partitions: int,
        stop: StopRequest,
        *,
        partition: int | None = None,
        keep: Keep | None = None,
        label_topic: str | None = None,
    ) -> None:
        super().__init__(stop)
        check_owned(properties)
        self.topic = topic
        self.label_topic = label_topic
        self.partitions = partitions
        self.fatal = False
        self._partition = 0 if partitions == 1 else partition
        self._keep = keep
        self._position: int | None = None
        self._kept: int | None = None
        self._kept_at = time.monotonic()

    @abstractmethod
    def _produce(self, topic: str, messages: Messages, due: Array | None) -> None:
        """Queue messages to one topic: row i to partition i mod `partitions`, or, with keys, by the client's hash."""

    @abstractmethod
    def _partition_count(self, topic: str, seconds: float) -> int:
        """Number of partitions of a topic that the client sees.

        Raises
        ------
        KafkaException
            The broker did not respond in time.
        """

    @abstractmethod
    def _queued(self) -> int:
        """Number of messages without a delivery report."""

    @abstractmethod
    def _poll(self, seconds: float) -> None:
        """Process delivery reports; wait at most `seconds` for the first one."""

    @abstractmethod
    def _flush(self, seconds: float) -> int:
        """Wait for delivery reports; return how many are still missing."""

    @abstractmethod
    def _purge(self) -> None:
        """Fail all messages without a delivery report."""

    def open(self) -> None:
        """Wait until the client sees all partitions, so that the first row finds an open connection.

        Raises
        ------
        Failure
            They did not appear within 30 s.
        """
        self._await_partitions(self.topic)
        if self.label_topic is not None:
            self._await_partitions(self.label_topic)

    def _await_partitions(self, topic: str) -> None:
        from confluent_kafka import KafkaException

        deadline = time.monotonic() + READY_SECONDS
        seen = 0
        while seen != self.partitions:
            if time.monotonic() > deadline:
                raise Failure(f"topic {topic} shows {seen} of {plural(self.partitions, 'partition')}")
            try:
                seen = self._partition_count(topic, READY_SECONDS)
            except KafkaException as error:
                raise Failure(f"cannot read topic {topic}: {error.args[0].str()}") from None
            if seen != self.partitions:
                self._poll(0.05)

    def send(self, messages: Messages, due: Array | None = None) -> None:
        """Queue messages, each to its topic; call only after `wait_for_capacity` has returned True."""
        if self.label_topic is None or messages.is_label is None:
            self._produce(self.topic, messages, due)
            return
        for topic, indices in (
            (self.topic, np.flatnonzero(~messages.is_label)),
            (self.label_topic, np.flatnonzero(messages.is_label)),
        ):
            if len(indices):
                self._produce(topic, messages.select(indices), None if due is None else due[indices])

    def wait_for_capacity(self, messages: int, message_bytes: int) -> bool:
        """Wait until the queue has room for `messages` more of at most `message_bytes` each; False if stopped."""
        window = max(messages, min(QUEUE_ROWS, QUEUE_BYTES // max(1, message_bytes)))
        self._poll(0)
        while self._queued() + messages > window:
            if self.stop.requests or self.fatal:
                return False
            self._poll(0.05)
        return not (self.stop.requests or self.fatal)

    def sent_until(self, position: int) -> None:
        self._position = position
        self._maybe_commit()

    def idle(self, seconds: float) -> None:
        """Sleep, at most 0.1 s so that a stop is noticed, in a single wait instead of a loop over poll."""
        self._maybe_commit()
        self._poll(0)
        time.sleep(min(seconds, MAX_IDLE_SECONDS))

    def finish(self) -> None:
        """Wait for the delivery reports; a message still without one after a stop counts as an error."""
        if self._drain():
            self._save_position()

    def _drain(self) -> bool:
        """Wait for the delivery reports; return False if the rest was given up after a stop."""
        deadline = None
        while left := self._flush(0.2):
            if (self.stop.requests or self.fatal) and deadline is None:
                deadline = time.monotonic() + STOP_SECONDS
            if self.stop.requests > 1 or (deadline is not None and time.monotonic() > deadline):
                self.first_error = (
                    self.first_error or f"{plural(left, 'message was given up', 'messages were given up')} when stopped"
                )
                self._purge()
                # This flush reports each purged message as failed, which adds to `errors` during the call; with
                # `self.errors += self._flush(1.0)` the count read before the call would overwrite that.
                unreported = self._flush(1.0)
                self.errors += unreported
                return False
        return True

    def _maybe_commit(self) -> None:
        """Save the position, if that is due."""
        if self._keep is None or self._position == self._kept or time.monotonic() < self._kept_at + KEEP_SECONDS:
            return
        while self._flush(0.2):
            if self.stop.requests or self.fatal:
                return
        self._save_position()

    def _save_position(self) -> None:
        """Save the position, now that every row before it has been reported.

        After a failed delivery the saved position no longer advances, because rows behind it are missing.
        """
        self._kept_at = time.monotonic()
        if self._keep is not None and self._position is not None and not self.errors:
            self._keep(self._position)
            self._kept = self._position

    def _fatal_error(self, error: Any) -> None:
        """Record that nothing can be sent any more."""
        self.fatal = True
        self.first_error = self.first_error or error.str()
