"""One partition of a topic as a read_committed reader sees it, piece by piece."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from confluent_kafka import Consumer

from driftway.worker.kafka.client_config import ClientConfig, Properties
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.log_reader.reader import (
    ASK_SECONDS,
    POLL_SECONDS,
    MessageReader,
    error_handler,
    open_reader,
    watermarks,
)

PATIENCE_SECONDS = 10.0
"""How long an open transaction is waited for: a commit's markers reach the topics a moment after its offset."""
TUNING: Properties = {
    "fetch.wait.max.ms": 10,
    # As in driftway.worker.stream.consumer.partition_consumer: with the default back-off of 1 s a reader that drains
    # its queue waits.
    "fetch.queue.backoff.ms": 5,
    # Five of these clients are open at a time, and each is read no faster than the slowest.
    "queued.min.messages": 20_000,
    "queued.max.messages.kbytes": 16_384,
}


def reader_of(config: ClientConfig) -> Consumer:
    """A client of the group that is no member, with small queues."""
    return open_reader(config, tuning=TUNING)


class MessageStream:
    """The records of one partition, by default from its log's start, for a ``with`` block.

    Parameters
    ----------
    config : ClientConfig
        Broker, group and client properties.
    topic, partition
        What is read.
    end : int
        Where to stop.
    first : int or None
        Where to begin.
    """

    def __init__(self, config: ClientConfig, topic: str, partition: int, end: int, first: int | None = None) -> None:
        self.topic = topic
        self.partition = partition
        self._bootstrap = config.bootstrap
        self._reader = reader_of(config)
        self.low, self.high = watermarks(self._reader, topic, partition, Deadline(ASK_SECONDS))
        self.end = end
        self._buffer: list[Any] = []
        place, lost = (topic, partition), f"{self} has lost its beginning while it was read: run this again"
        begin = self.low if first is None else first
        self._reading = MessageReader(self._reader, {place: begin}, {place: end}, error_handler(str(self), lost))
        self._over = not self._reading.unread

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._reader.close()

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}"

    def peek(self, n: int) -> list[Any]:
        """The next n messages, fewer only where the stream is over.

        Raises
        ------
        Failure
            The broker refuses this reader, or the log loses its beginning meanwhile.
        Unreachable
            The broker delivers nothing any more.
        """
        while len(self._buffer) < n and not self._over:
            self._fetch()
        return self._buffer[:n]

    def drop(self, n: int) -> None:
        """Go past the next n messages."""
        del self._buffer[:n]

    def _fetch(self) -> None:
        reading = self._reading
        self._buffer += reading.poll(POLL_SECONDS)
        self._over = not reading.unread or (reading.done and reading.silent_seconds > PATIENCE_SECONDS)
        if not self._over:
            reading.require_progress(self._bootstrap, str(self))
