"""Algorithm III-weak(Z): Algorithm I, restarted on the remaining rows whenever it has removed more than Z rows."""

from typing import Any, ClassVar

from driftway.learners.contract import Parameters, flag, integer
from driftway.learners.online_to_batch.procedure import Procedure
from driftway.learners.online_to_batch.working_set import WorkingSet


class SuperIterations:
    """The loop of III-weak over a sample: Algorithm I, restarted until it ends normally."""

    KEPT: ClassVar[tuple[str, ...]] = ("count", "removed")

    def __init__(self) -> None:
        self.restart()

    def restart(self) -> None:
        """Return to the first super iteration."""
        self.count, self.removed = 1, 0

    def iterate(self, procedure: Procedure, sample: WorkingSet, Z: int) -> bool:
        """Run one iteration of Algorithm I; return whether it ended normally."""
        mistakes = procedure.visit(sample, Z + 1 - self.removed)
        self.removed += mistakes
        if self.removed > Z:
            procedure.online.reset()
            self.count, self.removed = self.count + 1, 0
            return False
        return mistakes == 0


class AlgorithmIIIWeak(Procedure):
    """Removes misclassified rows as Algorithm I does, and resets the learner after every Z + 1 of them.

    Parameters
    ----------
    Z : int
        Rows that a super iteration may remove, Z >= 0. Default 1000.
    shuffle : bool
        Visit the rows in a random order, the same in every pass. Default true.

    Cost
    ----
    O(n / Z) times Algorithm I; 24 bytes per row.

    Source
    ------
    Tao and Lu, KDD 2020, section 6.1. Lemma 1: at most 1 + n err(h) super iterations, and corollary 2: empirical error
    <= (err(h) + 1/n) (Z + 1), for every h on whose rows S(h) the learner makes at most Z mistakes.
    """

    name = "iii-weak"

    class Params(Parameters):
        Z: int = integer(1000, at_least=0)
        shuffle: bool = flag(True)

    def begin(self) -> None:
        self.source = self.sample = WorkingSet(self.problem.n, self.seed, self.parameters.shuffle)
        self.loop = SuperIterations()
        self.parts = [self.loop]

    def step(self) -> None:
        self.done = self.loop.iterate(self, self.sample, self.parameters.Z)
        if self.done:
            self.errors = self.online.errors()

    @property
    def what(self) -> str:
        return f"super iteration {self.loop.count}"

    def findings(self) -> dict[str, Any]:
        removed = self.problem.n - self.remaining
        return {"removed": removed, "bound": removed / self.problem.n, "super_iterations": self.loop.count}
