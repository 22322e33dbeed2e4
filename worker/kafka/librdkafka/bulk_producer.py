"""A producer of many messages to topics, whose failures are counted: what a load generator needs."""

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
"""Words of the notes: the first failure, and how many there were."""


@callback
def count_failure(_handle: int, message: int, notes: int) -> None:
    """Look at one report."""
    code = np.int32(load_word(message + WORD_BYTES * ERROR))
    if code != 0:
        if load_word(notes + WORD_BYTES * CODE) == 0:
            store_word(notes + WORD_BYTES * CODE, int(code))
        store_word(notes + WORD_BYTES * COUNT, load_word(notes + WORD_BYTES * COUNT) + 1)


class BulkProducer:
    """Messages to topics' partitions.

    Parameters
    ----------
    library : Library
        The functions.
    properties : mapping
        Of the client.

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
        )  # after the notes, which it looks at until its end

    def __del__(self) -> None:
        """Wait for the client's threads; nobody can be inside a call of it any more."""
        if (handle := getattr(self, "_handle", None)) is not None:
            handle.close()

    def __len__(self) -> int:
        """Messages that are not yet delivered, or whose failures were not looked at."""
        return int(self._library.outq_len(self._handle.address))

    @property
    def failed(self) -> int:
        """How many messages were not delivered, as far as is known."""
        return int(self._notes[COUNT])

    @property
    def first_error(self) -> KafkaError | None:
        """Why the first of them was not."""
        return KafkaError(int(self._notes[CODE])) if self._notes[CODE] else None

    def partitions(self, topic: str, seconds: float) -> int:
        """How many of a topic the client sees; before it has seen them nothing may be fed there.

        Raises
        ------
        KafkaException
            The broker did not tell in time.
        """
        return self._handle.partition_count(topic, milliseconds(seconds))

    def produce(
        self, topic: str, values: BytesColumn, keys: BytesColumn | None, partitions: Integers | int | None
    ) -> None:
        """Hand messages over; they are copied. What the client refuses counts as failed.

        Parameters
        ----------
        topic : str
            Where to.
        values, keys : BytesColumn
            n of each; keys None: none has one.
        partitions : i8[n] or int or None
            Where each goes, or all of them; None: the hash of each one's key says.
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
        """Count failures, waiting for the first."""
        self._library.poll(self._handle.address, milliseconds(seconds))

    def flush(self, seconds: float) -> None:
        """Count failures until every message is delivered, or has failed."""
        self._library.flush(self._handle.address, milliseconds(seconds))

    def purge(self) -> None:
        """Let every message fail that is not delivered yet."""
        self._library.purge(self._handle.address, PURGE_QUEUED | PURGE_IN_FLIGHT)
