"""Messages of librdkafka as rows of nine words, read from its memory and handed back by compiled loops.

``rd_kafka_message_t`` is public and has this layout on every platform with 64-bit pointers; `trial` checks it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from learners.jit import bare_kernel, call, word_at

ERROR, TOPIC, PARTITION, PAYLOAD, LENGTH, KEY, KEY_LENGTH, OFFSET, OPAQUE = range(9)
"""Words of a message. Addresses are 0 for null; a message with an error has the reason as its payload."""
WORDS = 9
WORD_BYTES = 8

Rows = NDArray[np.int64]
"""i8[n, WORDS]: messages by value. An array of them is what `produce_batch` takes."""
Pointers = NDArray[np.int64]
"""i8[n]: where messages are, as `consume_batch_queue` hands them out."""


@bare_kernel
def read(pointers: Pointers, rows: Rows) -> int:
    """Copy messages, not what they point to; how many have an error. Shapes: pointers i8[n], rows i8[n, WORDS]."""
    bad = 0
    for i in range(len(pointers)):
        for word in range(WORDS):
            rows[i, word] = word_at(pointers[i] + WORD_BYTES * word)
        # Both are 32 bits wide, and what lies behind them is anything.
        rows[i, ERROR] = np.int32(rows[i, ERROR])
        rows[i, PARTITION] = np.int32(rows[i, PARTITION])
        bad += rows[i, ERROR] != 0
    return bad


@bare_kernel
def destroy(pointers: Pointers, function: int) -> None:
    """Give messages back to the library, whose function for that is at an address. Shapes: pointers i8[n]."""
    for i in range(len(pointers)):
        call(function, pointers[i])
