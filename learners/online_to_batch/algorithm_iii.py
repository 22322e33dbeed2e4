"""Algorithm III: III-weak(Z) for a list of Z, returning the best of their hypotheses."""

import math
from typing import Any, ClassVar

from driftway.learners.contract import Parameters, choice, flag, number
from driftway.learners.engine.state import Bytes
from driftway.learners.online_to_batch.algorithm_iii_weak import SuperIterations
from driftway.learners.online_to_batch.procedure import Procedure
from driftway.learners.online_to_batch.working_set import WorkingSet


class AlgorithmIII(Procedure):
    """Runs III-weak for each Z from scratch on all rows; least empirical error wins, the smaller Z on ties.

    Parameters
    ----------
    schedule : str
        ``practical``: Z = n/1000, multiplied by `ratio` up to the first Z >= n; ``theory``: 2, 4, 8 and so on up to the
        first Z >= n, for which theorem 3 holds. Default ``practical``.
    ratio : float
        Ratio of consecutive Z in the practical schedule, ratio > 1. Default 2.0.
    shuffle : bool
        Visit the rows in a random order, the same in every pass and for every Z. Default true.

    Cost
    ----
    O(log n) times Algorithm III-weak; 24 bytes per row and one more state of the learner.

    Source
    ------
    Tao and Lu, KDD 2020, section 6.2 and appendix B. Theorem 3: empirical error <= (err(h) + 1/n) (2 M_h + 1) for every
    h, M_h the most mistakes on S(h). Differs: the initial hypothesis is a candidate too, needed for M_h = 0.
    """

    name = "iii"
    KEPT: ClassVar[tuple[str, ...]] = ("at", "best", "best_Z", "curve")

    class Params(Parameters):
        schedule: str = choice("practical", ("practical", "theory"))
        ratio: float = number(2.0, above=1.0)
        shuffle: bool = flag(True)

    def begin(self) -> None:
        self.source = self.sample = WorkingSet(self.problem.n, self.seed, self.parameters.shuffle)
        self.loop = SuperIterations()
        self.parts = [self.loop]
        p = self.parameters
        self.schedule = theory(self.problem.n) if p.schedule == "theory" else practical(self.problem.n, p.ratio)
        self.at = 0
        self.best, self.best_Z = self.online.memory.copy(), 0
        self.errors = self.online.errors()
        self.curve: list[list[int]] = []

    def step(self) -> None:
        Z = self.schedule[self.at]
        if not self.loop.iterate(self, self.sample, Z):
            return
        errors = self.online.errors()
        self.curve.append([Z, errors, self.passes, self.mistakes, self.loop.count])
        if self.errors is None or errors < self.errors:
            self.errors, self.best_Z = errors, Z
            self.best[:] = self.online.memory
        self.done = errors == 0 or self.at + 1 == len(self.schedule)
        if not self.done:
            self.at += 1
            self.sample.refill()
            self.online.reset()
            self.loop.restart()

    @property
    def hypothesis(self) -> Bytes:
        return self.best

    @property
    def what(self) -> str:
        Z = self.schedule[self.at]
        return f"Z {Z} ({self.at + 1} of {len(self.schedule)}), super iteration {self.loop.count}"

    def findings(self) -> dict[str, Any]:
        names = ("Z", "errors", "passes", "mistakes", "super_iterations")
        return {"Z": self.best_Z, "curve": [dict(zip(names, point, strict=True)) for point in self.curve]}


def practical(n: int, ratio: float) -> list[int]:
    """The Z of appendix B: n/1000, repeatedly multiplied by `ratio`; the last one, >= n, is plain Algorithm I."""
    found = [max(1, n // 1000)]
    while found[-1] < n:
        found.append(max(found[-1] + 1, math.ceil(ratio * found[-1])))
    return found


def theory(n: int) -> list[int]:
    """The Z of the listing: 2^i for i = 1 to log2 n, rounded up."""
    return [2**i for i in range(1, max(2, (n - 1).bit_length() + 1))]
