"""A bounded part of one partition as columns, with either client."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np
from confluent_kafka import KafkaError

from driftway.worker.kafka.client_config import ClientConfig
from driftway.worker.kafka.client_factory import make_fetcher
from driftway.worker.kafka.consumer_columns import BATCH_MESSAGES
from driftway.worker.kafka.deadline import Deadline
from driftway.worker.kafka.interface import Fetcher
from driftway.worker.kafka.log_reader.reader import (
    ASK_SECONDS,
    POLL_SECONDS,
    BoundedRead,
    ErrorHandler,
    PartitionId,
    error_handler,
    reader_properties,
    watermarks,
)
from driftway.worker.kafka.log_reader.stream import TUNING, Readers, lent_reader
from driftway.worker.wire.columns import BytesColumn, Integers, concatenated, empty_column
from driftway.worker.wire.events import Records
from driftway.worker.wire.headers import Header, Headers, eager_headers, joined_headers


class RecordReader(BoundedRead):
    """Reads a bounded part of one partition as columns.

    Parameters
    ----------
    fetcher : Fetcher
        A fetcher of the topic.
    topic_partition : PartitionId
        Partition to read.
    first, end : int
        Offset of the first record, and of the first record to leave out.
    on_error : ErrorHandler
        Called with errors.
    """

    def __init__(
        self, fetcher: Fetcher, topic_partition: PartitionId, first: int, end: int, on_error: ErrorHandler
    ) -> None:
        super().__init__({topic_partition: first}, {topic_partition: end}, on_error)
        self._fetcher, self._topic_partition, self._end = fetcher, topic_partition, end
        if self.unread:
            fetcher.assign({topic_partition[1]: first})

    def poll(self, seconds: float, max_messages: int = BATCH_MESSAGES) -> Records | None:
        """Return up to `max_messages` records after waiting up to `seconds` for the first; None if there are none."""
        found, problems = self._fetcher.poll(max_messages, seconds)
        now, last = time.monotonic(), -1
        own = next((records for records in found if records.partition == self._topic_partition[1]), None)
        if own is not None:
            last = int(own.offsets[-1])
            if not self._note_record(self._topic_partition, last, now):
                own = own.before(int(own.offsets.searchsorted(self._end)))
        for problem in problems:
            # An end of the log below the records of this poll is outdated, in whichever order they were delivered.
            if problem.error.code() != KafkaError._PARTITION_EOF or (problem.offset or 0) > last:
                self._note_error(self._topic_partition, problem.offset, problem.error, now)
        return own if own is not None and len(own) else None


class RecordColumns(NamedTuple):
    """Records without rarely used columns such as timestamps."""

    offsets: Integers
    keys: BytesColumn
    values: BytesColumn
    headers: Headers | None = None
    """As in `Records`, but None if they were not requested."""

    def between(self, start: int, end: int | None = None) -> RecordColumns:
        """Return the records from index `start` to before `end`."""
        headers = None if self.headers is None else self.headers[start:end]
        return RecordColumns(self.offsets[start:end], self.keys[start:end], self.values[start:end], headers)

    def followed_by(self, records: Records) -> RecordColumns:
        """Return these records with others appended."""
        offsets, values = np.concatenate([self.offsets, records.offsets]), concatenated([self.values, records.values])
        both = (self.headers, len(self.offsets)), (eager_headers(records.headers), len(records))
        return RecordColumns(offsets, concatenated([self.keys, records.keys]), values, joined_headers(both))


class RecordView:
    """One record, with the methods of confluent-kafka's messages."""

    def __init__(self, columns: RecordColumns, i: int) -> None:
        self._columns, self._i = columns, i

    def offset(self) -> int:
        """See `confluent_kafka.Message`."""
        return int(self._columns.offsets[self._i])

    def key(self) -> bytes | None:
        """See `confluent_kafka.Message`."""
        return self._columns.keys[self._i]

    def value(self) -> bytes | None:
        """See `confluent_kafka.Message`."""
        return self._columns.values[self._i]

    def headers(self) -> Sequence[Header]:
        """See `confluent_kafka.Message`; empty if headers were not requested."""
        return () if self._columns.headers is None else self._columns.headers[self._i]


class RecordStream:
    """The records of one partition, as a read_committed reader sees them.

    For a ``with`` block.

    Parameters
    ----------
    config : ClientConfig
        Broker, group and client properties.
    client : str
        PYTHON or NATIVE.
    topic, partition
        Partition to read.
    end : int
        Offset of the first record to leave out.
    headers : bool
        Whether to deliver headers.
    first : int or None
        Offset of the first record; None for the start of the log.
    readers : Readers or None
        Lends a consumer to ask for the ends of the log; without it, one is made.
    """

    def __init__(
        self,
        config: ClientConfig,
        client: str,
        topic: str,
        partition: int,
        end: int,
        headers: bool = False,
        first: int | None = None,
        readers: Readers | None = None,
    ) -> None:
        self.topic, self.partition, self.end = topic, partition, end
        self._bootstrap = config.bootstrap
        with lent_reader(config, readers) as asking:
            self.low, self.high = watermarks(asking, topic, partition, Deadline(ASK_SECONDS))
        self._fetcher = make_fetcher(client, reader_properties(config, tuning=TUNING), topic, headers)
        begin = self.low if first is None else first
        self._reading = RecordReader(self._fetcher, (topic, partition), begin, end, error_handler(str(self)))
        self._over = not self._reading.unread
        self._buffer = RecordColumns(np.empty(0, np.int64), empty_column(), empty_column())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._fetcher.close()

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}"

    def take(self, max_messages: int = BATCH_MESSAGES) -> Records | None:
        """Return the next records that are not buffered yet, at most `max_messages`; None at the end of the stream.

        Raises
        ------
        Failure
            The broker refuses this reader, or the log no longer holds the next record.
        Unreachable
            The broker has stopped delivering.
        """
        found = None
        while found is None and not self._over:
            found = self._reading.poll(POLL_SECONDS, max_messages)
            self._over = self._reading.is_over(self._bootstrap, str(self))
        return found

    def columns(self, n: int) -> RecordColumns:
        """Return the next n records without consuming them, fewer only at the end of the stream; raises as `take`."""
        while len(self._buffer.offsets) < n and (more := self.take()) is not None:
            self._buffer = self._buffer.followed_by(more)
        return self._buffer.between(0, n)

    def peek(self, n: int) -> list[RecordView]:
        """Return the same as a list of single records."""
        found = self.columns(n)
        return [RecordView(found, i) for i in range(len(found.offsets))]

    def drop(self, n: int) -> None:
        """Consume n records that `columns` or `peek` has returned."""
        self._buffer = self._buffer.between(n)
