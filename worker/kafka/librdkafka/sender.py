"""A sender based on the C library: a batch is one call, and delivery reports are processed without the interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from confluent_kafka import KafkaError, KafkaException

from driftway.worker.kafka.error_handling import DeliveryFailed, reported_fatal_error, with_topic
from driftway.worker.kafka.interface import OffsetRange, Offsets, Sender
from driftway.worker.kafka.librdkafka.handle import Handle, TopicPartitionList, milliseconds
from driftway.worker.kafka.librdkafka.headers import HeaderProducer
from driftway.worker.kafka.librdkafka.intrinsics import callback, load_word, store_word
from driftway.worker.kafka.librdkafka.library import COPY, PRODUCER, PURGE_IN_FLIGHT, PURGE_QUEUED, Library
from driftway.worker.kafka.librdkafka.message import (
    ERROR,
    KEY,
    OFFSET,
    OPAQUE,
    PAYLOAD,
    TOPIC,
    WORD_BYTES,
    WORDS,
    Rows,
    fill,
)
from driftway.worker.wire.columns import BytesColumn, ListColumn
from driftway.worker.wire.headers import Headers

MAX_TOPICS = 8
"""Topics that one sender can produce to."""
CODE, REFUSED, FIRST = 0, 1, 2
"""Words of the notes: the first error code and its topic's address; then each topic's first and last offset."""
NONE_YET = -1


@callback
def delivered(_handle: int, message: int, notes: int) -> None:
    """Process one report: a marked record's opaque word is the index of its topic's notes; it is 0 in all others."""
    code = np.int32(load_word(message + WORD_BYTES * ERROR))
    if code != 0:
        if load_word(notes + WORD_BYTES * CODE) == 0:
            store_word(notes + WORD_BYTES * CODE, int(code))
            store_word(notes + WORD_BYTES * REFUSED, load_word(message + WORD_BYTES * TOPIC))
        return
    index = load_word(message + WORD_BYTES * OPAQUE)
    if index != 0:
        offset = load_word(message + WORD_BYTES * OFFSET)
        if load_word(notes + WORD_BYTES * index) == NONE_YET:
            store_word(notes + WORD_BYTES * index, offset)
        store_word(notes + WORD_BYTES * (index + 1), offset)


class LibrdkafkaSender(Sender):
    """See `driftway.worker.kafka.interface.Sender`; a failed delivery of any record is noticed.

    Parameters
    ----------
    library : Library
        The functions.
    properties : mapping
        Client properties.
    partition : int
        Partition to produce to.

    Raises
    ------
    KafkaException
        A property is not valid.
    """

    def __init__(self, library: Library, properties: Mapping[str, Any], partition: int) -> None:
        self._library, self._partition = library, partition
        self._notes = np.zeros(FIRST + 2 * MAX_TOPICS, np.int64)
        self._notes[FIRST:] = NONE_YET
        self._indices: dict[str, int] = {}
        """Topic -> index of its first offset in the notes."""
        self._counts: dict[str, int] = {}
        self._handle = Handle(
            library, PRODUCER, properties, report=delivered(), opaque=self._notes.ctypes.data
        )  # after the notes, which its callback writes until it is closed

    def __del__(self) -> None:
        """Close the client and wait for its threads; no call of it can be running any more."""
        if (handle := getattr(self, "_handle", None)) is not None:
            handle.close()

    def __len__(self) -> int:
        return int(self._library.outq_len(self._handle.address))

    def load_metadata(self, topic: str, seconds: float) -> None:
        self._handle.known_topic(topic, milliseconds(seconds))

    def send(self, topic: str, values: BytesColumn, keys: BytesColumn, headers: Headers | None = None) -> None:
        n = len(values)
        if not n:
            return
        rows = np.zeros((n, WORDS), np.int64)
        text, starts, lengths = values.to_buffer()
        fill(rows, text.ctypes.data, starts, lengths, PAYLOAD)
        if not keys.all_none:
            names, starts, lengths = keys.to_buffer()
            fill(rows, names.ctypes.data, starts, lengths, KEY)
        first = topic not in self._counts
        index = self._count(topic, n)
        if first:
            rows[0, OPAQUE] = index
        rows[-1, OPAQUE] = index
        with with_topic(topic), reported_fatal_error(self):
            self._queue(topic, rows, headers)

    def _queue(self, topic: str, rows: Rows, headers: Headers | None) -> None:
        library, address, n = self._library, self._handle.topic(topic), len(rows)
        if headers is not None:  # produce_batch cannot carry headers
            HeaderProducer((address, self._partition, COPY), rows, headers).produce(library, self._handle.address)
        elif library.produce_batch(address, self._partition, COPY, rows.ctypes.data, n) != n:
            codes = rows[:, ERROR].astype(np.int32)
            raise KafkaException(KafkaError(int(codes[np.flatnonzero(codes)[0]])))

    def send_one(self, topic: str, value: bytes | None, key: bytes | None) -> None:
        self.send(topic, ListColumn([value]), ListColumn([key]), [()])

    def ranges(self, ends: Mapping[str, int]) -> dict[str, OffsetRange]:
        if self._notes[CODE]:
            raise DeliveryFailed(self._handle.topic_at(int(self._notes[REFUSED])), KafkaError(int(self._notes[CODE])))
        found = {}
        for topic, count in self._counts.items():
            first, last = (None if offset == NONE_YET else offset for offset in self._offsets(topic).tolist())
            found[topic] = OffsetRange.confirmed(topic, first, last, count, ends.get(topic, 0))
        return found

    def start_ranges(self) -> None:
        self._counts.clear()
        self._notes[FIRST:] = NONE_YET

    def poll(self, seconds: float) -> None:
        self._library.poll(self._handle.address, milliseconds(seconds))

    def flush(self, seconds: float) -> int:
        self._library.flush(self._handle.address, milliseconds(seconds))
        return len(self)

    def init_transactions(self, seconds: float) -> None:
        self._library.check(self._library.init_transactions(self._handle.address, milliseconds(seconds)))

    def begin_transaction(self) -> None:
        self._library.check(self._library.begin_transaction(self._handle.address))

    def send_offsets(self, offsets: Offsets, member: Any, seconds: float) -> None:
        library, handle, listed = self._library, self._handle.address, TopicPartitionList(self._library)
        for topic, (offset, metadata) in offsets.items():
            listed.add(topic, self._partition, offset, metadata)
        with listed as topic_partitions:
            wait = milliseconds(seconds)
            library.check(library.send_offsets_to_transaction(handle, topic_partitions, member.address, wait))

    def commit_transaction(self, seconds: float) -> None:
        self._library.check(self._library.commit_transaction(self._handle.address, milliseconds(seconds)))

    def abort_transaction(self, seconds: float) -> None:
        self._library.check(self._library.abort_transaction(self._handle.address, milliseconds(seconds)))

    def drop(self) -> None:
        self._library.purge(self._handle.address, PURGE_QUEUED | PURGE_IN_FLIGHT)

    def _count(self, topic: str, n: int) -> int:
        """Count n more records of a topic; return the index of its offsets in the notes."""
        if topic not in self._indices and len(self._indices) == MAX_TOPICS:  # the notes have no room for it
            raise RuntimeError(f"a sender produces to at most {MAX_TOPICS} topics: {topic} would be one more")
        self._counts[topic] = self._counts.get(topic, 0) + n
        return self._indices.setdefault(topic, FIRST + 2 * len(self._indices))

    def _offsets(self, topic: str) -> Any:
        index = self._indices[topic]
        return self._notes[index : index + 2]
