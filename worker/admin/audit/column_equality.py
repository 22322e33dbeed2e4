"""Compare two columns of strings: ten thousand records in one compiled call."""

from __future__ import annotations

import numpy as np

from driftway.learners.engine.jit import kernel
from driftway.worker.kafka.librdkafka.intrinsics import load_word
from driftway.worker.wire.columns import BytesColumn, Integers, Text, read_only

WORD_BYTES = 8


def same(mine: BytesColumn, theirs: BytesColumn) -> bool:
    """Whether both columns hold the same strings, wherever they are in memory; None differs from an empty string."""
    text, starts, lengths = mine.to_buffer()
    other_text, other_starts, other_lengths = theirs.to_buffer()
    if not np.array_equal(lengths, other_lengths):
        return False
    return bool(_same(read_only(text), starts, read_only(other_text), other_starts, lengths))


@kernel
def _same(text: Text, starts: Integers, other_text: Text, other_starts: Integers, lengths: Integers) -> bool:
    """Shapes: texts u1[bytes]; starts i8[n] into each of them; lengths i8[n], negative for None."""
    for i in range(len(lengths)):
        p, q, n = starts[i], other_starts[i], lengths[i]
        if n >= WORD_BYTES:
            mine, theirs = text.ctypes.data + p, other_text.ctypes.data + q
            for k in range(0, n - WORD_BYTES, WORD_BYTES):
                if load_word(mine + k) != load_word(theirs + k):
                    return False
            if load_word(mine + n - WORD_BYTES) != load_word(theirs + n - WORD_BYTES):
                return False
        else:
            for k in range(n):
                if text[p + k] != other_text[q + k]:
                    return False
    return True
