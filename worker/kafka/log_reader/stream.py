"""One partition of a topic as a read_committed reader sees it, read in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
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

TUNING: Properties = {
    "fetch.wait.max.ms": 10,
    # As in CONSUMER_TUNING: with the default back-off of 1 s a reader that drains its queue waits.
    "fetch.queue.backoff.ms": 5,
    # Five of these clients are open at a time, and the slowest sets the pace.
    "queued.min.messages": 20_000,
    "queued.max.messages.kbytes": 16_384,
}


def reader_of(config: ClientConfig) -> Consumer:
    """Create a consumer as `open_reader` does, with small queues."""
    return open_reader(config, tuning=TUNING)


class Readers:
    """Consumers that streams use one after the other; a new one would greet the broker anew.

    Parameters
    ----------
    config : ClientConfig
        Broker, group and client properties.
    """

    def __init__(self, config: ClientConfig) -> None:
        self._config = config
        self._idle: list[Consumer] = []

    @contextmanager
    def lent(self) -> Iterator[Consumer]:
        """Lend a consumer that nobody uses, a new one if there is none; it comes back without its partitions."""
        reader = self._idle.pop() if self._idle else reader_of(self._config)
        try:
            yield reader
        finally:
            reader.unassign()
            self._idle.append(reader)

    def close(self) -> None:
        """Close those that have been given back."""
        while self._idle:
            self._idle.pop().close()


@contextmanager
def lent_reader(config: ClientConfig, readers: Readers | None) -> Iterator[Consumer]:
    """Lend a consumer of `readers`; without them make one, and close it at the end."""
    with ExitStack() as stack:
        yield stack.enter_context((readers or stack.enter_context(closing(Readers(config)))).lent())


class MessageStream:
    """The records of one partition, for a ``with`` block.

    Parameters
    ----------
    config : ClientConfig
        Broker, group and client properties.
    topic, partition
        Partition to read.
    end : int
        Offset of the first record to leave out.
    first : int or None
        Offset of the first record; None for the start of the log.
    readers : Readers or None
        Lends the consumer; without it, the stream has its own.
    """

    def __init__(
        self,
        config: ClientConfig,
        topic: str,
        partition: int,
        end: int,
        first: int | None = None,
        readers: Readers | None = None,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.first = first
        self._bootstrap = config.bootstrap
        self._lent = lent_reader(config, readers)
        self._reader = self._lent.__enter__()
        self.low, self.high = watermarks(self._reader, topic, partition, Deadline(ASK_SECONDS))
        begin = self.low if first is None else first
        self.lost = begin == self.low > 0
        """Whether records before the first one may have been deleted."""
        self.end = end
        self._buffer: list[Any] = []
        topic_partition = topic, partition
        self._reading = MessageReader(
            self._reader, {topic_partition: begin}, {topic_partition: end}, error_handler(str(self))
        )
        self._over = not self._reading.unread

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lent.__exit__(kind, error, trace)

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}"

    def peek(self, n: int) -> list[Any]:
        """Return the next n messages without consuming them, fewer only at the end of the stream.

        Raises
        ------
        Failure
            The broker refuses this reader, or the log no longer holds the next record.
        Unreachable
            The broker has stopped delivering.
        """
        while len(self._buffer) < n and not self._over:
            self._buffer += self._reading.poll(POLL_SECONDS)
            self._over = self._reading.is_over(self._bootstrap, str(self))
        return self._buffer[:n]

    def drop(self, n: int) -> None:
        """Consume n messages that `peek` has returned."""
        del self._buffer[:n]
