"""A producer of many messages that counts failed deliveries, for load generators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from confluent_kafka import KafkaError

from driftway.worker.kafka.librdkafka.handle import Handle, milliseconds
from driftway.worker.kafka.librdkafka.intrinsics import callback, load_word, store_word
from driftway.worker.kafka.librdkafka.library import (
    ANY_PARTITION,
    COPY,
    OWN_PARTITIONS,
    PRODUCER,
    PURGE_IN_FLIGHT,
    PURGE_QUEUED,
    Library,
)
from driftway.worker.kafka.librdkafka.message import ERROR, KEY, PARTITION, PAYLOAD, WORD_BYTES, WORDS, fill
from driftway.worker.wire.columns import BytesColumn, Integers

CODE, COUNT = 0, 1
"""Words of the notes: the first error code, and the number of failures."""


@callback
def count_failure(_handle: int, message: int, notes: int) -> None:
    """Process one delivery report."""
    code = np.int32(load_word(message + WORD_BYTES * ERROR))
    if code != 0:
        if load_word(notes + WORD_BYTES * CODE) == 0:
            store_word(notes + WORD_BYTES * CODE, int(code))
        store_word(notes + WORD_BYTES * COUNT, load_word(notes + WORD_BYTES * COUNT) + 1)


class BulkProducer:
    """Produces messages to any topics and partitions.

    Parameters
    ----------
    library : Library
        The functions.
    properties : mapping
        Client properties.

    Raises
    ------
    KafkaException
        A property is not valid.
    """

    def __init__(self, library: Library, properties: Mapping[str, Any]) -> None:
        self._library = library
        self._notes = np.zeros(2, np.int64)
        self._handle = Handle(
            library, PRODUCER, properties, report=count_failure(), opaque=self._notes.ctypes.data
        )  # after the notes, which its callback writes until it is closed

    def __del__(self) -> None:
        """Close the client and wait for its threads; no call of it can be running any more."""
        if (handle := getattr(self, "_handle", None)) is not None:
            handle.close()

    def __len__(self) -> int:
        """Return the number of messages that are not yet delivered, or whose reports are not yet processed."""
        return int(self._library.outq_len(self._handle.address))

    @property
    def failed(self) -> int:
        """Number of messages known to have failed."""
        return int(self._notes[COUNT])

    @property
    def first_error(self) -> KafkaError | None:
        """Error of the first failed message."""
        return KafkaError(int(self._notes[CODE])) if self._notes[CODE] else None

    def partitions(self, topic: str, seconds: float) -> int:
        """Fetch a topic's metadata and return its number of partitions; to be called before producing to the topic.

        Raises
        ------
        KafkaException
            The broker did not answer in time.
        """
        return self._handle.partition_count(topic, milliseconds(seconds))

    def produce(
        self, topic: str, values: BytesColumn, keys: BytesColumn | None, partitions: Integers | int | None
    ) -> None:
        """Queue messages, which are copied. Those that the client refuses count as failed.

        Parameters
        ----------
        topic : str
            Topic to produce to.
        values, keys : BytesColumn
            n of each; keys is None if no message has one.
        partitions : i8[n] or int or None
            Partition of each message, or of all; None to choose it by each key's hash.
        """
        n = len(values)
        rows = np.zeros((n, WORDS), np.int64)
        text, starts, lengths = values.to_buffer()
        fill(rows, text.ctypes.data, starts, lengths, PAYLOAD)
        if keys is not None:
            names, starts, lengths = keys.to_buffer()
            fill(rows, names.ctypes.data, starts, lengths, KEY)
        flags, all_to = COPY, ANY_PARTITION
        if isinstance(partitions, int):
            all_to = partitions
        elif partitions is not None:
            rows[:, PARTITION] = partitions
            flags |= OWN_PARTITIONS
        address = self._handle.topic(topic)
        queued = self._library.produce_batch(address, all_to, flags, rows.ctypes.data, n)
        if queued < n:
            codes = rows[:, ERROR].astype(np.int32)
            self._notes[COUNT] += n - queued
            self._notes[CODE] = self._notes[CODE] or codes[np.flatnonzero(codes)[0]]

    def poll(self, seconds: float) -> None:
        """Process delivery reports, waiting for the first."""
        self._library.poll(self._handle.address, milliseconds(seconds))

    def flush(self, seconds: float) -> None:
        """Process delivery reports until every message is delivered or has failed."""
        self._library.flush(self._handle.address, milliseconds(seconds))

    def purge(self) -> None:
        """Fail every message that is not delivered yet."""
        self._library.purge(self._handle.address, PURGE_QUEUED | PURGE_IN_FLIGHT)
