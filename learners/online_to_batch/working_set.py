"""The rows left while a procedure removes misclassified ones, and the order of visits."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from driftway.learners.numeric.random import permute
from driftway.learners.numeric.random import seed as fill_with

Ids = NDArray[np.int64]


class WorkingSet:
    """S, or Algorithm II's multiset S': the rows that have copies left, in visiting order.

    Parameters
    ----------
    n : int
        Rows of the problem; each starts with one copy.
    seed : int
        Seed of the order, which is the same in every pass.
    shuffle : bool
        False keeps the rows in their original order.
    """

    KEPT: ClassVar[tuple[str, ...]] = ("ids", "copies", "first", "last")

    def __init__(self, n: int, seed: int, shuffle: bool) -> None:
        order = np.arange(n, dtype=np.float64)  # `permute` is compiled for f8, which is exact for any n in use
        if shuffle:
            words = np.zeros(4, np.uint64)
            fill_with(words, np.uint64(seed))
            permute(words, order)
        self.order = order.astype(np.int64)
        self.ids = self.order.copy()
        """i8[n]; ids[first:last] are the rows left."""
        self.copies = np.ones(n, np.int64)
        """i8[n]; copies left of each row."""
        self.first, self.last = 0, n

    @property
    def remaining(self) -> int:
        """Number of rows that have a copy left."""
        return self.last - self.first

    @property
    def size(self) -> int:
        """Number of copies left."""
        return int(self.copies.sum())

    def refill(self, copies: int = 1) -> None:
        """Restore all rows, with `copies` copies each."""
        self.copies[:] = 0
        self.add(copies)

    def add(self, copies: int) -> None:
        """Add copies to every row, whether or not it has any left."""
        self.copies += copies
        self.ids[:] = self.order
        self.first, self.last = 0, len(self.ids)

    def close_gap(self, kept: int, seen: int) -> None:
        """Join what a pass leaves: the kept ids[first:kept] and the unvisited ids[seen:last]."""
        if seen == self.last:
            self.last = kept
            return
        start = seen - (kept - self.first)
        self.ids[start:seen] = self.ids[self.first : kept]
        self.first = start
