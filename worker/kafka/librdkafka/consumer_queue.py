"""A consumer's queue: fetched messages become columns without a Python object per message."""

from __future__ import annotations

import ctypes
from collections.abc import Collection
from typing import Any
from weakref import WeakSet

import numpy as np
from confluent_kafka import KafkaError

from driftway.worker.kafka.consumer_columns import TURN_MESSAGES
from driftway.worker.kafka.interface import ClientError, PollResult
from driftway.worker.kafka.librdkafka.handle import Handle, consume_batch
from driftway.worker.kafka.librdkafka.headers import HeaderReader, HeldMessages
from driftway.worker.kafka.librdkafka.library import Library
from driftway.worker.kafka.librdkafka.message import (
    ERROR,
    KEY,
    KEY_LENGTH,
    LENGTH,
    OFFSET,
    PARTITION,
    PAYLOAD,
    WORDS,
    Rows,
    destroy,
    gather,
    group,
    read,
    stamp,
)
from driftway.worker.wire.columns import END, SPARE, TAIL, BufferColumn, Integers, TerminatedColumn, Text, read_only
from driftway.worker.wire.events import Records
from driftway.worker.wire.headers import LazyHeaders

MAX_BYTES = 32 * 2**20
"""Bytes of values and keys that a poll copies, beyond its first message. What the library holds is not copied before
its turn: a fetch of well compressed batches may hold gigabytes."""


class ConsumerQueue:
    """The queue of a consumer.

    Parameters
    ----------
    library : Library
        The functions.
    handle : Handle
        The consumer.
    lasting : bool
        Whether columns stay valid; if not, the next poll overwrites the buffer of their values.
    headers : bool
        Whether to read headers at once, and not only on access.

    Raises
    ------
    KafkaException
        The client does not allow its main queue to be redirected to the consumer queue.
    """

    def __init__(self, library: Library, handle: Handle, lasting: bool = False, headers: bool = False) -> None:
        library.require(library.poll_set_consumer(handle.address))
        self._library, self._lasting = library, lasting
        self._queue = library.queue_get_consumer(handle.address)
        self._pointers = np.empty(TURN_MESSAGES, np.int64)
        self._waiting: Integers = np.empty(0, np.int64)
        """Addresses of messages that are taken and not copied yet."""
        self._rows = np.empty((TURN_MESSAGES, WORDS), np.int64)
        self._text: Text = np.empty(0, np.uint8)
        self._kind = np.zeros(1, np.int64)
        self._destroy, self._stamp = library.address("message_destroy"), library.address("message_timestamp")
        self._headers, self._eager = HeaderReader(library), headers
        self._held = WeakSet[HeldMessages]()
        """Messages that records still refer to."""

    def poll(self, max_messages: int, wait: float) -> PollResult:
        """Copy messages out of the library's memory: at most `max_messages`, after waiting for the first.

        The messages themselves are kept until their records are dropped, since a rejection has its record's headers.
        """
        waiting = len(self._waiting)
        # Asked even if enough is waiting: the library's callbacks run inside, and may drop what waits.
        timeout = 0.0 if waiting else wait
        n = consume_batch(self._library, self._queue, self._pointers[: max(1, max_messages - waiting)], timeout)
        taken = np.concatenate([self._waiting, self._pointers[:n]]) if waiting else self._pointers[:n]
        fits = self._fitting(taken[:max_messages])
        pointers, self._waiting = taken[:fits], taken[fits:].copy()
        if self._eager:
            try:
                return self._columns(pointers, None)
            finally:
                destroy(pointers, self._destroy)
        held = HeldMessages(pointers.copy(), self._headers, self._destroy)
        self._held.add(held)
        return self._columns(pointers, LazyHeaders.of(held.read, fits))

    def _fitting(self, pointers: Integers) -> int:
        """Read messages; return how many of them have at most MAX_BYTES together, at least one."""
        rows = self._rows[: len(pointers)]
        read(pointers, rows)
        sizes = rows[:, LENGTH] + rows[:, KEY_LENGTH]
        if int(sizes.sum()) <= MAX_BYTES:
            return len(pointers)
        return max(1, int(np.cumsum(sizes).searchsorted(MAX_BYTES, "right")))

    def drop(self, partitions: Collection[int] | None = None) -> None:
        """Drop messages that wait, of some partitions, or of all: they are about to be read from elsewhere."""
        if len(self._waiting):
            rows = np.empty((len(self._waiting), WORDS), np.int64)
            read(self._waiting, rows)
            chosen = np.isin(rows[:, PARTITION], list(partitions)) if partitions is not None else rows[:, LENGTH] >= 0
            destroy(self._waiting[chosen], self._destroy)
            self._waiting = self._waiting[~chosen]

    def close(self) -> None:
        """Release the queue and all messages, before the consumer is closed."""
        for held in tuple(self._held):
            held.release()
        self.drop()
        self._library.queue_destroy(self._queue)

    def _columns(self, pointers: Integers, lazy: LazyHeaders | None) -> PollResult:
        n = len(pointers)
        rows, (order, partitions, ends, scratch) = self._rows[:n], np.empty((4, n), np.int64)
        stamps = np.empty(n, np.int64)
        stamp(pointers, self._stamp, self._kind.ctypes.data, stamps)
        found = group(rows, order, partitions, ends, scratch)
        room = int(rows[:, LENGTH].sum()) + n * len(END) + found * SPARE
        if self._lasting:
            self._text = np.empty(room, np.uint8)
        elif len(self._text) < room or len(self._text) > 2 * max(room, MAX_BYTES):
            self._text = np.empty(room + room // 4, np.uint8)
        records, first, q = list[Records](), 0, 0
        for partition, end in zip(partitions[:found].tolist(), ends[:found].tolist(), strict=True):
            chosen = order[first:end]
            values, q = values_of(rows, chosen, self._text, q)
            headers = self._headers.read(pointers[chosen]) if lazy is None else lazy.picked(chosen)
            columns = rows[chosen, OFFSET], values, keys_of(rows, chosen), stamps[chosen], headers
            epoch = int(self._library.message_leader_epoch(int(pointers[chosen[-1]])))
            records.append(Records(partition, *columns, epoch=None if epoch < 0 else epoch))
            first = end
        return PollResult(records, [_client_error(row) for row in rows[rows[:, ERROR] != 0]] if first < n else [])


def values_of(rows: Rows, chosen: Integers, text: Text, start: int) -> tuple[TerminatedColumn, int]:
    """Copy payloads to a buffer from `start` on; return them as a column, and the position after them."""
    starts, lengths = np.empty(len(chosen), np.int64), np.empty(len(chosen), np.int64)
    end = start + gather(rows, chosen, PAYLOAD, len(END), text[start:], starts, lengths)
    text[end : end + SPARE] = np.frombuffer(TAIL, np.uint8)
    return TerminatedColumn(read_only(text[start : end + SPARE]), starts, lengths), end + SPARE


def keys_of(rows: Rows, chosen: Integers) -> BufferColumn:
    """Copy keys to a buffer of their own, because outputs that are held back still refer to them."""
    starts, lengths = np.empty(len(chosen), np.int64), np.empty(len(chosen), np.int64)
    text = np.empty(int(rows[chosen, KEY_LENGTH].sum()), np.uint8)
    gather(rows, chosen, KEY, 0, text, starts, lengths)
    return BufferColumn(text, starts, lengths)


def _client_error(row: Any) -> ClientError:
    code, offset = int(row[ERROR]), int(row[OFFSET])
    if not row[PAYLOAD]:
        return ClientError(KafkaError(code), int(row[PARTITION]), offset)
    reason = ctypes.string_at(int(row[PAYLOAD]), int(row[LENGTH])).decode(errors="replace")
    return ClientError(KafkaError(code, reason), int(row[PARTITION]), offset)
