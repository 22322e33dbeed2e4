"""The stream used by the i.i.d. conversions: rows drawn from the problem uniformly with replacement."""

from typing import Any, ClassVar

import numpy as np

from driftway.learners.contract import Parameters, integer, kernel
from driftway.learners.numeric.random import Words, randint
from driftway.learners.numeric.random import seed as fill_with
from driftway.learners.online_to_batch.procedure import Procedure
from driftway.learners.online_to_batch.working_set import Ids

SLICE = 65_536
"""Most draws at a time: half a megabyte, and well below a second of work."""


class RandomRows:
    """The stream Sigma of Tao and Lu, KDD 2020, section 7.1, in slices of at most n draws.

    Parameters
    ----------
    n : int
        Rows of the problem.
    length : int
        L, the number of draws.
    seed : int
        Seed of the draws.
    """

    KEPT: ClassVar[tuple[str, ...]] = ("words", "taken", "length")

    def __init__(self, n: int, length: int, seed: int) -> None:
        self.n, self.length, self.taken = n, length, 0
        self.words = np.zeros(4, np.uint64)
        fill_with(self.words, np.uint64(seed))

    @property
    def remaining(self) -> int:
        """Number of draws left."""
        return self.length - self.taken

    def below(self, end: int) -> int:
        """An integer from 0..end-1 from the same generator."""
        return int(randint(self.words, end))

    def take(self) -> Ids:
        """The next slice, i8[m]: rows of the problem; m = 0 at the end."""
        ids = np.empty(min(self.remaining, self.n, SLICE), np.int64)
        draw(self.words, self.n, ids)
        self.taken += len(ids)
        return ids


class DrawingProcedure(Procedure):
    """Base of the conversions, which learn along L = mult n draws."""

    class Params(Parameters):
        mult: int = integer(10, at_least=1)

    def begin(self) -> None:
        self.source = self.draws = RandomRows(self.problem.n, self.parameters.mult * self.problem.n, self.seed)

    @property
    def what(self) -> str:
        return f"draw {self.draws.taken} of {self.draws.length}"

    def findings(self) -> dict[str, Any]:
        return {"draws": self.draws.taken}


@kernel
def draw(words: Words, n: int, ids: Ids) -> None:
    """Fill `ids` with integers from 0..n-1. Shapes: words u8[4], ids i8[m]."""
    for t in range(ids.shape[0]):
        ids[t] = randint(words, n)
