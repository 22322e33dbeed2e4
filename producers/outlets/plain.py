"""The producer of a replay: batches out, in order, never more than the client's queue holds."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from producers.latency import Latencies
from producers.messages import Messages
from producers.outlet import LONGEST_REST_SECONDS, Outlet, Stop
from producers.producer_properties import QUEUE_ROWS, check_owned, producer_properties
from producers.streams.stream import Array
from producers.streams.truth import headers_of
from worker.errors import Failure, UsageFailure

QUEUE_BYTES = 256 << 20
"""What the queued messages may weigh together; wide rows get a shorter queue."""

KEEP_SECONDS = 1.0
"""How often the position of a replay that can be resumed is kept; each time waits until the queue is empty."""

READY_SECONDS = 30.0
STOP_SECONDS = 10.0
"""How long a stopped replay waits for what it has already queued."""

Keep = Callable[[int], None]
"""Called with a position when every row before it has arrived."""


class Sender(Outlet):
    """Produces batches of values to one topic, idempotently, and counts the deliveries that failed.

    The callback is attached to every message inside the client's C code and called for failures only
    (`delivery.report.only.error`), so nothing runs in Python for a message that arrives; with `latencies` a call
    for each does.

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
    partition : int or None
        All rows go to this one; None: row i to i mod `partitions`, or by the hash of its key.
    latencies : Latencies or None
        Where to count from due to acknowledged.
    keep : Keep or None
        Called every `KEEP_SECONDS` and at the end, unless a delivery has failed by then.
    own : mapping
        Further properties, which win.

    Raises
    ------
    UsageFailure
        A property that the replay owns, or that the client refuses.
    """

    def __init__(
        self,
        bootstrap: str,
        properties: Mapping[str, Any],
        topic: str,
        partitions: int,
        stop: Stop,
        *,
        partition: int | None = None,
        latencies: Latencies | None = None,
        keep: Keep | None = None,
        own: Mapping[str, Any] | None = None,
    ) -> None:
        from confluent_kafka import KafkaException, Producer

        super().__init__(stop)
        check_owned(properties)
        self.topic = topic
        self.partitions = partitions
        self.fatal = False
        self._partition = partition
        self._latencies = latencies
        self._keep = keep
        self._position: int | None = None
        self._kept: int | None = None
        self._kept_at = time.monotonic()
        must = {"delivery.report.only.error": latencies is None, "on_delivery": self._failed, **(own or {})}
        try:
            self._producer = Producer(producer_properties(bootstrap, properties, must))
        except KafkaException as error:
            raise UsageFailure(f"client property refused: {error.args[0].str()}") from None

    def open(self) -> None:
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

    def send(self, messages: Messages, due: Array | None = None) -> None:
        """Queue messages; at most `QUEUE_ROWS`, and only after `room` has said yes.

        Without keys row i goes to partition i mod `partitions`. With keys the client hashes the key.
        """
        fields: list[dict[str, Any]]
        if messages.keys is None:
            fields = [{"value": value} for value in messages.values]
        else:
            fields = [{"value": v, "key": k} for v, k in zip(messages.values, messages.keys, strict=True)]
        if self._latencies is not None and due is not None:
            for field, moment in zip(fields, due.tolist(), strict=True):
                field["callback"] = partial(self._answered, moment)
            self._latencies.tidy()
        if messages.times is not None:
            for field, at in zip(fields, messages.times, strict=True):
                field["timestamp"] = at
        if messages.truth is not None:
            for field, headers in zip(fields, headers_of(messages.truth[messages.by_row()]), strict=True):
                field["headers"] = headers
        single = messages.times is not None or messages.truth is not None
        together = 0 if self.partitions == 1 else self._partition
        if together is not None or messages.keys is not None:
            self._queue(fields, -1 if together is None else together, single)
            return
        # One call per partition: the batch call of this client ignores a message's own partition.
        for partition, share in messages.shares(self.partitions):
            self._queue([fields[i] for i in share], partition, single)

    def room(self, messages: int, message_bytes: int) -> bool:
        """Wait until the queue takes `messages` more of at most `message_bytes` each; False if stopped before."""
        window = max(messages, min(QUEUE_ROWS, QUEUE_BYTES // max(1, message_bytes)))
        self._poll(0)
        while len(self._producer) + messages > window:
            if self.stop.requests or self.fatal:
                return False
            self._poll(0.05)
        return not (self.stop.requests or self.fatal)

    def reached(self, position: int) -> None:
        self._position = position
        self._tend()

    def rest(self, seconds: float) -> None:
        """Sleep, for 0.1 s at most, so that a stop is noticed; a single wait, not a loop over poll."""
        self._tend()
        if self._latencies is not None:
            # An answer is noted when it comes, not when the sleep is over; `poll` returns after each.
            self._poll(min(seconds, LONGEST_REST_SECONDS))
            return
        self._poll(0)
        time.sleep(min(seconds, LONGEST_REST_SECONDS))

    def finish(self) -> None:
        """Wait for the broker's answers; what stays unanswered after a stop counts as an error."""
        if self._drain():
            self._keep_position()

    def _drain(self) -> bool:
        """Wait for the broker's answers; False if they were given up after a stop."""
        given_up = None
        while left := self._flush(0.2):
            if (self.stop.requests or self.fatal) and given_up is None:
                given_up = time.monotonic() + STOP_SECONDS
            if self.stop.requests > 1 or (given_up is not None and time.monotonic() > given_up):
                self.first_error = self.first_error or f"{left} messages were given up when stopped"
                self._producer.purge()
                # Purging reports each message as failed, through `_failed` and inside this very call; a sum on
                # one line would read the count before that and write it back after.
                unreported = self._flush(1.0)
                self.errors += unreported
                return False
        return True

    def _tend(self) -> None:
        """Keep the position, if it is time."""
        if self._keep is None or self._position == self._kept or time.monotonic() < self._kept_at + KEEP_SECONDS:
            return
        while self._flush(0.2):
            if self.stop.requests or self.fatal:
                return
        self._keep_position()

    def _keep_position(self) -> None:
        """Keep the position, now that the broker has answered for each row before it.

        After a failed delivery the position stays where it was: from there on not everything has arrived.
        """
        self._kept_at = time.monotonic()
        if self._keep is not None and self._position is not None and not self.errors:
            self._keep(self._position)
            self._kept = self._position

    def _queue(self, messages: list[dict[str, Any]], partition: int, single: bool) -> None:
        """Hand messages to the client; `single` where they have what its batch call leaves out."""
        from confluent_kafka import KafkaError

        if single:
            self._queue_singly(messages, partition)
            return
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

    def _queue_singly(self, messages: list[dict[str, Any]], partition: int) -> None:
        from confluent_kafka import KafkaError, KafkaException

        for message in messages:
            called = {"on_delivery": message.pop("callback")} if "callback" in message else {}
            try:
                self._producer.produce(self.topic, partition=partition, **message, **called)
            except KafkaException as refused:
                error = refused.args[0]
                self.fatal = self.fatal or error.code() == KafkaError._FATAL
                self._failed(error, None)

    def _poll(self, seconds: float) -> None:
        """Let callbacks run, waiting for the first of them."""
        with self._fatality():
            self._producer.poll(seconds)

    def _flush(self, seconds: float) -> int:
        """Wait for answers; return how many are still missing."""
        with self._fatality():
            self._producer.flush(seconds)
        return len(self._producer)

    @contextlib.contextmanager
    def _fatality(self) -> Iterator[None]:
        """Take note of a fatal error, which the client raises from whatever call comes next."""
        from confluent_kafka import KafkaException

        try:
            yield
        except (KafkaException, SystemError) as failure:
            # SystemError: the client called back with its exception still set.
            cause = failure if isinstance(failure, KafkaException) else failure.__cause__
            if not isinstance(cause, KafkaException) or not cause.args[0].fatal():
                raise
            self._doomed(cause.args[0])

    def _doomed(self, error: Any) -> None:
        """Nothing can be sent any more."""
        self.fatal = True
        self.first_error = self.first_error or error.str()

    def _answered(self, due: float, error: Any, _message: object) -> None:
        if error is not None:
            self._failed(error, None)
        elif self._latencies is not None:
            self._latencies.note(time.monotonic() - due)

    def _failed(self, error: Any, _message: object) -> None:
        if error is None:
            return
        self.errors += 1
        self.first_error = self.first_error or error.str()
