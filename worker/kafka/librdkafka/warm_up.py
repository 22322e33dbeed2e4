"""Compiles or loads every kernel of this package before the first message."""

from __future__ import annotations

import numpy as np

from driftway.worker.kafka.librdkafka.consumer_queue import keys_of, values_of
from driftway.worker.kafka.librdkafka.library import Library
from driftway.worker.kafka.librdkafka.message import PAYLOAD, WORDS, destroy, fill, group, read, stamp
from driftway.worker.kafka.librdkafka.sender import delivered


def warm(library: Library) -> None:
    """Call each kernel on empty arrays."""
    pointers, rows = np.empty(0, np.int64), np.empty((0, WORDS), np.int64)
    read(pointers, rows)
    stamp(pointers, library.address("message_timestamp"), 0, np.empty(0, np.int64))
    destroy(pointers, library.address("message_destroy"))
    group(rows, pointers, pointers, pointers, pointers)
    keys_of(rows, pointers)
    values_of(rows, pointers, np.empty(64, np.uint8), 0)
    fill(rows, 0, pointers, pointers, PAYLOAD)
    delivered()
