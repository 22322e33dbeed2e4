"""Algorithm I: pass over the rows and remove the misclassified ones until a pass is clean."""

from typing import Any, ClassVar

from driftway.learners.contract import Parameters, flag, integer
from driftway.learners.online_to_batch.procedure import Procedure
from driftway.learners.online_to_batch.working_set import WorkingSet


class AlgorithmI(Procedure):
    """Removes every misclassified row, after the learner has learned it; the learner is never reset.

    Parameters
    ----------
    shuffle : bool
        Visit the rows in a random order, the same in every pass. Default true.
    max_passes : int
        Stop after this many passes even if the last one was not clean; then nothing is guaranteed. 0 = no limit.
        Default 0.

    Cost
    ----
    At most M + 1 passes, M the most mistakes that the learner makes over all orders of the rows; 24 bytes per row.

    Source
    ------
    Tao and Lu, KDD 2020, section 4 and appendix B. Theorem 1: empirical error <= M / n. The report's `bound` has
    the number of removed rows in place of M.
    """

    name = "i"
    KEPT: ClassVar[tuple[str, ...]] = ("clean",)

    class Params(Parameters):
        shuffle: bool = flag(True)
        max_passes: int = integer(0, at_least=0)

    def begin(self) -> None:
        self.source = self.sample = WorkingSet(self.problem.n, self.seed, self.parameters.shuffle)
        self.clean = False

    def step(self) -> None:
        self.clean = self.visit(self.sample) == 0
        self.done = self.clean or self.passes == self.parameters.max_passes
        if self.done:
            self.errors = self.online.errors()

    @property
    def complete(self) -> bool:
        return self.clean

    @property
    def what(self) -> str:
        return f"pass {self.passes + (not self.done)}"

    def findings(self) -> dict[str, Any]:
        return {"removed": self.mistakes, "bound": self.mistakes / self.problem.n}
