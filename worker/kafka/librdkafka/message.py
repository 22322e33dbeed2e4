"""librdkafka's messages as rows of nine words, copied from its memory and freed by compiled loops.

``rd_kafka_message_t`` is public and has this layout on every platform with 64-bit pointers; `abi_check` checks it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.worker.kafka.librdkafka.intrinsics import call_returning_int, call_void, copy_bytes_from, load_word
from driftway.worker.wire.columns import NOTHING, Integers, Text

ERROR, TOPIC, PARTITION, PAYLOAD, LENGTH, KEY, KEY_LENGTH, OFFSET, OPAQUE = range(9)
"""Words of a message. A null pointer is 0; a message with an error has the reason as its payload."""
WORDS = 9
WORD_BYTES = 8

Rows = NDArray[np.int64]
"""i8[n, WORDS]: messages by value, as `produce_batch` takes them."""
Pointers = NDArray[np.int64]
"""i8[n]: addresses of messages, as `consume_batch_queue` returns them."""


@kernel
def read(pointers: Pointers, rows: Rows) -> int:
    """Copy messages, not what they point to; return how many are errors. Shapes: pointers i8[n], rows i8[n, WORDS]."""
    bad = 0
    for i in range(len(pointers)):
        for word in range(WORDS):
            rows[i, word] = load_word(pointers[i] + WORD_BYTES * word)
        # Both fields are 32 bits wide; the padding after them is undefined.
        rows[i, ERROR] = np.int32(rows[i, ERROR])
        rows[i, PARTITION] = np.int32(rows[i, PARTITION])
        bad += rows[i, ERROR] != 0
    return bad


@kernel
def destroy(pointers: Pointers, function: int) -> None:
    """Free messages by calling the library function at an address. Shapes: pointers i8[n]."""
    for i in range(len(pointers)):
        call_void(function, pointers[i])


@kernel
def group(rows: Rows, order: Integers, partitions: Integers, ends: Integers, scratch: Integers) -> int:
    """Group messages without an error by partition; return the number of partitions.

    Shapes: rows i8[n, WORDS]; order i8[n] gets their indices, in arrival order within a partition; partitions i8[n]
    gets the partitions, ends i8[n] the end of each one's indices in `order`; scratch i8[n].
    """
    found, current = 0, 0
    for i in range(len(rows)):
        if rows[i, ERROR] != 0:
            continue
        if found == 0 or partitions[current] != rows[i, PARTITION]:
            current = 0
            while current < found and partitions[current] != rows[i, PARTITION]:
                current += 1
            if current == found:
                partitions[found] = rows[i, PARTITION]
                ends[found] = 0
                found += 1
        scratch[i] = current
        ends[current] += 1
    start = 0
    for k in range(found):
        ends[k], start = start, start + ends[k]
    for i in range(len(rows)):
        if rows[i, ERROR] == 0:
            order[ends[scratch[i]]] = i
            ends[scratch[i]] += 1
    return found


@kernel
def gather(rows: Rows, chosen: Integers, column: int, gap: int, text: Text, starts: Integers, lengths: Integers) -> int:
    """Copy payloads (column PAYLOAD) or keys (KEY) into `text` and fill in their positions; return the bytes used.

    Shapes: rows i8[n, WORDS], chosen i8[m] indices of rows, text u1[bytes], starts and lengths i8[m]. Each string is
    followed by `gap` zero bytes.
    """
    q = 0
    for j in range(len(chosen)):
        i = chosen[j]
        starts[j] = q
        lengths[j] = NOTHING
        if rows[i, column] != 0:
            lengths[j] = rows[i, column + 1]
            copy_bytes_from(text, q, rows[i, column], rows[i, column + 1])
            q += rows[i, column + 1]
        for _ in range(gap):
            text[q] = 0
            q += 1
    return q


@kernel
def stamp(pointers: Pointers, function: int, kind: int, stamps: Integers) -> None:
    """Fetch timestamps by calling the library function at an address. Shapes: pointers i8[n], stamps i8[n].

    `kind` is the address of a word that receives each timestamp's type, which is not used.
    """
    for i in range(len(pointers)):
        stamps[i] = call_returning_int(function, pointers[i], kind)


@kernel
def fill(rows: Rows, payloads: int, starts: Integers, lengths: Integers, column: int) -> None:
    """Write the addresses and lengths of strings into two columns, e.g. (PAYLOAD, LENGTH).

    `payloads` is the address that `starts` count from. Shapes: rows i8[n, WORDS], starts and lengths i8[n].
    """
    for i in range(len(rows)):
        rows[i, column] = 0 if lengths[i] == NOTHING else payloads + starts[i]
        rows[i, column + 1] = max(0, lengths[i])
