"""Write sets of classes as JSON lists of their labels, all rows of a batch in one kernel call."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from driftway.learners.engine.jit import kernel
from driftway.worker.wire.columns import Flags, Integers, Text, read_only

COMMA = np.uint8(ord(","))
SPARE = 32
"""Unused bytes behind the text, for `driftway.worker.wire.writer`, which copies up to 31 bytes more than a row has."""


def set_texts(members: Flags, words: Sequence[bytes]) -> tuple[Text, Integers]:
    """Return text and bounds i8[2, n] of the labels in each row's set, with commas between them; empty for no class.

    Parameters
    ----------
    members : b1[n, K]
        Which classes are in each row's set.
    words : sequence of bytes
        JSON text of each class's label.
    """
    lengths = np.array([len(word) for word in words])
    sizes = members @ lengths + np.maximum(members.sum(axis=1) - 1, 0)
    ends = np.cumsum(sizes)
    out = np.empty(int(ends[-1]) + SPARE if len(ends) else SPARE, np.uint8)
    texts = np.frombuffer(b"".join(words), np.uint8)
    _write_sets(members, texts, np.cumsum([0, *lengths.tolist()]), out)
    return read_only(out), np.stack([ends - sizes, ends])


@kernel
def _write_sets(members: Flags, words: Text, cuts: Integers, out: Text) -> None:
    """Write each row's labels. Shapes: members b1[n, K], words u1[bytes], cuts i8[K + 1], out u1[bytes]."""
    q = 0
    for i in range(members.shape[0]):
        first = True
        for c in range(members.shape[1]):
            if members[i, c]:
                if not first:
                    out[q] = COMMA
                    q += 1
                first = False
                for p in range(cuts[c], cuts[c + 1]):
                    out[q] = words[p]
                    q += 1
