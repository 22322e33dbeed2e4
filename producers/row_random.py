"""Seeded random choices about rows, each a function of the seed and the row's position alone.

Row i is treated the same however rows are cut into blocks and wherever a replay starts (--skip, --resume).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from driftway.learners.engine.jit import kernel
from driftway.learners.numeric import random
from driftway.learners.numeric.random import Words
from driftway.producers.streams.options import read_seed
from driftway.producers.streams.stream import BLOCK_ROWS, Array, Block, Stream, copy_schema

SHUFFLE, POISON, LABELS, DELAYS = 1, 2, 3, 4
"""Purposes of the draws, each with its own random numbers."""


@kernel
def fill_uniforms(state: Words, base: np.uint64, first: np.uint64, out: Array) -> None:
    """Fill row i of `out` with uniforms from a generator seeded with base + first + i.

    Shapes: state u8[4] (scratch), out [n, k].
    """
    for i in range(out.shape[0]):
        random.seed(state, base + first + np.uint64(i))
        for j in range(out.shape[1]):
            out[i, j] = random.uniform(state)


def generator_for(seed: int, purpose: int) -> Words:
    """Random state for one purpose. Shapes: returns u8[4].

    Raises
    ------
    UsageFailure
        Not 0 <= seed < 2^64.
    """
    state = np.zeros(4, np.uint64)
    random.seed(state, np.uint64(read_seed("--seed", seed)))
    for _ in range(purpose):
        word = random.next_u64(state)
    random.seed(state, np.uint64(word))
    return state


class RowRandom:
    """Uniform random numbers by row position.

    Parameters
    ----------
    seed : int
        0 <= seed < 2^64.
    purpose : int
        One of this module's constants.
    columns : int
        Numbers per row, k.

    Raises
    ------
    UsageFailure
        The seed is out of bounds.
    """

    def __init__(self, seed: int, purpose: int, columns: int) -> None:
        self._base = np.uint64(random.next_u64(generator_for(seed, purpose)))
        self._columns = columns
        self.uniforms(0, 1)  # compiles the kernel before a schedule starts

    def uniforms(self, position: int, rows: int) -> Array:
        """Numbers in [0, 1) of the rows from `position` on. Shapes: returns f8[rows, k]."""
        out = np.empty((rows, self._columns))
        fill_uniforms(np.empty(4, np.uint64), self._base, np.uint64(position), out)
        return out


class LabelDropper:
    """Removes the label of a share of the rows.

    Parameters
    ----------
    share : float
        In [0, 1].
    seed : int
        0 <= seed < 2^64.
    """

    def __init__(self, share: float, seed: int) -> None:
        self.share = share
        self._draws = RowRandom(seed, LABELS, 1)

    def apply(self, position: int, block: Block) -> tuple[Block, NDArray[np.bool_]]:
        """The block without the withheld labels, and which rows they are from. Shapes: returns Block, b1[n]."""
        withheld = (self._draws.uniforms(position, len(block.y))[:, 0] < self.share) & ~np.isnan(block.y)
        return Block(block.X, np.where(withheld, np.nan, block.y)), withheld


class Shuffled(Stream):
    """Another stream's rows in a random order, any of the n! that the generator can produce.

    Reads the whole stream for the first block and keeps it, 8 (d + 1) + 8 bytes per row (twice that while blocks are
    concatenated). Each lap has the same order.

    Parameters
    ----------
    whole : Stream
        A finite stream.
    seed : int
        0 <= seed < 2^64.
    """

    def __init__(self, whole: Stream, seed: int) -> None:
        self._whole = whole
        self._rng = generator_for(seed, SHUFFLE)
        self._rows: Block | None = None
        self._order = np.zeros(0, np.int64)
        copy_schema(self, whole)
        self.rows = whole.rows

    def blocks(self, size: int = BLOCK_ROWS) -> Iterator[Block]:
        if self._rows is None:
            parts = list(self._whole.blocks())
            if not parts:
                return
            self._rows = Block(np.concatenate([part.X for part in parts]), np.concatenate([part.y for part in parts]))
            del parts
            order = np.arange(float(len(self._rows.y)))
            random.permute(self._rng.copy(), order)
            self._order = order.astype(np.int64)
        for start in range(0, len(self._order), size):
            chosen = self._order[start : start + size]
            yield Block(self._rows.X[chosen], self._rows.y[chosen])
