"""Algorithm II: Algorithm I on phi copies of every row, for phi = 1, 2, 3 and so on."""

from typing import Any, ClassVar

from driftway.learners.contract import Parameters, flag, integer
from driftway.learners.engine.state import Bytes
from driftway.learners.online_to_batch.procedure import Procedure
from driftway.learners.online_to_batch.working_set import WorkingSet


class AlgorithmII(Procedure):
    """Starts with phi copies of every row; after each clean pass every row gets more copies and the learner continues.

    The hypothesis of least empirical error over all phi is kept, since the error does not fall steadily.

    Parameters
    ----------
    phi_max : int
        The largest phi, phi_max >= 1. Default 100.
    phi_step : int
        Step by which phi is raised, starting from 1, phi_step >= 1. Default 1.
    phi : int
        A single phi, as in the paper's listing; 0 raises phi step by step. Default 0.
    revisit : bool
        Repeat a misclassified row at once until it is right or has no copy left, as Algorithm I does if the copies of a
        row are adjacent; otherwise each pass visits one copy of a row. Default false.
    shuffle : bool
        Visit the rows in a random order, the same in every pass. Default true.

    Cost
    ----
    O(phi M) passes; 24 bytes per row and one more state of the learner.

    Source
    ------
    Tao and Lu, KDD 2020, sections 5 and 7.2, appendix B. Theorem 2: empirical error <= (M_0 / phi + sum of M_1) / n,
    for all bounds (M_0, M_1) of the learner at once.
    """

    name = "ii"
    KEPT: ClassVar[tuple[str, ...]] = ("phi", "best", "best_phi", "curve")

    class Params(Parameters):
        phi_max: int = integer(100, at_least=1)
        phi_step: int = integer(1, at_least=1)
        phi: int = integer(0, at_least=0)
        revisit: bool = flag(False)
        shuffle: bool = flag(True)

    def begin(self) -> None:
        self.source = self.sample = WorkingSet(self.problem.n, self.seed, self.parameters.shuffle)
        self.phi: int = self.parameters.phi or 1
        self.sample.refill(self.phi)
        self.best, self.best_phi = self.online.memory.copy(), 0
        self.curve: list[list[int]] = []

    def step(self) -> None:
        if self.visit(self.sample, revisit=self.parameters.revisit) > 0:
            return
        errors = self.online.errors()
        self.curve.append([self.phi, errors, self.passes, self.mistakes])
        if self.errors is None or errors < self.errors:
            self.errors, self.best_phi = errors, self.phi
            self.best[:] = self.online.memory
        more = self.parameters.phi_step
        self.done = errors == 0 or self.parameters.phi > 0 or self.phi + more > self.parameters.phi_max
        if not self.done:
            self.phi += more
            self.sample.add(more)

    @property
    def hypothesis(self) -> Bytes:
        return self.best if self.curve else self.online.memory

    @property
    def what(self) -> str:
        return f"phi {self.phi}" + ("" if self.parameters.phi else f" of {self.parameters.phi_max}")

    def findings(self) -> dict[str, Any]:
        names = ("phi", "errors", "passes", "mistakes")
        return {"phi": self.best_phi, "curve": [dict(zip(names, point, strict=True)) for point in self.curve]}
