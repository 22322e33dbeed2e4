"""The perceptron with a kernel, on a budget."""

from typing import NamedTuple

from driftway.learners.contract import Array, Learner, UpdateRule, choice, fragment
from driftway.learners.kernel_methods.expansion import Kernel, KernelParameters, kernel_of, oldest, put
from driftway.learners.kernel_methods.rule import KernelState, expanding


class KernelPerceptron(Learner):
    """Stores every row that it gets wrong; a full budget evicts the oldest.

    s = sum of y_i k(z_i, x) over the stored rows z_i; a row with y s <= 0 is stored. Evicting the oldest row lets it
    follow drift; stored rows do not change when the standardiser does.

    Cost
    ----
    O(B d) per row; 8 B (d + 2) + 80 bytes.

    Source
    ------
    Huang, Online Learning, "Kernel perceptron"; Kivinen, Smola and Williamson 2002, section 3.
    docs/algorithms/kernel_methods.md#kernel_perceptron. Differs: the budget.
    """

    name = "kernel_perceptron"
    tasks = ("binary",)

    class Params(KernelParameters):
        overflow: str = choice(
            "fifo", ("fifo", "stop"), "With a full budget: `fifo` replaces the oldest row, `stop` stores no more."
        )

    def rule(self) -> UpdateRule:
        p = self.parameters
        return expanding(
            update, KernelPerceptronNumbers(kernel_of(p, self.n_features), p.overflow == "fifo"), KernelState, p.budget
        )


class KernelPerceptronNumbers(NamedTuple):
    """Parameters of `kernel_perceptron`."""

    kernel: Kernel
    replaces: bool
    """Whether a full budget evicts the oldest row."""


@fragment
def update(x: Array, y: float, s: float, p: KernelPerceptronNumbers, memory: KernelState) -> None:
    """Store the row if it is misclassified. Shapes: x f8[d]."""
    kept = memory.expansion
    if y * s <= 0.0 and (p.replaces or kept.used[0] < kept.coefficient.shape[0]):
        put(x, y, oldest(kept), kept)
