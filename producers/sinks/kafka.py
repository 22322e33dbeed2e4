"""What all ways to a topic have in common: never more in the client's queue than it holds, no failure uncounted."""

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
from driftway.worker.errors import Failure

QUEUE_ROWS = 131_072
"""Messages in the client's queue: about 0.2 s of a fast replay; each costs it some 300 bytes beside its own. Only what
belongs to one row may be more: late labels, if so many are due at once."""

QUEUE_BYTES = 256 << 20
"""What the queued messages may weigh together; wide rows get a shorter queue."""

KEEP_SECONDS = 1.0
"""How often the position of a replay that can be resumed is kept; each time waits until the queue is empty."""

READY_SECONDS = 30.0
STOP_SECONDS = 10.0
"""How long a stopped replay waits for what it has already queued."""

Keep = Callable[[int], None]
"""Called with a position when every row before it has arrived."""


class KafkaSink(Sink):
    """Produces batches of values to a topic, late labels to theirs, idempotently; counts the deliveries that failed.

    Parameters
    ----------
    properties : mapping
        The user's client properties.
    topic : str
        Where to.
    partitions : int
        How many partitions the topic has.
    stop : StopRequest
        Ends every wait.
    partition : int or None
        All rows go to this one; None: row i to i mod `partitions`, or by the hash of its key.
    keep : Keep or None
        Called every `KEEP_SECONDS` and at the end, unless a delivery has failed by then.
    label_topic : str or None
        Where late labels go, a topic of as many partitions; None: where rows do.

    Raises
    ------
    UsageFailure
        A property that the replay owns, or that the client refuses.
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
        """How many partitions of a topic the client sees.

        Raises
        ------
        KafkaException
            The broker did not tell in time.
        """

    @abstractmethod
    def _queued(self) -> int:
        """How many messages wait for the broker's answer."""

    @abstractmethod
    def _poll(self, seconds: float) -> None:
        """Count answers, waiting for the first of them."""

    @abstractmethod
    def _flush(self, seconds: float) -> int:
        """Wait for answers; return how many are still missing."""

    @abstractmethod
    def _purge(self) -> None:
        """Let everything fail that waits."""

    def open(self) -> None:
        """Wait until the client sees all partitions, so that the first row already has a connection.

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
                raise Failure(f"topic {topic} shows {seen} of {self.partitions} partitions")
            try:
                seen = self._partition_count(topic, READY_SECONDS)
            except KafkaException as error:
                raise Failure(f"cannot read topic {topic}: {error.args[0].str()}") from None
            if seen != self.partitions:
                self._poll(0.05)

    def send(self, messages: Messages, due: Array | None = None) -> None:
        """Queue messages, each to its topic; only after `wait_for_capacity` has said yes."""
        if self.label_topic is None or messages.is_label is None:
            self._produce(self.topic, messages, due)
            return
        for topic, places in (
            (self.topic, np.flatnonzero(~messages.is_label)),
            (self.label_topic, np.flatnonzero(messages.is_label)),
        ):
            if len(places):
                self._produce(topic, messages.select(places), None if due is None else due[places])

    def wait_for_capacity(self, messages: int, message_bytes: int) -> bool:
        """Wait until the queue takes `messages` more of at most `message_bytes` each; False if stopped before."""
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
        """Sleep, for 0.1 s at most, so that a stop is noticed; a single wait, not a loop over poll."""
        self._maybe_commit()
        self._poll(0)
        time.sleep(min(seconds, MAX_IDLE_SECONDS))

    def finish(self) -> None:
        """Wait for the broker's answers; what stays unanswered after a stop counts as an error."""
        if self._drain():
            self._save_position()

    def _drain(self) -> bool:
        """Wait for the broker's answers; False if they were given up after a stop."""
        given_up = None
        while left := self._flush(0.2):
            if (self.stop.requests or self.fatal) and given_up is None:
                given_up = time.monotonic() + STOP_SECONDS
            if self.stop.requests > 1 or (given_up is not None and time.monotonic() > given_up):
                self.first_error = self.first_error or f"{left} messages were given up when stopped"
                self._purge()
                # Purging reports each message as failed, through `_failed` and inside this very call; a sum on
                # one line would read the count before that and write it back after.
                unreported = self._flush(1.0)
                self.errors += unreported
                return False
        return True

    def _maybe_commit(self) -> None:
        """Keep the position, if it is time."""
        if self._keep is None or self._position == self._kept or time.monotonic() < self._kept_at + KEEP_SECONDS:
            return
        while self._flush(0.2):
            if self.stop.requests or self.fatal:
                return
        self._save_position()

    def _save_position(self) -> None:
        """Keep the position, now that the broker has answered for each row before it.

        After a failed delivery the position stays where it was: from there on not everything has arrived.
        """
        self._kept_at = time.monotonic()
        if self._keep is not None and self._position is not None and not self.errors:
            self._keep(self._position)
            self._kept = self._position

    def _fatal_error(self, error: Any) -> None:
        """Nothing can be sent any more."""
        self.fatal = True
        self.first_error = self.first_error or error.str()
