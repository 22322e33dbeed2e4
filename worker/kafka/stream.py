"""One partition of a topic as a read_committed reader sees it, piece by piece."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka import admin as untyped

from worker.errors import Failure, Unreachable, UsageFailure
from worker.kafka.client import Link, Properties
from worker.kafka.deadline import Deadline
from worker.kafka.reader import open_reader, watermarks
from worker.kafka.verdicts import hopeless

api: Any = untyped  # its stubs do not export everything

BATCH_MESSAGES = 10_000
POLL_SECONDS = 0.1
ASK_SECONDS = 30.0
PATIENCE_SECONDS = 10.0
"""How long an open transaction is waited for: a commit's markers reach the topics a moment after its offset."""
SILENT_SECONDS = 60.0
"""How long a broker may deliver nothing, not even the end of the log, before it counts as gone."""
TUNING: Properties = {
    "fetch.wait.max.ms": 10,
    # As in worker.runtime.group.intake: with the default back-off of 1 s a reader that drains its queue waits.
    "fetch.queue.backoff.ms": 5,
    # Five of these clients are open at a time, and each is read no faster than the slowest.
    "queued.min.messages": 20_000,
    "queued.max.messages.kbytes": 16_384,
}


def reader_of(link: Link) -> Consumer:
    """A client of the group that is no member, with small queues.

    Raises
    ------
    UsageFailure
        A client property is not valid.
    """
    try:
        return open_reader(link, tuning=TUNING)
    except KafkaException as error:
        raise UsageFailure(f"client property refused: {error.args[0].str()}") from None


class Stream:
    """The records of one partition, by default from its log's start, for a ``with`` block.

    Parameters
    ----------
    link : Link
        Broker, group and client properties.
    topic, partition
        What is read.
    end : int
        Where to stop.
    first : int or None
        Where to begin.
    """

    def __init__(self, link: Link, topic: str, partition: int, end: int, first: int | None = None) -> None:
        self.topic = topic
        self.partition = partition
        self._bootstrap = link.bootstrap
        self._reader = reader_of(link)
        self.low, self.high = watermarks(self._reader, topic, partition, Deadline(ASK_SECONDS))
        self.end = end
        self._buffer: list[Any] = []
        begin = self.low if first is None else first
        self._over = begin >= self.end
        self._heard = time.monotonic()
        self._at_end = False
        if not self._over:
            self._reader.assign([TopicPartition(topic, partition, begin)])

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
        first = self._reader.poll(POLL_SECONDS)
        messages = [] if first is None else [first, *self._reader.consume(BATCH_MESSAGES - 1, timeout=0)]
        for message in messages:
            offset = message.offset() or 0
            error = message.error()
            if error is None:
                self._heard, self._at_end = time.monotonic(), False
                if offset < self.end:
                    self._buffer.append(message)
                self._over = self._over or offset >= self.end - 1
            elif error.code() == KafkaError._PARTITION_EOF:
                self._heard = self._heard if self._at_end else time.monotonic()
                self._at_end = True
                self._over = self._over or offset >= self.end
            elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                raise Failure(f"{self} has lost its beginning while it was read: run this again")
            elif hopeless(error):
                raise Failure(f"cannot read {self}: {error.str()}")
        silent = time.monotonic() - self._heard
        if self._at_end and silent > PATIENCE_SECONDS:
            self._over = True
        elif silent > SILENT_SECONDS:
            raise Unreachable(f"the broker at {self._bootstrap} has delivered nothing of {self} for {silent:.0f} s")
