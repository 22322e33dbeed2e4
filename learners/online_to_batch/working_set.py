"""What is left of the rows while a procedure removes those that were mistaken, and the order of visits."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from driftway.learners.numeric.random import permute
from driftway.learners.numeric.random import seed as fill_with

Ids = NDArray[np.int64]


class WorkingSet:
    """S, or Algorithm II's multiset S': the rows that have copies left, in the order in which they are visited.

    Parameters
    ----------
    n : int
        Rows of the problem; all are there at first, with one copy each.
    seed : int
        Decides the order, which stays the same for every pass.
    shuffle : bool
        False leaves the rows in their own order.
    """

    KEPT: ClassVar[tuple[str, ...]] = ("ids", "copies", "first", "last")

    def __init__(self, n: int, seed: int, shuffle: bool) -> None:
        order = np.arange(n, dtype=np.float64)  # what `permute` is compiled for, exact far beyond any n
        if shuffle:
            words = np.zeros(4, np.uint64)
            fill_with(words, np.uint64(seed))
            permute(words, order)
        self.order = order.astype(np.int64)
        self.ids = self.order.copy()
        """i8[n]; ids[first:last] are the rows that are left."""
        self.copies = np.ones(n, np.int64)
        """i8[n], by row: how many of its copies are left."""
        self.first, self.last = 0, n

    @property
    def remaining(self) -> int:
        """Rows that have a copy left."""
        return self.last - self.first

    @property
    def size(self) -> int:
        """Copies that are left."""
        return int(self.copies.sum())

    def refill(self, copies: int = 1) -> None:
        """All rows again, with as many copies each."""
        self.copies[:] = 0
        self.add(copies)

    def add(self, copies: int) -> None:
        """So many copies more of every row, whether it has some left or not."""
        self.copies += copies
        self.ids[:] = self.order
        self.first, self.last = 0, len(self.ids)

    def close_gap(self, kept: int, seen: int) -> None:
        """What a pass leaves: ids[first:kept], which it kept, and ids[seen:last], which it did not come to."""
        if seen == self.last:
            self.last = kept
            return
        start = seen - (kept - self.first)
        self.ids[start:seen] = self.ids[self.first : kept]
        self.first = start
